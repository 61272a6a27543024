//! A folder of images in the layout of the Open Container Initiative, and the archive that `docker
//! load` reads.
//!
//! Layers are not compressed, so their digests do not depend on a compressor. A push to a registry
//! compresses them. Start with [`Store`].

use super::tree::Tree;
use crate::sha256::{Sha256, hex_digest};
use serde_json::{Value, json};
use spec::image::{Image, Layer};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const LAYOUT: &str = "{\"imageLayoutVersion\":\"1.0.0\"}";
const OF_INDEX: &str = "application/vnd.oci.image.index.v1+json";
const OF_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const OF_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const OF_LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
/// The annotation by which an index names its images.
const NAME: &str = "org.opencontainers.image.ref.name";
/// The annotation by which containerd names its images.
const CONTAINERD_NAME: &str = "io.containerd.image.name";
/// Images have no creation time, as no two would be the same with one.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// Images on disk: `oci-layout`, `index.json`, `blobs/sha256/`.
pub struct Store {
    folder: PathBuf,
}

/// The description of an image, in addition to its layers.
pub(super) struct Described {
    pub reference: String,
    pub labels: BTreeMap<String, String>,
    pub env: BTreeMap<String, String>,
    /// The folder in which its command runs.
    pub folder: String,
    /// The default command.
    pub command: Option<Vec<String>>,
    pub ports: Vec<u16>,
    pub sources: Vec<String>,
}

impl Store {
    /// Opens a folder, and creates it if necessary.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn open(folder: &Path) -> Result<Store, String> {
        let store = Store { folder: folder.to_owned() };
        let made = fs::create_dir_all(store.blobs())
            .and_then(|()| fs::write(folder.join("oci-layout"), LAYOUT));
        made.map_err(|e| unwritable(folder, &e))?;
        Ok(store)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn blobs(&self) -> PathBuf {
        self.folder.join("blobs/sha256")
    }

    fn blob(&self, digest: &str) -> PathBuf {
        self.blobs().join(digest.trim_start_matches("sha256:"))
    }

    /// Writes the archive of a tree.
    pub(super) fn keep_layer(&self, what: &str, tree: &Tree) -> Result<Layer, String> {
        let begun = self.folder.join("layer.partial");
        let write = || {
            let mut out = Hashed {
                out: BufWriter::with_capacity(1 << 18, fs::File::create(&begun)?),
                hash: Sha256::new(),
                bytes: 0,
            };
            tree.write_archive(&mut out)?;
            let digest = format!("sha256:{}", out.hash.hex());
            fs::rename(&begun, self.blob(&digest))?;
            Ok(Layer { digest, bytes: Some(out.bytes), what: what.to_owned() })
        };
        write().map_err(|e: io::Error| format!("the layer of {what} cannot be written: {e}"))
    }

    fn keep(&self, document: &Value) -> Result<(String, u64), String> {
        let text = document.to_string();
        let digest = format!("sha256:{}", hex_digest(&text));
        fs::write(self.blob(&digest), &text).map_err(|e| unwritable(&self.folder, &e))?;
        Ok((digest, text.len() as u64))
    }

    /// Makes an image of existing layers, and adds it to the index.
    pub(super) fn keep_image(
        &self,
        described: Described,
        layers: Vec<Layer>,
    ) -> Result<Image, String> {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let env: Vec<String> =
            described.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut runs =
            json!({"Env": env, "WorkingDir": described.folder, "Labels": described.labels});
        if let Some(command) = &described.command {
            runs["Cmd"] = json!(command);
            let ports: BTreeMap<String, Value> =
                described.ports.iter().map(|port| (format!("{port}/tcp"), json!({}))).collect();
            runs["ExposedPorts"] = json!(ports);
        }
        let digests: Vec<&str> = layers.iter().map(|layer| layer.digest.as_str()).collect();
        let history: Vec<Value> = layers
            .iter()
            .map(|l| json!({"created": CREATED, "created_by": format!("faceoff: {}", l.what)}))
            .collect();
        let (config, config_bytes) = self.keep(&json!({
            "created": CREATED,
            "architecture": architecture,
            "os": "linux",
            "config": runs,
            "rootfs": {"type": "layers", "diff_ids": digests},
            "history": history,
        }))?;
        let described_layers: Vec<Value> = layers
            .iter()
            .map(
                |layer| json!({"mediaType": OF_LAYER, "digest": layer.digest, "size": layer.bytes}),
            )
            .collect();
        let (digest, manifest_bytes) = self.keep(&json!({
            "schemaVersion": 2,
            "mediaType": OF_MANIFEST,
            "config": {"mediaType": OF_CONFIG, "digest": config, "size": config_bytes},
            "layers": described_layers,
        }))?;
        self.enter(json!({
            "mediaType": OF_MANIFEST,
            "digest": digest,
            "size": manifest_bytes,
            "annotations": {NAME: described.reference},
            "platform": {"architecture": architecture, "os": "linux"},
        }))?;
        let bytes = layers.iter().filter_map(|layer| layer.bytes).sum();
        Ok(Image {
            reference: described.reference,
            digest,
            config: Some(config),
            bytes,
            layers,
            sources: described.sources,
        })
    }

    /// The entries of the index; none if it cannot be read.
    fn entries(&self) -> Vec<Value> {
        let text = fs::read(self.folder.join("index.json")).unwrap_or_default();
        let index: Value = serde_json::from_slice(&text).unwrap_or_default();
        index["manifests"].as_array().cloned().unwrap_or_default()
    }

