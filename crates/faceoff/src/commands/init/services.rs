//! Puts the two services together, from options and answers to questions.
//!
//! A service that is given with `--service` is described by options only. For any other service you
//! are asked. Start at [`both_services`].

use super::options::{ForService, Options};
use super::questions::Questions;
use crate::commands::authoring::project::{self, Project};
use crate::commands::authoring::requests::{split_commands, split_one_command};
use crate::commands::authoring::service::{Build, Service};
use crate::commands::authoring::sources::sources;
use crate::exit::Error;
use crate::output::message;
use spec::name::{NAME_HINT, did_you_mean, is_name};
use spec::problem::Problems;
use std::path::{Path, PathBuf};

/// The answer for a service without a build.
const NO_BUILD: &str = "-";

/// Returns both services.
pub fn both_services(
    options: &Options,
    questions: &mut Questions<'_>,
) -> Result<(Service, Service), Error> {
    let mut given = options.services.iter();
    let first = service(options, given.next(), ("first", "one"), questions)?;
    let second = service(options, given.next(), ("second", "another"), questions)?;
    if given.next().is_some() {
        return Err(Problems::plain(
            "more than two services are named",
            "give --service twice; add further contenders in the experiment's file",
        )
        .into());
    }
    if first.name == second.name {
        return Err(Problems::plain(
            format!("both services are named `{}`", first.name),
            "give each a different name",
        )
        .into());
    }
    let known = [first.name.as_str(), second.name.as_str()];
    let Options { port_in, folders, build, makes, made_of, .. } = options;
    let all = [
        ("--port-in", port_in),
        ("--in", folders),
        ("--build", build),
        ("--makes", makes),
        ("--made-of", made_of),
    ];
    for (flag, (name, _)) in
        all.into_iter().flat_map(|(flag, pairs)| pairs.iter().map(move |pair| (flag, pair)))
    {
        if !known.contains(&name.as_str()) {
            return Err(Problems::plain(
                format!("{flag} names `{name}`, which is not a --service"),
                did_you_mean(name, known),
            )
            .into());
        }
    }
    Ok((first, second))
}

/// Returns one service. `which` is its position and the name that is suggested.
fn service(
    options: &Options,
    given: Option<&ForService>,
    which: (&str, &str),
    questions: &mut Questions<'_>,
) -> Result<Service, Error> {
    let name = match given {
        Some((name, _)) => valid_name(name)?,
        None => {
            let question = format!("The {} service's name", which.0);
            questions.ask_for(&question, Some(which.1), "--service", valid_name)?
        }
    };
    let is_asked = given.is_none();
    let mut description = Description { options, name, is_asked, questions };
    let start = description.start(given)?;
    let folder = description.folder()?;
    let project = project::recognise(&folder, &start);
    let build = description.build(project.as_ref(), &folder)?;
    let jdk = project.and_then(|project| project.jdk);
    let mut service = Service {
        name: description.name.clone(),
        folder,
        build,
        start,
        port_in: "PORT".into(),
        jdk,
    };
    service.port_in = description.port_variable(service.names_port())?;
    Ok(service)
}

fn valid_name(name: &str) -> Result<String, Error> {
    match is_name(name) {
        true => Ok(name.to_owned()),
        false => Err(Problems::plain(format!("`{name}` cannot name a service"), NAME_HINT).into()),
    }
}

fn existing_folder(folder: &str) -> Result<PathBuf, Error> {
    let found = Path::new(folder).canonicalize().ok().filter(|folder| folder.is_dir());
    found.ok_or_else(|| {
        Problems::plain(format!("{folder} is not a folder"), "name an existing folder").into()
    })
}

/// Collects the parts of a service.
struct Description<'a, 'q> {
    options: &'a Options,
    name: String,
    /// Whether missing parts are asked for.
    is_asked: bool,
    questions: &'a mut Questions<'q>,
}

