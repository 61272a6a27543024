//! Existing images: found in the engine, or pulled by it.
//!
//! Such an image says where its program listens, or must be told; see [`listens`]. Start with
//! [`provide`].

use super::names::{LOAD_WITHIN, Listens, WITHIN};
use crate::engine::{Body, Engine, EngineError};
use crate::image::{PORT, describe};
use serde_json::Value;
use spec::image::{Image, split_reference};
use spec::name::percent_encoded;
use spec::system::Start;
use std::io::{BufRead, BufReader};

/// Finds an image in the engine, or has the engine pull it. Returns its description, and the port
/// on which its program listens.
///
/// # Errors
/// An image that does not exist, or whose port is unknown.
pub(super) fn provide(
    engine: &Engine,
    reference: &str,
    start: &Start,
) -> Result<(Image, Listens), String> {
    let (name, tag) = split_reference(reference)?;
    let full = format!("{name}{}{tag}", if tag.contains(':') { '@' } else { ':' });
    let path = format!("/images/{full}/json");
    let inspect = || engine.request("GET", &path, Body::Nothing, WITHIN);
    let found = match inspect() {
        Err(EngineError::Refused(_)) => {
            pull(engine, name, tag).map_err(|cause| {
                format!("the image {reference} is not in the engine, and cannot be pulled: \
                    {cause}; hint: try `docker pull {reference}`, after `docker login` if the registry needs it")
            })?;
            inspect()
        }
        found => found,
    };
    let found =
        found.map_err(|error| format!("the image {reference} cannot be inspected: {error}"))?;
    let image = describe(reference, &found)
        .ok_or_else(|| format!("the engine does not describe the image {reference}"))?;
    Ok((image, listens(&found, start).map_err(|why| format!("the image {reference} {why}"))?))
}

/// Has the engine pull an image. The engine reports progress and failure as lines of JSON.
fn pull(engine: &Engine, name: &str, tag: &str) -> Result<(), String> {
    let path =
        format!("/images/create?fromImage={}&tag={}", percent_encoded(name), percent_encoded(tag));
    let answer = engine
        .open("POST", &path, Body::Nothing, LOAD_WITHIN)
        .map_err(|error| error.to_string())?;
    for line in BufReader::new(answer).lines() {
        let line = line.map_err(|error| format!("the engine stopped reporting: {error}"))?;
        let line: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
        if let Some(error) = line["error"].as_str() {
            return Err(error.to_owned());
        }
    }
    Ok(())
}

/// Chooses the port of the program: that of the manifest, else the one that `{port.http}` passes to
/// it, else the only one that the image exposes, else the one in `PORT`.
fn listens(found: &Value, start: &Start) -> Result<Listens, String> {
    if let Some(port) = start.container_port {
        return Ok(Listens { port, by_environment: false });
    }
    if start.names_port() {
        return Ok(Listens { port: PORT, by_environment: false });
    }
    let exposed =
        found["Config"]["ExposedPorts"].as_object().into_iter().flat_map(|ports| ports.keys());
    let mut ports: Vec<u16> =
        exposed.filter_map(|port| port.strip_suffix("/tcp")?.parse().ok()).collect();
    ports.sort_unstable();
    match ports[..] {
        [port] => Ok(Listens { port, by_environment: false }),
        [] => Ok(Listens { port: PORT, by_environment: !start.env.contains_key("PORT") }),
        _ => {
            let all: Vec<String> = ports.iter().map(ToString::to_string).collect();
            Err(format!(
                "exposes the ports {}; hint: write `container_port = {}` in [start], or `#{}` \
                 after its name in `faceoff vs`",
                all.join(", "),
                all[0],
                all[0]
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use spec::system::System;

    fn start(more: &str) -> Start {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("i");
        std::fs::create_dir(&own).unwrap();
        let text = format!(
            "name = \"i\"\nsummary = \"s\"\nkind = \"service\"\nimage = \"i:1\"\n[start]\n{more}"
        );
        std::fs::write(own.join("system.toml"), text).unwrap();
        System::read(&own).unwrap().start
    }

    #[test]
    fn port_comes_from_the_manifest_or_the_image_or_us() {
        let exposing = |ports: &[&str]| {
            let ports: serde_json::Map<String, Value> =
                ports.iter().map(|port| ((*port).to_owned(), json!({}))).collect();
            json!({"Config": {"ExposedPorts": ports}})
        };
        let at = |port, by_environment| Ok(Listens { port, by_environment });
        assert_eq!(listens(&exposing(&["80/tcp", "53/udp"]), &start("")), at(80, false));
        assert_eq!(
            listens(&exposing(&["80/tcp", "443/tcp"]), &start("container_port = 443")),
            at(443, false)
        );
        assert_eq!(
            listens(&exposing(&["80/tcp"]), &start("env = { P = \"{port.http}\" }")),
            at(PORT, false)
        );
        assert_eq!(listens(&exposing(&[]), &start("")), at(PORT, true));
        assert_eq!(
            listens(
                &json!({"Config": {"ExposedPorts": null}}),
                &start("env = { PORT = \"8080\" }")
            ),
            at(PORT, false)
        );
        let several = listens(&exposing(&["443/tcp", "80/tcp"]), &start("")).unwrap_err();
        assert!(
            several.contains("exposes the ports 80, 443")
                && several.contains("`container_port = 80`"),
            "{several}"
        );
    }

    #[test]
    fn image_is_described_from_an_inspection() {
        let found =
            json!({"Id": "sha256:1", "Size": 9, "RootFS": {"Layers": ["sha256:2", "sha256:3"]}});
        let image = describe("i:1", &found).unwrap();
        assert_eq!((image.digest.as_str(), image.bytes, image.layers.len()), ("sha256:1", 9, 2));
        assert_eq!(describe("i:1", &Value::Null), None);
    }
}
