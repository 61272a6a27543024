//! Writes a plan for JMeter: a thread group with one sampler for each request.
//!
//! JMeter reads `${` as a variable in any text, so such texts are refused. Start with
//! [`translate`].

use super::{Fixed, Task, Translated};
use quick_xml::escape::escape;
use spec::experiment::{Load, Pause};
use std::time::Duration;

/// The name of every request, so that all samples are summed up together.
const LABEL: &str = "request";

/// The users, as JMeter describes them.
struct Group {
    threads: u32,
    ramp: Duration,
    /// `None` means until the time is over.
    rounds: Option<u64>,
    /// The shortest pause and the most that is added to it, in milliseconds.
    pause: (u128, u128),
}

/// Writes the plan of a task.
///
/// # Errors
/// What JMeter cannot express.
pub(super) fn translate(task: &Task<'_>, requests: &[Fixed<'_>]) -> Result<Translated, String> {
    if task.is_http2 {
        return Err("it supports only HTTP/1.1".into());
    }
    if requests.is_empty() {
        return Err("there is no request".into());
    }
    let texts = requests.iter().flat_map(|request| {
        let headers = request.headers.iter().flat_map(|(name, value)| [*name, *value]);
        [request.path, request.body.unwrap_or_default()].into_iter().chain(headers)
    });
    for text in texts {
        if text.contains("${") {
            return Err("it would take `${` for a variable".into());
        }
        if text.contains(|c: char| c.is_control() && !"\n\t".contains(c)) {
            return Err("its plans are XML, which has no control characters".into());
        }
    }
    let group = group(task.load)?;
    let mut differs = vec![
        "a status below 400 is correct; its times are service times, in whole milliseconds"
            .to_owned(),
    ];
    if group.pause.1 > 0 || group.pause.0 > 0 {
        differs.push("users pause before their first request as well".into());
    }
    let arguments =
        ["-n", "-t", "plan.jmx", "-l", "results.jtl", "-j", "jmeter.log", "-Jsummariser.name="]
            .map(str::to_owned)
            .into();
    let files = vec![("plan.jmx".into(), plan(task, requests, &group))];
    Ok(Translated {
        files,
        arguments,
        results: Some("results.jtl"),
        differs,
        ..Translated::default()
    })
}

fn group(load: &Load) -> Result<Group, String> {
    if let Load::Closed { connections, depth } = load {
        let group =
            Group { threads: *connections, ramp: Duration::ZERO, rounds: None, pause: (0, 0) };
        return if *depth == 1 {
            Ok(group)
        } else {
            Err("each of its threads has one request in flight".into())
        };
    }
    let Load::Users { users, ramp, pause, rounds, pooled } = load else {
        return Err("its threads send after each response: give it a closed load or users".into());
    };
    if pooled.is_some() {
        return Err("its threads do not share connections".into());
    }
    if ramp.subsec_nanos() > 0 {
        return Err("its ramp-up takes whole seconds".into());
    }
    let pause = match pause {
        Pause::Constant(pause) => (pause.as_millis(), 0),
        Pause::Uniform { from, to } => (from.as_millis(), to.saturating_sub(*from).as_millis()),
        Pause::Exponential(_) => return Err("its timers are not exponential".into()),
    };
    Ok(Group { threads: *users, ramp: *ramp, rounds: *rounds, pause })
}