impl Description<'_, '_> {
    /// Returns this service's value among the values of an option; the last one counts.
    fn value(&self, values: &[ForService]) -> Option<String> {
        values.iter().rfind(|(name, _)| *name == self.name).map(|(_, value)| value.clone())
    }

    /// Returns the command that starts it.
    fn start(&mut self, given: Option<&ForService>) -> Result<Vec<String>, Error> {
        let name = self.name.clone();
        let one_command =
            |text: &str| split_one_command(&name, text, "move the others into its build");
        match given {
            Some((_, command)) => one_command(command),
            None => {
                let question =
                    format!("The command that starts {name}, with {{port}} for its port");
                self.questions.ask_for(&question, None, "--service", one_command)
            }
        }
    }

    /// Returns the folder in which its commands run.
    fn folder(&mut self) -> Result<PathBuf, Error> {
        match self.value(&self.options.folders) {
            Some(folder) => existing_folder(&folder),
            None if self.is_asked => {
                let question = format!("The folder in which {}'s commands run", self.name);
                self.questions.ask_for(&question, Some("."), "--in", existing_folder)
            }
            None => existing_folder("."),
        }
    }

    /// Returns how it is built, or `None` if it is not.
    fn build(&mut self, project: Option<&Project>, folder: &Path) -> Result<Option<Build>, Error> {
        let usual = project.and_then(|project| project.build.as_ref());
        let commands = match self.value(&self.options.build) {
            Some(commands) => Some(commands),
            None if self.is_asked => {
                let question =
                    format!("The command that builds {}, or `{NO_BUILD}` for none", self.name);
                let usual = usual.map_or("", |(commands, _)| commands);
                Some(self.questions.ask(&question, Some(usual), "--build")?)
            }
            None => project.and_then(|project| usual_build(&self.name, project, folder)),
        };
        let Some(commands) = commands.filter(|text| !text.is_empty() && text != NO_BUILD) else {
            return Ok(None);
        };
        let makes = self.product(usual.map(|(_, makes)| makes.as_str()))?;
        let made_of = match self.value(&self.options.made_of) {
            Some(files) => files.split_whitespace().map(str::to_owned).collect(),
            None => sources(folder),
        };
        if made_of.is_empty() {
            return Err(Problems::plain(
                format!("{} has no known source files", folder.display()),
                "name the sources of the build with --made-of NAME='src/** Makefile'",
            )
            .into());
        }
        Ok(Some(Build { run: split_commands(&commands)?, made_of, makes }))
    }

    /// Returns the file that its build produces.
    fn product(&mut self, usual: Option<&str>) -> Result<String, Error> {
        match (self.value(&self.options.makes), usual) {
            (Some(file), _) => Ok(file),
            (None, usual) if self.is_asked => self.questions.ask(
                "The file that it produces, relative to that folder",
                usual,
                "--makes",
            ),
            (None, Some(file)) => Ok(file.to_owned()),
            (None, None) => Err(Problems::plain(
                format!("the file that the build of {} produces is not known", self.name),
                "give --makes NAME=FILE",
            )
            .into()),
        }
    }

    /// Returns the environment variable for its port.
    fn port_variable(&mut self, is_in_command: bool) -> Result<String, Error> {
        match self.value(&self.options.port_in) {
            Some(variable) => Ok(variable),
            None if self.is_asked && !is_in_command => {
                let question = "The environment variable for its port";
                self.questions.ask(question, Some("PORT"), "--port-in")
            }
            None => Ok("PORT".into()),
        }
    }
}

/// Returns the usual build of a project if its product is missing, with a message either way.
fn usual_build(name: &str, project: &Project, folder: &Path) -> Option<String> {
    let (build, makes) = project.build.as_ref()?;
    let file = &project.file;
    if folder.join(makes).exists() {
        message(&format!(
            "{name} runs as it is; faceoff does not build it. To build it by its {file}: --build '{name}={build}' --makes {name}={makes}"
        ));
        return None;
    }
    message(&format!(
        "{name} has {file} and no {makes}: faceoff builds it with `{build}`. --build and --makes override that"
    ));
    Some(build.clone())
}
