#!/usr/bin/env python3
"""Writes the container image: the static command and nothing else, in OCI layout, as a tar.

The tar also has the manifest.json that older versions of `docker load` read, if it is for one
machine. Everything in it follows from the command, its version and the commit: the same input
gives the same bytes.
"""

import argparse
import hashlib
import io
import json
import os
import subprocess
import tarfile
import time
import tomllib

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
OCI = "application/vnd.oci.image"


def add(tar, name, data=None, mode=0o644):
    """Adds a file, or a folder if there are no data."""
    entry = tarfile.TarInfo(name)
    entry.mtime = EPOCH
    entry.mode = mode
    if data is None:
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
    else:
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))


def archive():
    """Begins a tar in memory."""
    out = io.BytesIO()
    return out, tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT)


def layer(binary):
    """The only layer: the command, and the two folders that it writes to as any user."""
    out, tar = archive()
    with tar:
        with open(binary, "rb") as file:
            add(tar, "faceoff", file.read(), 0o755)
        add(tar, "tmp", mode=0o1777)
        add(tar, "work", mode=0o1777)
    return out.getvalue()


class Blobs(dict):
    """Contents by their digest."""

    def keep(self, data, kind, **more):
        digest = hashlib.sha256(data).hexdigest()
        self[digest] = data
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data), **more}


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--output", required=True, metavar="TAR")
    asked.add_argument("--source", metavar="URL", help="where the sources are, for a label")
    asked.add_argument("binaries", nargs="+", metavar="MACHINE=FILE", help="x86_64 or aarch64")
    options = asked.parse_args()

    with open("Cargo.toml", "rb") as file:
        package = tomllib.load(file)["workspace"]["package"]
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    labels = {
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.description": "Measures which HTTP service is better",
        "org.opencontainers.image.licenses": package["license"],
        "org.opencontainers.image.revision": commit,
        "org.opencontainers.image.title": "faceoff",
        "org.opencontainers.image.version": package["version"],
    }
    if options.source:
        labels["org.opencontainers.image.source"] = options.source

    blobs, manifests, loadable = Blobs(), [], []
    reference = f"faceoff:{package['version']}"
    for machine, binary in (binary.split("=", 1) for binary in options.binaries):
        filled = blobs.keep(layer(binary), f"{OCI}.layer.v1.tar")
        platform = {"architecture": ARCHITECTURES[machine], "os": "linux"}
        config = {
            **platform,
            "created": created,
            "config": {"Entrypoint": ["/faceoff"], "Labels": labels, "WorkingDir": "/work"},
            "history": [{"created": created, "created_by": "scripts/release"}],
            "rootfs": {"type": "layers", "diff_ids": [filled["digest"]]},
        }
        kept = blobs.keep(as_json(config), f"{OCI}.config.v1+json")
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": kept,
            "layers": [filled],
            "annotations": labels,
        }
        manifests.append(
            blobs.keep(as_json(manifest), f"{OCI}.manifest.v1+json", platform=platform)
        )
        path = lambda kept: "blobs/sha256/" + kept["digest"].removeprefix("sha256:")
        loadable.append({"Config": path(kept), "RepoTags": [reference], "Layers": [path(filled)]})

    index = {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json"}
    if len(manifests) == 1:
        named = manifests[0]
    else:
        # Several machines under one name are an index of their own, which the outer one names.
        inner = as_json({**index, "manifests": manifests, "annotations": labels})
        named = blobs.keep(inner, f"{OCI}.index.v1+json")
    named["annotations"] = {
        "io.containerd.image.name": f"docker.io/library/{reference}",
        "org.opencontainers.image.ref.name": package["version"],
    }
    out, tar = archive()
    with tar:
        add(tar, "blobs", mode=0o755)
        add(tar, "blobs/sha256", mode=0o755)
        for digest in sorted(blobs):
            add(tar, f"blobs/sha256/{digest}", blobs[digest])
        add(tar, "index.json", as_json({**index, "manifests": [named]}))
        if len(manifests) == 1:
            add(tar, "manifest.json", as_json(loadable))
        add(tar, "oci-layout", as_json({"imageLayoutVersion": "1.0.0"}))
    with open(options.output, "wb") as file:
        file.write(out.getvalue())


EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
main()