fn plan(task: &Task<'_>, requests: &[Fixed<'_>], group: &Group) -> String {
    let (scheme, rest) = task.server.split_once("://").unwrap_or(("http", &task.server));
    // The port is after the last colon, unless that belongs to an IPv6 address.
    let (host, port) =
        rest.rsplit_once(':').filter(|(_, port)| !port.contains(']')).unwrap_or((rest, ""));
    let pause = match group.pause {
        (0, 0) => String::new(),
        (least, more) => element(
            "UniformRandomTimer",
            "pause",
            &[
                text("ConstantTimer.delay", &least.to_string()),
                text("RandomTimer.range", &more.to_string()),
            ],
            "",
        ),
    };
    let loops = group.rounds.map_or("-1".to_owned(), |rounds| rounds.to_string());
    let controller = format!(
        "<elementProp name=\"ThreadGroup.main_controller\" elementType=\"LoopController\" guiclass=\"LoopControlPanel\" testclass=\"LoopController\">{}{}</elementProp>\n",
        flag("LoopController.continue_forever", false),
        text("LoopController.loops", &loops)
    );
    let users = element(
        "ThreadGroup",
        "users",
        &[
            text("ThreadGroup.on_sample_error", "continue"),
            controller,
            text("ThreadGroup.num_threads", &group.threads.to_string()),
            text("ThreadGroup.ramp_time", &group.ramp.as_secs().to_string()),
            flag("ThreadGroup.scheduler", true),
            text("ThreadGroup.duration", &task.duration.as_secs().to_string()),
            text("ThreadGroup.delay", "0"),
            // Otherwise a thread would open a new connection for each pass.
            flag("ThreadGroup.same_user_on_next_iteration", true),
        ],
        &(pause
            + &requests
                .iter()
                .map(|request| sampler(task, request, (scheme, host, port)))
                .collect::<String>()),
    );
    let top = element(
        "TestPlan",
        "external-generator",
        &[flag("TestPlan.serialize_threadgroups", false)],
        &users,
    );
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<jmeterTestPlan version=\"1.2\" properties=\"5.0\" jmeter=\"5.6.3\">\n<hashTree>\n{top}</hashTree>\n</jmeterTestPlan>\n"
    )
}

fn sampler(
    task: &Task<'_>,
    request: &Fixed<'_>,
    (scheme, host, port): (&str, &str, &str),
) -> String {
    let body = request.body.map(|body| {
        format!(
            "<elementProp name=\"\" elementType=\"HTTPArgument\">{}{}{}</elementProp>",
            flag("HTTPArgument.always_encode", false),
            text("Argument.value", body),
            text("Argument.metadata", "=")
        )
    });
    let headers: String = request
        .headers
        .iter()
        .map(|(name, value)| {
            format!(
                "<elementProp name=\"\" elementType=\"Header\">{}{}</elementProp>",
                text("Header.name", name),
                text("Header.value", value)
            )
        })
        .collect();
    let manager = match headers.is_empty() {
        true => String::new(),
        false => element(
            "HeaderManager",
            "headers",
            &[format!(
                "<collectionProp name=\"HeaderManager.headers\">{headers}</collectionProp>\n"
            )],
            "",
        ),
    };
    let timeout = task.timeout.as_millis().to_string();
    let arguments = format!(
        "<elementProp name=\"HTTPsampler.Arguments\" elementType=\"Arguments\"><collectionProp name=\"Arguments.arguments\">{}</collectionProp></elementProp>\n",
        body.as_deref().unwrap_or_default()
    );
    let properties = [
        flag("HTTPSampler.postBodyRaw", body.is_some()),
        arguments,
        text("HTTPSampler.protocol", scheme),
        text("HTTPSampler.domain", host),
        text("HTTPSampler.port", port),
        text("HTTPSampler.path", request.path),
        text("HTTPSampler.method", request.method),
        flag("HTTPSampler.follow_redirects", false),
        flag("HTTPSampler.auto_redirects", false),
        flag("HTTPSampler.use_keepalive", !task.closes),
        text("HTTPSampler.implementation", "HttpClient4"),
        text("HTTPSampler.connect_timeout", &timeout),
        text("HTTPSampler.response_timeout", &timeout),
    ];
    element("HTTPSamplerProxy", LABEL, &properties, &manager)
}

/// Writes an element with its properties, and the tree below it.
fn element(tag: &str, name: &str, properties: &[String], below: &str) -> String {
    let gui = match tag {
        "HTTPSamplerProxy" => "HttpTestSampleGui",
        "HeaderManager" => "HeaderPanel",
        "UniformRandomTimer" => "UniformRandomTimerGui",
        "ThreadGroup" => "ThreadGroupGui",
        _ => "TestPlanGui",
    };
    format!(
        "<{tag} guiclass=\"{gui}\" testclass=\"{tag}\" testname=\"{name}\" enabled=\"true\">\n{}</{tag}>\n<hashTree>\n{below}</hashTree>\n",
        properties.concat()
    )
}

fn text(name: &str, value: &str) -> String {
    format!("<stringProp name=\"{name}\">{}</stringProp>\n", escape(value))
}

fn flag(name: &str, value: bool) -> String {
    format!("<boolProp name=\"{name}\">{value}</boolProp>\n")
}
