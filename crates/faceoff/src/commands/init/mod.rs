//! `faceoff init`: manifests for two services of one's own, a request that both are asked, and an experiment; proved at once.

mod ask;
pub mod files;

use super::import::Requests;
use super::import::words;
use super::{VERSION, cache, check, lock};
use crate::Format;
use crate::exit::Error;
use crate::output::message;
use crate::progress::Show;
use crate::signals;
use ask::Questions;
use clap::Args;
use files::{Build, Files, Means, Service};
use lab::Place;
use load::{Heard, hear};
use model::catalog::Catalog;
use model::experiment::RunnerKind;
use model::name::{ContenderName, did_you_mean, is_name};
use model::problem::Problems;
use model::units::parse_duration;
use model::workload::{Statuses, Workload};
use runner::needs::Tools;
use runner::place::{Limits, Processes};
use runner::start::{Surroundings, start};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What `faceoff init` is asked.
#[derive(Args)]
#[command(
    after_help = "What no flag says is asked. Commands run without a shell, and stop on SIGTERM.\n\nExit codes: 0 both answer rightly, 1 one does not, 2 usage, 130 and 143 interrupted."
)]
pub struct Options {
    /// A service: its name, and the command that starts it, with {port} where its port stands; given twice
    #[arg(long = "service", value_name = "NAME=COMMAND", value_parser = pair)]
    services: Vec<(String, String)>,
    /// The environment variable that tells a service its port, where its command has no {port} [default: PORT]
    #[arg(long, value_name = "NAME=VARIABLE", value_parser = pair)]
    port_in: Vec<(String, String)>,
    /// The folder in which a service's commands run [default: this folder]
    #[arg(long = "in", value_name = "NAME=FOLDER", value_parser = pair)]
    folders: Vec<(String, String)>,
    /// The command that builds a service; several with `;` between them
    #[arg(long, value_name = "NAME=COMMAND", value_parser = pair)]
    build: Vec<(String, String)>,
    /// The file that the build of a service makes, counted from its folder
    #[arg(long, value_name = "NAME=FILE", value_parser = pair)]
    makes: Vec<(String, String)>,
    /// The files that decide what the build makes, such as `src/**` [default: what is there of the usual ones]
    #[arg(long, value_name = "NAME=FILES", value_parser = pair)]
    made_of: Vec<(String, String)>,
    /// What both are asked: `/path`, `POST /path BODY`, or a command line of curl
    #[arg(long, value_name = "REQUEST")]
    request: Option<String>,
    /// How long each may take from its start to its first right answer
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    ready: Option<Duration>,
    /// Write over files that are there
    #[arg(long)]
    force: bool,
}

/// What the workload is called.
pub const WORKLOAD: &str = "request";
/// How the experiment is designed, to begin with.
const DESIGN: &str = "[design]\nblocks  = 12\nmargin  = 0.05\nwarmup  = \"30s\"\nmeasure = \"5s\"\n\n\
                      [quick]\nblocks  = 6\nwarmup  = \"10s\"\nmeasure = \"3s\"\n";
/// How long a service may take to be ready where nothing is said.
const READY: &str = "60s";

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if is_name(name) && !value.trim().is_empty() => Ok((name.to_owned(), value.trim().to_owned())),
        Some((name, value)) if !value.trim().is_empty() => {
            Err(format!("`{name}` cannot name a service: use letters, digits, `-`, `_` and `.`"))
        }
        _ => Err("write the service's name, `=` and the value".to_owned()),
    }
}

pub fn run(dir: Option<&Path>, options: &Options) -> Result<ExitCode, Error> {
    let mut questions = Questions::of_stdin();
    let (first, second) = services(options, &mut questions)?;
    let request = match &options.request {
        Some(request) => request.clone(),
        None => questions.ask("What both are asked: `/path`, `POST /path BODY`, or a command line of curl", Some("/"), "--request")?,
    };
    let requests = requests(&request)?;
    let ready = match options.ready {
        Some(ready) => ready,
        None => {
            let text = questions.ask("How long each may take from its start to its first right answer", Some(READY), "--ready")?;
            parse_duration(&text).map_err(|why| Problems::plain(why, "write it like 30s"))?
        }
    };
    let dir = dir.unwrap_or(Path::new("."));
    let unusable = |e| Error::Failed(format!("{} cannot be made: {e}\nhint: name another folder with --dir", dir.display()));
    std::fs::create_dir_all(dir).map_err(unusable)?;
    let dir = dir.canonicalize().map_err(unusable)?;
    let mut files = Files::new(dir, options.force);
    let made = make(&mut files, [&first, &second], requests, ready);
    // What is half there would only be in the way of the next try.
    made.inspect_err(|_| files.take_back())
}

