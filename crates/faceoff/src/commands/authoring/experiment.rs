//! The text of an experiment that compares services.

use interop::import::quoted;

/// What an experiment measures and how often.
pub struct Measurements {
    /// Requests per second of an open load, if there is one.
    pub rate: Option<f64>,
    /// Connections of a closed load, if there is one.
    pub connections: Option<u32>,
    /// The text that follows the cells.
    pub design: String,
}

/// Returns the text of an experiment that compares services. The first one is the baseline.
pub fn experiment_text(
    name: &str,
    services: &[&str],
    workload: &str,
    measurements: &Measurements,
) -> String {
    let (last, before) = services.split_last().expect("there are services");
    let mut text = format!(
        "name       = {}\nquestion   = {}\nbaseline   = {}\ncontenders = [{}]\n",
        quoted(name),
        quoted(&format!("Which is faster, {} or {last}?", before.join(", "))),
        quoted(services[0]),
        services[1..].iter().map(|service| quoted(service)).collect::<Vec<_>>().join(", ")
    );
    let mut cell = |why: &str, name: String, load: String| {
        text += &format!(
            "\n# {why}\n[[cell]]\nname     = {}\nworkload = {}\nload     = {{ {load} }}\n",
            quoted(&name),
            quoted(workload)
        );
    };
    if let Some(rate) = measurements.rate {
        cell(
            "Requests at a fixed rate, however long the responses take.",
            format!("arrivals-{rate}"),
            format!("kind = \"arrivals\", rate = {rate}"),
        );
    }
    if let Some(connections) = measurements.connections {
        cell(
            "Each connection sends its next request when it has the response to the last.",
            format!("closed-{connections}"),
            format!("kind = \"closed\", connections = {connections}"),
        );
    }
    format!("{text}\n{}", measurements.design)
}
