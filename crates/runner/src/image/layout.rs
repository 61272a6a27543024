//! Names and places that all images share.

use record::Failure;
use serde_json::Value;
use spec::image::{Image, Layer};

/// Folder of the Java runtime in an image.
pub(crate) const JAVA: &str = "/java";
/// Folder of rendered files and of files that a system writes. It is mounted, so no program of the
/// machine may be there.
pub(crate) const WORK: &str = "/run/faceoff";
/// The first port on which a container or pod listens, in a network of its own.
pub(crate) const PORT: u16 = 8080;
/// The label by which an engine finds our images.
pub(crate) const SYSTEM_LABEL: &str = "faceoff.system";

/// Default folders of programs.
pub(super) const PROGRAMS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Describes an image from an engine's inspection of it; `None` if that lacks a field.
pub(crate) fn describe(reference: &str, found: &Value) -> Option<Image> {
    let layers = found["RootFS"]["Layers"].as_array()?.iter().filter_map(Value::as_str);
    Some(Image {
        reference: reference.to_owned(),
        digest: found["Id"].as_str()?.to_owned(),
        config: None,
        bytes: found["Size"].as_u64()?,
        layers: layers
            .map(|digest| Layer { digest: digest.to_owned(), bytes: None, what: String::new() })
            .collect(),
        sources: vec![],
    })
}

/// The failure of an image that cannot be made.
pub(super) fn failed(cause: String, log: Vec<String>) -> Failure {
    Failure { stage: "image".into(), cause, log }
}