/// Writes all files, asking the first service for the right answer, and proves both.
fn make(files: &mut Files, services: [&Service; 2], mut requests: Requests, ready: Duration) -> Result<ExitCode, Error> {
    let [first, second] = services;
    let experiment = format!("{}-or-{}", first.name, second.name);
    let manifests = services.map(|service| format!("systems/{}/system.toml", service.name));
    let (workload, question) = (format!("workloads/{WORKLOAD}.toml"), format!("experiments/{experiment}.toml"));
    let hint = "name other services, or write over what is there with --force";
    files.must_be_new(manifests.iter().chain([&workload, &question]), hint)?;
    for (path, service) in manifests.iter().zip(services) {
        let text = service.manifest(files.dir(), WORKLOAD, ready);
        files.write(path, text.as_bytes())?;
    }
    let stop = signals::stop_flag();
    let _lock = lock(&stop)?;
    let catalog = Catalog::open(files.dir())?;
    requests.workload().name = WORKLOAD.into();
    requests.workload().summary = format!("what {} and {} are asked", first.name, second.name);
    if let Some(last) = requests.workload().steps.last_mut() {
        // Readiness is the first answer that can be meant: what the service itself calls a failure is none.
        last.answer.status = Statuses { from: 200, to: 399 };
    }
    requests.workload().must_have_secrets()?;
    let heard = listen(&catalog, &first.name, requests.workload(), &stop, &|what, log| first.failed(what, log))?;
    let right = files.write_workload(&mut requests, WORKLOAD, &heard)?;
    let means = Means { rate: Some(100.0), connections: Some(8), design: DESIGN.into() };
    files.write(&question, files::experiment(&experiment, [&first.name, &second.name], WORKLOAD, &means).as_bytes())?;
    // What reads them has the last word.
    catalog.experiment(&experiment)?;
    catalog.workload(WORKLOAD)?;
    message(&format!("wrote {}", files.list()));
    message(&format!("the right answer is what {} gave: {right}{}", first.name, requests.lost()));
    requests.kept_out().iter().for_each(|text| message(text));
    let contenders = services.map(|service| catalog.contender(&ContenderName { system: service.name.clone(), variants: vec![] }));
    let contenders = contenders.into_iter().collect::<Result<Vec<_>, _>>()?;
    let wanted = check::Wanted { upstream: None, kind: RunnerKind::Process, jobs: 1, format: Format::Text };
    let code = check::prove(&catalog, contenders, wanted, &stop)?;
    let shown = files.dir().display();
    message(&match code == ExitCode::SUCCESS {
        true => format!("both answer alike; next: `faceoff --dir {shown} run {experiment} --quick`"),
        false => format!(
            "hint: the right answer stands in {workload}: say there what of it matters, mend what fails, then `faceoff --dir {shown} check {} {}`",
            first.name, second.name
        ),
    });
    Ok(code)
}

/// Builds a system, and asks each of two starts of it: what one start alone says is no right answer. One that runs already is asked twice.
///
/// # Errors
/// As `failed` says it, given what happened and the last lines of its log.
pub fn listen(
    catalog: &Catalog,
    name: &str,
    workload: &Workload,
    stop: &AtomicBool,
    failed: &dyn Fn(&str, &[String]) -> Error,
) -> Result<[Heard; 2], Error> {
    let cache = cache(catalog);
    let place = Place { catalog, cache: &cache, version: VERSION, stop };
    let (tools, mut show) = (Tools::default(), Show::default());
    let contender = catalog.contender(&ContenderName { system: name.to_owned(), variants: vec![] })?;
    let ready = match lab::gather(&place, &tools, contender, "init", &mut |p| show.take(p))? {
        Ok(ready) => ready,
        Err(skipped) => return Err(failed(&format!("cannot start: {}", skipped.reason), &[])),
    };
    show.done();
    let (cpus, work) = (runner::cpus::usable(), cache.join("init").join(std::process::id().to_string()));
    let around = Surroundings {
        tools: &tools,
        runner: &Processes::ON_LOOPBACK,
        limits: Limits::default(),
        upstream: None,
        database: None,
        cpus: &cpus,
        descriptors: None,
        work: &work,
        run: "init",
        stop,
    };
    let once = || -> Result<Heard, Error> {
        let running = start(&ready.contender, workload, &around)
            .map_err(|(failure, _)| failed(&format!("does not answer ({}): {}", failure.stage, failure.cause), &failure.log))?;
        let heard = hear(running.address, &running.target, workload, Duration::from_secs(10));
        // That it does not end in order is said by the proof that follows.
        let _ = running.stop(&ready.contender);
        heard.map_err(|wrong| failed(&format!("answers once and not again: {wrong}"), &[]))
    };
    let heard = once().and_then(|first| Ok([first, once()?]));
    let _ = std::fs::remove_dir_all(&work);
    heard.map_err(|error| if stop.load(Ordering::Relaxed) { Error::Interrupted(signals::code()) } else { error })
}