    /// Adds an entry to the index, and replaces an entry of the same name.
    fn enter(&self, entry: Value) -> Result<(), String> {
        let name =
            |entry: &Value| entry["annotations"][NAME].as_str().unwrap_or_default().to_owned();
        let mut entries = self.entries();
        entries.retain(|other| name(other) != name(&entry));
        entries.push(entry);
        entries.sort_by_key(name);
        let (path, begun) = (self.folder.join("index.json"), self.folder.join("index.partial"));
        let written = fs::write(&begun, index_of(&entries).to_string())
            .and_then(|()| fs::rename(&begun, &path));
        written.map_err(|e| unwritable(&path, &e))
    }

    /// Removes everything that no named image uses.
    pub fn sweep(&self) {
        let mut kept = BTreeSet::new();
        for entry in self.entries() {
            let digest = entry["digest"].as_str().unwrap_or_default();
            let manifest: Value = fs::read(self.blob(digest))
                .ok()
                .and_then(|text| serde_json::from_slice(&text).ok())
                .unwrap_or_default();
            let layers = manifest["layers"].as_array().cloned().unwrap_or_default();
            let parts = layers
                .iter()
                .chain([&manifest["config"]])
                .filter_map(|part| part["digest"].as_str());
            kept.extend(parts.chain([digest]).map(|digest| self.blob(digest)));
        }
        for entry in fs::read_dir(self.blobs()).into_iter().flatten().flatten() {
            if !kept.contains(&entry.path()) {
                // A file that remains only takes space.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Writes an image as one archive, which `docker load` reads and which is also a layout.
    ///
    /// # Errors
    /// An image of another store; a read or write error.
    pub fn archive(&self, image: &Image, out: impl Write) -> io::Result<()> {
        self.write_archive(image, None, out)
    }

    /// Writes the archive under another name, by which containerd knows the image as well.
    ///
    /// # Errors
    /// An image of another store; a read or write error.
    pub(crate) fn archive_as(&self, image: &Image, name: &str, out: impl Write) -> io::Result<()> {
        self.write_archive(image, Some(name), out)
    }

    fn write_archive(&self, image: &Image, name: Option<&str>, out: impl Write) -> io::Result<()> {
        let missing =
            || io::Error::other(format!("{} is not in {}", image.reference, self.folder.display()));
        let is_it = |entry: &Value| {
            entry["digest"] == image.digest.as_str()
                && entry["annotations"][NAME] == image.reference.as_str()
        };
        let mut entry = self.entries().into_iter().find(is_it).ok_or_else(missing)?;
        if let Some(name) = name {
            // It reads the layout if there is one, and accepts only names of registries.
            entry["annotations"] =
                json!({NAME: name, CONTAINERD_NAME: format!("docker.io/{name}")});
        }
        let name = name.unwrap_or(&image.reference);
        let config = image.config.as_deref().ok_or_else(missing)?;
        let place = |digest: &str| format!("blobs/sha256/{}", digest.trim_start_matches("sha256:"));
        let layers: Vec<String> = image.layers.iter().map(|layer| place(&layer.digest)).collect();
        let mut tree = Tree::default();
        for digest in
            image.layers.iter().map(|layer| layer.digest.as_str()).chain([config, &image.digest])
        {
            tree.add(&self.blob(digest), &place(digest)).map_err(io::Error::other)?;
        }
        tree.text("oci-layout", LAYOUT);
        tree.text("index.json", index_of(&[entry]).to_string());
        tree.text(
            "manifest.json",
            json!([{"Config": place(config), "RepoTags": [name], "Layers": layers}]).to_string(),
        );
        tree.write_archive(out)
    }
}

fn index_of(entries: &[Value]) -> Value {
    json!({"schemaVersion": 2, "mediaType": OF_INDEX, "manifests": entries})
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be written: {error}", path.display())
}

/// Writes bytes, and hashes them.
struct Hashed<W> {
    out: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.out.write(bytes)?;
        self.hash.update(&bytes[..length]);
        self.bytes += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(archive: &[u8]) -> BTreeMap<String, Value> {
        let mut archive = tar::Archive::new(archive);
        let document = |mut entry: tar::Entry<'_, &[u8]>| {
            let name = entry.path().unwrap().to_string_lossy().into_owned();
            Some((name, serde_json::from_reader(&mut entry).ok()?))
        };
        archive.entries().unwrap().map(Result::unwrap).filter_map(document).collect()
    }

    #[test]
    fn archive_under_another_name_has_the_same_image() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let mut tree = Tree::default();
        tree.text("app/a", "a");
        let layer = store.keep_layer("files", &tree).unwrap();
        let described = Described {
            reference: "faceoff/a:latest".into(),
            labels: BTreeMap::new(),
            env: BTreeMap::new(),
            folder: "/app".into(),
            command: None,
            ports: vec![],
            sources: vec![],
        };
        let image = store.keep_image(described, vec![layer]).unwrap();
        let (mut one, mut other) = (Vec::new(), Vec::new());
        store.archive(&image, &mut one).unwrap();
        store.archive_as(&image, "faceoff/a:latest-0123", &mut other).unwrap();
        let (one, other) = (documents(&one), documents(&other));
        assert_eq!(one["manifest.json"][0]["RepoTags"], json!(["faceoff/a:latest"]));
        assert_eq!(other["manifest.json"][0]["RepoTags"], json!(["faceoff/a:latest-0123"]));
        let (plain, named) =
            (&one["index.json"]["manifests"][0], &other["index.json"]["manifests"][0]);
        assert_eq!(plain["annotations"], json!({NAME: "faceoff/a:latest"}));
        assert_eq!(named["annotations"][CONTAINERD_NAME], "docker.io/faceoff/a:latest-0123");
        assert_eq!(
            (&plain["digest"], &named["digest"]),
            (&json!(image.digest), &json!(image.digest))
        );
        let manifest = format!("blobs/sha256/{}", image.digest.trim_start_matches("sha256:"));
        assert_eq!(one[&manifest], other[&manifest]);
    }
}
