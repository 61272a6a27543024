#!/usr/bin/env python3
"""Writes the bill of materials of the command, as CycloneDX 1.6 JSON, to standard output.

It has every crate that the command is compiled from (`required` if its code is in the command,
`excluded` if it only runs while building), the npm packages in the report page, and the Rust and
C libraries that are linked.
"""

import argparse
import base64
import json
import os
import re
import subprocess
import sys
import time
import tomllib
import uuid

CARGO = os.environ.get("CARGO", "cargo")
OURS = ["-p", "faceoff", "--features", "full"]
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def crates_in(target, edges):
    """Names and versions of the crates that cargo would compile."""
    tree = output(
        *[CARGO, "tree", "--locked", *OURS, "--target", target],
        *["--edges", edges, "--prefix", "none", "--no-dedupe", "--format", "{p}"],
    )
    return set(re.findall(r"^(\S+) v(\S+)", tree, re.MULTILINE))


def licence(expression):
    """The licence of a component; Cargo's old `MIT/Apache-2.0` means a choice."""
    return [{"expression": expression.replace("/", " OR ")}] if expression else []


def component(kind, name, version, more):
    made = {"type": kind, "name": name, "version": version}
    return made | {key: value for key, value in more.items() if value}


def rust(target):
    """Components of the crates, what each depends on, and the command's own component."""
    everything = crates_in(target, "normal,build")
    linked = crates_in(target, "normal,no-proc-macro")
    metadata = json.loads(
        output(
            *[CARGO, "metadata", "--locked", "--format-version", "1", "--filter-platform", target],
            *["--manifest-path", "crates/faceoff/Cargo.toml", "--features", "full"],
        )
    )
    with open("Cargo.lock", "rb") as file:
        locked = tomllib.load(file)["package"]
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in locked}
    packages = {
        p["id"]: p for p in metadata["packages"] if (p["name"], p["version"]) in everything
    }
    found = {(p["name"], p["version"]) for p in packages.values()}
    if found != everything:
        sys.exit(f"error: cargo metadata lacks {everything - found}\nhint: is Cargo.lock current?")

    def reference(package):
        return f"pkg:cargo/{package['name']}@{package['version']}"

    components, main = [], None
    for package in packages.values():
        key = (package["name"], package["version"])
        if package["source"] not in (None, REGISTRY):
            sys.exit(f"error: {key} comes from {package['source']}, which has no package URL here")
        more = {
            "bom-ref": reference(package),
            "description": (package["description"] or "").strip(),
            "licenses": licence(package["license"]),
            "scope": "required" if key in linked else "excluded",
            # Ours are in no registry.
            "purl": package["source"] and reference(package),
            "hashes": checksums[key] and [{"alg": "SHA-256", "content": checksums[key]}],
            "externalReferences": [
                {"type": "vcs", "url": package["repository"]},
            ]
            if package["repository"]
            else [],
        }
        if package["name"] == "faceoff":
            del more["scope"]
            main = component("application", *key, more)
        else:
            components.append(component("library", *key, more))
    needs = {}
    for node in metadata["resolve"]["nodes"]:
        if node["id"] in packages:
            kinds = lambda dep: {kind["kind"] for kind in dep["dep_kinds"]}
            needs[reference(packages[node["id"]])] = sorted(
                reference(packages[dep["pkg"]])
                for dep in node["deps"]
                if dep["pkg"] in packages and kinds(dep) & {None, "build"}
            )
    return components, needs, main


def npm():
    """Components of the report page: what package-lock.json has, without tools."""
    with open("web/package-lock.json") as file:
        packages = json.load(file)["packages"]
    shown = {
        path.rpartition("node_modules/")[2]: package
        for path, package in packages.items()
        if path and not package.get("dev")
    }
    components, needs = [], {}
    for name, package in shown.items():
        purl = f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
        algorithm, digest = package["integrity"].split("-", 1)
        more = {
            "bom-ref": purl,
            "licenses": licence(package.get("license")),
            "scope": "required",
            "purl": purl,
            "hashes": [
                {
                    "alg": {"sha512": "SHA-512", "sha1": "SHA-1"}[algorithm],
                    "content": base64.b64decode(digest).hex(),
                }
            ],
        }
        components.append(component("library", name, package["version"], more))
        needs[purl] = sorted(
            f"pkg:npm/{other.replace('@', '%40')}@{shown[other]['version']}"
            for other in package.get("dependencies", {})
        )
    return components, needs


def linked_libraries(target):
    """Rust's standard library and the C library, which are in the command as well."""
    release = output(os.environ.get("RUSTC", "rustc"), "--version").split()[1]
    standard = {
        "bom-ref": f"pkg:generic/rust@{release}",
        "licenses": licence("MIT OR Apache-2.0"),
        "scope": "required",
        "purl": f"pkg:generic/rust@{release}",
    }
    c, its_licence = ("musl", "MIT") if target.endswith("musl") else ("glibc", "LGPL-2.1-or-later")
    library = {"type": "library", "name": c, "bom-ref": f"pkg:generic/{c}", "scope": "required"}
    library |= {"licenses": licence(its_licence), "purl": f"pkg:generic/{c}"}
    return [component("library", "rust", release, standard), library]


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--target", required=True, metavar="TRIPLE")
    target = asked.parse_args().target
    crates, needs, command = rust(target)
    page, page_needs = npm()
    libraries = linked_libraries(target)
    report = next(c["bom-ref"] for c in crates if c["name"] == "report")
    needs |= page_needs
    # The report page is compiled into the crate of that name.
    needs[report] = sorted([*needs[report], *page_needs])
    needs[command["bom-ref"]] = sorted(
        [*needs[command["bom-ref"]], *(library["bom-ref"] for library in libraries)]
    )
    components = sorted([*crates, *page, *libraries], key=lambda c: c["bom-ref"])
    made = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime(
                "%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))
            ),
            "component": command,
            "properties": [{"name": "faceoff:target", "value": target}],
        },
        "components": components,
        "dependencies": [
            {"ref": ref, "dependsOn": on} if on else {"ref": ref}
            for ref, on in sorted(needs.items())
        ],
    }
    # From the contents, so that the same contents have the same number.
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(made, sort_keys=True))
    made["serialNumber"] = f"urn:uuid:{number}"
    json.dump(made, sys.stdout, indent=1, ensure_ascii=False)
    print()


main()