/// Both services, from flags or answers.
fn services(options: &Options, questions: &mut Questions<'_>) -> Result<(Service, Service), Error> {
    let mut given = options.services.iter();
    let first = service(options, given.next(), "first", "one", questions)?;
    let second = service(options, given.next(), "second", "another", questions)?;
    if given.next().is_some() {
        return Err(Problems::plain(
            "more than two services are named",
            "give --service twice; more contenders are added in the experiment's file",
        )
        .into());
    }
    if first.name == second.name {
        return Err(Problems::plain(format!("both services are named `{}`", first.name), "give each its own name").into());
    }
    let known = [first.name.as_str(), second.name.as_str()];
    let Options { port_in, folders, build, makes, made_of, .. } = options;
    let all = [("--port-in", port_in), ("--in", folders), ("--build", build), ("--makes", makes), ("--made-of", made_of)];
    for (flag, (name, _)) in all.into_iter().flat_map(|(flag, pairs)| pairs.iter().map(move |pair| (flag, pair))) {
        if !known.contains(&name.as_str()) {
            return Err(Problems::plain(format!("{flag} speaks of `{name}`, which is no --service"), did_you_mean(name, known)).into());
        }
    }
    Ok((first, second))
}

fn service(
    options: &Options,
    given: Option<&(String, String)>,
    which: &str,
    usual: &str,
    questions: &mut Questions<'_>,
) -> Result<Service, Error> {
    let flag = "--service";
    let name = match given {
        Some((name, _)) => name.clone(),
        None => questions.ask(&format!("The {which} service's name"), Some(usual), flag)?,
    };
    if !is_name(&name) {
        return Err(Problems::plain(format!("`{name}` cannot name a service"), "use letters, digits, `-`, `_` and `.`").into());
    }
    let of = |pairs: &[(String, String)]| pairs.iter().rfind(|(of, _)| *of == name).map(|(_, value)| value.clone());
    // Whoever gives a service as a flag gives all of it so.
    let asks = given.is_none();
    let folder = match of(&options.folders) {
        Some(folder) => folder,
        None if asks => questions.ask(&format!("The folder in which {name}'s commands run"), Some("."), "--in")?,
        None => ".".into(),
    };
    let folder = PathBuf::from(folder);
    let found = folder.canonicalize().ok().filter(|folder| folder.is_dir());
    let folder = found.ok_or_else(|| Problems::plain(format!("{} is no folder", folder.display()), "name one that is there"))?;
    let build = match of(&options.build) {
        None if asks => Some(questions.ask(&format!("The command that builds {name}, empty where there is none"), Some(""), "--build")?),
        build => build,
    };
    let build = build.filter(|build| !build.is_empty()).map(|build| -> Result<Build, Error> {
        let makes = match of(&options.makes) {
            Some(file) => file,
            None if asks => questions.ask("The file that it makes, counted from that folder", None, "--makes")?,
            None => return Err(Problems::plain(format!("nothing says what the build of {name} makes"), "give --makes NAME=FILE").into()),
        };
        let made_of = match of(&options.made_of) {
            Some(files) => files.split_whitespace().map(str::to_owned).collect(),
            None => files::sources(&folder),
        };
        if made_of.is_empty() {
            let hint = "name them with --made-of NAME='src/** Makefile'";
            return Err(Problems::plain(format!("no file in {} is known to decide what the build makes", folder.display()), hint).into());
        }
        Ok(Build { run: commands(&build)?, made_of, makes })
    });
    let build = build.transpose()?;
    let start = match given {
        Some((_, command)) => command.clone(),
        None => questions.ask(&format!("The command that starts {name}, with {{port}} where its port stands"), None, flag)?,
    };
    let mut start = commands(&start)?;
    if start.len() != 1 {
        return Err(Problems::plain(
            format!("{name} is started by one command, not by {}", start.len()),
            "put what comes before into its build",
        )
        .into());
    }
    let port_in = of(&options.port_in);
    let mut service = Service { name, folder, build, start: start.remove(0), port_in: "PORT".into() };
    service.port_in = match port_in {
        Some(variable) => variable,
        None if asks && !service.names_port() => {
            questions.ask("The environment variable that tells it its port", Some("PORT"), "--port-in")?
        }
        None => service.port_in,
    };
    Ok(service)
}

