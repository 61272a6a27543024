use super::*;
use model::experiment::Pause;
use model::template::Template;
use model::workload::{Body, Step};

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_plan_for_jmeter_is_imported_as_what_it_was() {
    let get = |path: &str| Step { path: Template::fixed(path), ..Step::default() };
    let header = vec![("x-a".to_owned(), Template::fixed("<b> & \"c\""))];
    let steps = vec![
        Step { headers: header.clone(), ..get("/a?b=1&c") },
        Step { method: "POST".into(), headers: header, body: Body::Text(Template::fixed("{\"n\": 1}")), ..get("/b") },
        get("/c"),
    ];
    let pause = Pause::Uniform { from: 1_000 * MS, to: 1_500 * MS };
    let users = Load::Users { users: 7, ramp: 3_000 * MS, pause, rounds: Some(2), pooled: None };
    let workload = Workload { steps: steps.clone(), ..Workload::default() };
    let task = Task {
        server: "http://127.0.0.1:8080".into(),
        workload: &workload,
        load: &users,
        duration: 20_000 * MS,
        timeout: 1_500 * MS,
        threads: 2,
        is_http2: false,
        closes: false,
        is_insecure: false,
    };
    let plan = translate(Driver::Jmeter, &task).unwrap().files.remove(0).1;
    let (again, line) = crate::commands::import::of_plan(&plan).unwrap();
    let asks = |steps: &[Step]| {
        steps.iter().map(|step| format!("{} {} {:?} {:?}", step.method, step.path, step.headers, step.body)).collect::<Vec<_>>()
    };
    assert_eq!(asks(&again.steps), asks(&steps), "{plan}");
    assert_eq!(
        line,
        "faceoff load http://127.0.0.1:8080 --workload it.toml --users 7 --ramp 3s --pause 1s..1500ms --rounds 2 -d 20s --timeout 1500ms"
    );
}