/// Command lines, as a shell splits them; nothing else of a shell is there.
fn commands(text: &str) -> Result<Vec<Vec<String>>, Error> {
    let lines = words::lines(text);
    if lines.is_empty() {
        return Err(Problems::plain(format!("`{text}` is no command"), "write it as in a shell").into());
    }
    let of_shells = |word: &&String| ["&&", "||", "|", "&", "<", ">", ">>", "2>&1"].contains(&word.as_str());
    if let Some(word) = lines.iter().flatten().find(of_shells) {
        let hint = "put `;` between commands of a build, or call a shell yourself: sh -c 'exec ...'";
        return Err(Problems::plain(format!("`{word}` is a shell's, and commands run without one"), hint).into());
    }
    Ok(lines)
}

/// What is asked, from `/path`, `POST /path BODY` or a command line of curl.
pub fn requests(text: &str) -> Result<Requests, Error> {
    let text = text.trim();
    if let Some(line) = text.strip_prefix("curl ") {
        return Ok(Requests::of_curl(words::lines(line).first().map_or(&[][..], Vec::as_slice))?);
    }
    let wrong = || Problems::plain(format!("`{text}` is no request"), "write `/path`, `POST /path BODY`, or a command line of curl");
    let (method, rest) = if text.starts_with('/') { ("GET", text) } else { text.split_once(' ').ok_or_else(wrong)? };
    let (path, body) = rest.trim().split_once(' ').map_or((rest.trim(), ""), |(path, body)| (path, body.trim()));
    if !path.starts_with('/') {
        return Err(wrong().into());
    }
    let mut words = ["-X", method, format!("http://127.0.0.1{path}").as_str()].map(str::to_owned).to_vec();
    if !body.is_empty() {
        words.extend(["--data-raw".to_owned(), body.to_owned()]);
        if body.starts_with(['{', '[']) {
            words.extend(["-H".to_owned(), "content-type: application/json".to_owned()]);
        }
    }
    Ok(Requests::of_curl(&words)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(request: &str) -> String {
        requests(request).map(|requests| requests.text("r")).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn requests_are_read_as_they_are_said() {
        assert!(text("/a?b=c").contains("method = \"GET\"\npath = \"/a?b=c\""), "{}", text("/a?b=c"));
        let post = text("POST /orders {\"n\": 1}");
        assert!(post.contains("method = \"POST\"\npath = \"/orders\"") && post.contains("body = '{\"n\": 1}'"), "{post}");
        assert!(post.contains("content-type = \"application/json\""), "{post}");
        let curl = text("curl -H 'x-a: b' http://localhost:8080/c");
        assert!(curl.contains("path = \"/c\"") && curl.contains("x-a = \"b\""), "{curl}");
        for bad in ["", "GET", "GET x", "orders"] {
            assert!(text(bad).contains("is no request"), "{bad}: {}", text(bad));
        }
    }

    #[test]
    fn commands_are_split_and_a_shell_is_not_there() {
        let split = |text: &str| commands(text).map_err(|e| e.to_string());
        assert_eq!(split("node 'a b.js' {port}"), Ok(vec![vec!["node".into(), "a b.js".into(), "{port}".into()]]));
        assert_eq!(split("npm ci; npm run build").map(|all| all.len()), Ok(2));
        assert!(split("a && b").unwrap_err().contains("`&&` is a shell's"));
        assert!(split(" ").unwrap_err().contains("is no command"));
    }
}
