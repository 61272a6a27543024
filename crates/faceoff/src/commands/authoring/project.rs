//! Recognises the kind of project in a folder: how it is usually built, what the build produces,
//! and which JDK it needs.
//!
//! Each kind has a file that identifies it, such as `pom.xml`, and a function that reads it. Start
//! at [`recognise`].

use interop::import::xml::{self, Node};
use regex_lite::Regex;
use std::fs;
use std::path::Path;

/// A project of a known kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The file that identifies its kind.
    pub file: String,
    /// The build commands, separated by `;`, and the file that they produce, relative to the
    /// folder.
    pub build: Option<(String, String)>,
    /// The oldest JDK that it needs.
    pub jdk: Option<u32>,
}

/// Recognises the project in a folder, whose service the command `start` starts.
///
/// A file that the command names is taken as the product of the build.
pub fn recognise(folder: &Path, start: &[String]) -> Option<Project> {
    let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
    let known: [(&str, Kind); 7] = [
        ("pom.xml", maven),
        ("build.gradle.kts", gradle),
        ("build.gradle", gradle),
        ("go.mod", go),
        ("Cargo.toml", cargo),
        ("package.json", node),
        ("pyproject.toml", python),
    ];
    let found = known
        .into_iter()
        .find_map(|(file, of)| Some(of(&At { folder, start, file }, &read(file)?)));
    found.or_else(|| {
        let inside = fs::read_dir(folder)
            .ok()?
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let file = inside.filter(|name| name.ends_with(".csproj")).min()?;
        Some(dotnet(&At { folder, start, file: &file }))
    })
}

/// Reads a project from the text of the file that identifies its kind.
type Kind = fn(&At<'_>, &str) -> Project;

/// A folder with a project.
struct At<'a> {
    folder: &'a Path,
    start: &'a [String],
    file: &'a str,
}

impl At<'_> {
    fn has(&self, file: &str) -> bool {
        self.folder.join(file).exists()
    }

    /// Returns the file below one of these folders that the start command names.
    fn started(&self, below: &[&str]) -> Option<String> {
        let words = self.start.iter().map(|word| word.strip_prefix("./").unwrap_or(word));
        words
            .filter(|word| !word.contains("{port}"))
            .find(|word| below.iter().any(|sub| word.starts_with(sub)))
            .map(str::to_owned)
    }

    /// Returns the program that the start command names by a path below the folder.
    fn program(&self) -> Option<String> {
        let program = self.start.first()?;
        let path = program.strip_prefix("./").unwrap_or(program);
        (path != program || (path.contains('/') && !path.starts_with('/'))).then(|| path.to_owned())
    }

    fn folder_name(&self) -> String {
        let whole = self.folder.canonicalize().unwrap_or_else(|_| self.folder.to_owned());
        whole.file_name().map_or_else(|| "app".into(), |name| name.to_string_lossy().into_owned())
    }

    fn project(&self, build: Option<(String, String)>, jdk: Option<u32>) -> Project {
        Project { file: self.file.to_owned(), build, jdk }
    }
}

fn maven(at: &At<'_>, text: &str) -> Project {
    let Ok(root) = xml::parse_xml(text) else { return at.project(None, None) };
    let under = |path: &[&str]| text_of(path.iter().try_fold(&root, |node, tag| child(node, tag))?);
    let property = |name: &str| match name {
        "project.artifactId" => under(&["artifactId"]),
        "project.version" => under(&["version"]).or_else(|| under(&["parent", "version"])),
        name => under(&["properties", name]),
    };
    // A property may refer to another property.
    let filled = |text: String| (0..3).fold(text, |text, _| replaced(&text, &property));
    let of_compiler = |name: &str| deep(&root, "maven-compiler-plugin", name);
    let named = [
        "maven.compiler.release",
        "java.version",
        "maven.compiler.target",
        "maven.compiler.source",
    ];
    let level = of_compiler("release")
        .or_else(|| named.iter().find_map(|name| property(name)))
        .or_else(|| of_compiler("target"));
    let jdk = level.and_then(|level| feature(&filled(level)));
    let version = property("project.version").unwrap_or_default();
    let name = under(&["build", "finalName"])
        .or_else(|| Some(format!("{}-{version}", under(&["artifactId"])?)));
    let packaging = under(&["packaging"]).unwrap_or_else(|| "jar".into());
    let made = name
        .filter(|_| packaging != "pom")
        .map(|name| format!("target/{}.{packaging}", filled(name)));
    let made = at.started(&["target/"]).or(made).filter(|made| !made.contains("${"));
    let mvn = if at.has("mvnw") { "./mvnw" } else { "mvn" };
    at.project(made.map(|made| (format!("{mvn} -q -B package -DskipTests"), made)), jdk)
}

/// Replaces `${name}` by the value of the property, if it is known.
fn replaced(text: &str, property: &dyn Fn(&str) -> Option<String>) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, (name, after))) =
        rest.split_once("${").and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        done += before;
        done += &property(name).unwrap_or_else(|| format!("${{{name}}}"));
        rest = after;
    }
    done + rest
}

fn child<'n>(node: &'n Node, tag: &str) -> Option<&'n Node> {
    node.children.iter().find(|child| child.tag == tag)
}

fn text_of(node: &Node) -> Option<String> {
    Some(node.text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Finds a setting of a Maven plugin, at any depth.
fn deep(node: &Node, plugin: &str, setting: &str) -> Option<String> {
    if node.tag == "plugin"
        && child(node, "artifactId").and_then(text_of).as_deref() == Some(plugin)
    {
        return text_of(child(child(node, "configuration")?, setting)?);
    }
    node.children.iter().find_map(|child| deep(child, plugin, setting))
}

/// Parses a Java version: `21`, or `1.8` for 8.
fn feature(level: &str) -> Option<u32> {
    let level: u32 = level.strip_prefix("1.").unwrap_or(level).parse().ok()?;
    (8..=99).contains(&level).then_some(level)
}

fn gradle(at: &At<'_>, text: &str) -> Project {
    let first = |patterns: &[&str], text: &str| {
        let found = |pattern: &&str| {
            Regex::new(pattern).ok()?.captures(text)?.get(1).map(|found| found.as_str().to_owned())
        };
        patterns.iter().find_map(found)
    };
    let level = first(
        &[
            r"JavaLanguageVersion\.of\(\s*(\d+)",
            r"jvmToolchain\(\s*(\d+)",
            r"release(?:\.set\(|\s*=\s*)(\d+)",
            r#"(?:source|target)Compatibility\s*=?\s*(?:JavaVersion\.VERSION_|["'])?(?:1[._])?(\d+)"#,
        ],
        text,
    );
    let settings = ["settings.gradle.kts", "settings.gradle"]
        .iter()
        .find_map(|file| fs::read_to_string(at.folder.join(file)).ok());
    let name = settings
        .and_then(|text| first(&[r#"rootProject\.name\s*=\s*["']([^"']+)"#], &text))
        .unwrap_or_else(|| at.folder_name());
    let version = first(&[r#"(?m)^version\s*=?\s*["']([^"']+)"#], text)
        .map(|version| format!("-{version}"))
        .unwrap_or_default();
    let is_boot = text.contains("org.springframework.boot");
    let is_application = !is_boot
        && Regex::new(r#"(?m)^\s*(?:id[ (]*["'])?application(?:["')]+)?\s*$"#)
            .is_ok_and(|line| line.is_match(text));
    let (task, made) = match () {
        () if is_boot => ("bootJar", format!("build/libs/{name}{version}.jar")),
        () if is_application => ("installDist", format!("build/install/{name}/bin/{name}")),
        () => ("assemble", format!("build/libs/{name}{version}.jar")),
    };
    let gradle = if at.has("gradlew") { "./gradlew" } else { "gradle" };
    let made = at.started(&["build/"]).unwrap_or(made);
    at.project(Some((format!("{gradle} -q {task}"), made)), level.and_then(|level| feature(&level)))
}

fn go(at: &At<'_>, text: &str) -> Project {
    let module = text
        .lines()
        .find_map(|line| line.strip_prefix("module "))
        .map(str::trim)
        .unwrap_or_default();
    // A module's path may end in a version.
    let is_version =
        |part: &&str| part.strip_prefix('v').is_some_and(|rest| rest.parse::<u32>().is_ok());
    let name = module
        .rsplit('/')
        .find(|part| !is_version(part))
        .filter(|name| !name.is_empty())
        .unwrap_or("app");
    let made = at.program().unwrap_or_else(|| name.to_owned());
    let is_main = |folder: &Path| {
        let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut sources = files.filter(|path| path.extension().is_some_and(|kind| kind == "go"));
        sources.any(|path| {
            fs::read_to_string(path)
                .is_ok_and(|text| text.lines().any(|line| line.trim() == "package main"))
        })
    };
    let commands = fs::read_dir(at.folder.join("cmd"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut commands: Vec<_> = commands.filter(|path| is_main(path)).collect();
    commands.sort();
    let last_of = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let named = commands
        .iter()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy() == last_of(&made)));
    let of_command = |path: &std::path::PathBuf| {
        path.file_name().map(|name| format!("./cmd/{}", name.to_string_lossy()))
    };
    let package = match (is_main(at.folder), named, &commands[..]) {
        (_, Some(named), _) => of_command(named),
        (true, ..) => Some(".".to_owned()),
        (false, None, [only]) => of_command(only),
        _ => None,
    };
    at.project(package.map(|package| (format!("go build -o {made} {package}"), made)), None)
}

fn cargo(at: &At<'_>, text: &str) -> Project {
    let package = text.split("[package]").nth(1).and_then(|rest| rest.split("\n[").next());
    let name = package
        .and_then(|package| package.lines().find_map(|line| line.trim().strip_prefix("name")));
    let name = name.and_then(|rest| rest.split('"').nth(1)).map(str::to_owned);
    let made =
        at.started(&["target/release/"]).or_else(|| Some(format!("target/release/{}", name?)));
    let locked = if at.has("Cargo.lock") { " --locked" } else { "" };
    at.project(made.map(|made| (format!("cargo build --release{locked}"), made)), None)
}

fn node(at: &At<'_>, text: &str) -> Project {
    let package: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let (install, runs, kept) = match () {
        () if at.has("pnpm-lock.yaml") => {
            ("pnpm install --frozen-lockfile", "pnpm run build", "node_modules/.modules.yaml")
        }
        () if at.has("yarn.lock") => {
            ("yarn install --frozen-lockfile", "yarn run build", "node_modules/.yarn-integrity")
        }
        () if at.has("package-lock.json") => {
            ("npm ci", "npm run build", "node_modules/.package-lock.json")
        }
        () => ("npm install", "npm run build", "node_modules/.package-lock.json"),
    };
    let has = |key: &str| package[key].as_object().is_some_and(|all| !all.is_empty());
    let build = match (
        package["scripts"]["build"].is_string(),
        has("dependencies") || has("devDependencies"),
    ) {
        (true, _) => {
            let below = ["dist/", "build/", "out/", "lib/", ".next/", ".output/"];
            let main = package["main"]
                .as_str()
                .map(|main| main.strip_prefix("./").unwrap_or(main).to_owned());
            let main = main.filter(|main| below.iter().any(|sub| main.starts_with(sub)));
            Some((
                format!("{install}; {runs}"),
                at.started(&below).or(main).unwrap_or_else(|| "dist".into()),
            ))
        }
        (false, true) => Some((install.to_owned(), kept.to_owned())),
        (false, false) => None,
    };
    at.project(build, None)
}

fn python(at: &At<'_>, _: &str) -> Project {
    let build = if at.has("uv.lock") {
        "uv sync --frozen"
    } else {
        "python3 -m venv .venv; .venv/bin/pip install ."
    };
    at.project(Some((build.to_owned(), ".venv/pyvenv.cfg".to_owned())), None)
}

fn dotnet(at: &At<'_>) -> Project {
    let name = at.file.strip_suffix(".csproj").unwrap_or(at.file);
    let build = match at.started(&["bin/Release/"]) {
        Some(made) => ("dotnet build -c Release".to_owned(), made),
        None => (
            "dotnet publish -c Release -o out".to_owned(),
            at.started(&["out/"]).unwrap_or_else(|| format!("out/{name}.dll")),
        ),
    };
    at.project(Some(build), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is recognised of a folder with these files and this start command.
    fn recognised(files: &[(&str, &str)], start: &str) -> (Option<(String, String)>, Option<u32>) {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("orders");
        for (file, text) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let start: Vec<String> = start.split_whitespace().map(str::to_owned).collect();
        let found = recognise(&folder, &start);
        found.map_or((None, None), |project| (project.build, project.jdk))
    }

    fn built(command: &str, makes: &str) -> Option<(String, String)> {
        Some((command.to_owned(), makes.to_owned()))
    }

    #[test]
    fn maven_project_names_product_and_jdk() {
        let pom = |inside: &str| {
            format!(
                "<?xml version=\"1.0\"?><project><artifactId>shop</artifactId>{inside}</project>"
            )
        };
        let mvn = "mvn -q -B package -DskipTests";
        for (inside, start, makes, jdk) in [
            (
                "<version>1.2</version><properties><maven.compiler.release>21</maven.compiler.release></properties>",
                "java",
                "shop-1.2",
                Some(21),
            ),
            (
                "<parent><version>3</version></parent><properties><java.version>25</java.version></properties>",
                "java",
                "shop-3",
                Some(25),
            ),
            (
                "<version>1</version><properties><r>17</r></properties><build><finalName>${project.artifactId}</finalName><plugins><plugin>\
                 <artifactId>maven-compiler-plugin</artifactId><configuration><release>${r}</release></configuration></plugin></plugins></build>",
                "java",
                "shop",
                Some(17),
            ),
            (
                "<version>1</version><properties><maven.compiler.source>1.8</maven.compiler.source></properties>",
                "java",
                "shop-1",
                Some(8),
            ),
            ("<version>1</version>", "java -jar target/other.jar", "other", None),
        ] {
            assert_eq!(
                recognised(&[("pom.xml", &pom(inside))], start),
                (built(mvn, &format!("target/{makes}.jar")), jdk),
                "{inside}"
            );
        }
        let of_modules = pom(
            "<packaging>pom</packaging><properties><java.version>21</java.version></properties>",
        );
        assert_eq!(recognised(&[("pom.xml", &of_modules)], "java"), (None, Some(21)));
        assert_eq!(recognised(&[("pom.xml", "<project>")], "java"), (None, None));
        let with_wrapper = [("pom.xml", &*pom("<version>1</version>")), ("mvnw", "")];
        assert_eq!(
            recognised(&with_wrapper, "java").0,
            built("./mvnw -q -B package -DskipTests", "target/shop-1.jar")
        );
    }

    #[test]
    fn gradle_project_names_product_and_jdk() {
        let boot = "plugins { id 'org.springframework.boot' version '4.1.0' }\nversion = '0.1'\njava { toolchain { languageVersion = JavaLanguageVersion.of(21) } }";
        let settings = ("settings.gradle", "rootProject.name = 'shop'");
        assert_eq!(
            recognised(&[("build.gradle", boot), settings, ("gradlew", "")], "java"),
            (built("./gradlew -q bootJar", "build/libs/shop-0.1.jar"), Some(21))
        );
        let kotlin = "plugins {\n    application\n}\nkotlin { jvmToolchain(25) }";
        assert_eq!(
            recognised(&[("build.gradle.kts", kotlin)], "build/install/orders/bin/orders"),
            (built("gradle -q installDist", "build/install/orders/bin/orders"), Some(25))
        );
        for (line, jdk) in [
            ("sourceCompatibility = JavaVersion.VERSION_17", 17),
            ("sourceCompatibility = '21'", 21),
            ("targetCompatibility = JavaVersion.VERSION_1_8", 8),
            ("tasks.withType(JavaCompile) { options.release = 11 }", 11),
        ] {
            assert_eq!(
                recognised(&[("build.gradle", line)], "java"),
                (built("gradle -q assemble", "build/libs/orders.jar"), Some(jdk)),
                "{line}"
            );
        }
    }

    #[test]
    fn go_build_produces_started_command() {
        let module = ("go.mod", "module example.org/shop/v2\n\ngo 1.26\n");
        let main = "// A server.\npackage main\n";
        assert_eq!(
            recognised(&[module, ("main.go", main)], "go run .").0,
            built("go build -o shop .", "shop")
        );
        assert_eq!(
            recognised(&[module, ("main.go", main)], "./bin/server {port}").0,
            built("go build -o bin/server .", "bin/server")
        );
        let two = [module, ("cmd/api/main.go", main), ("cmd/job/main.go", main)];
        assert_eq!(recognised(&two, "./api").0, built("go build -o api ./cmd/api", "api"));
        assert_eq!(recognised(&two, "./server").0, None, "ambiguous: one of two commands");
        assert_eq!(
            recognised(&two[..2], "./server").0,
            built("go build -o server ./cmd/api", "server")
        );
    }

    #[test]
    fn other_projects_have_usual_build_commands() {
        let cargo = ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"1.0.0\"\n");
        assert_eq!(
            recognised(&[cargo, ("Cargo.lock", "")], "x").0,
            built("cargo build --release --locked", "target/release/shop")
        );
        assert_eq!(recognised(&[("Cargo.toml", "[workspace]\n")], "x").0, None);
        assert_eq!(
            recognised(&[("Cargo.toml", "[workspace]\n")], "./target/release/api --port {port}").0,
            built("cargo build --release", "target/release/api")
        );
        let typescript = r#"{"scripts":{"build":"tsc"},"main":"./dist/main.js","devDependencies":{"typescript":"5"}}"#;
        assert_eq!(
            recognised(&[("package.json", typescript), ("package-lock.json", "{}")], "node .").0,
            built("npm ci; npm run build", "dist/main.js")
        );
        assert_eq!(
            recognised(&[("package.json", r#"{"dependencies":{"express":"5"}}"#)], "node app.js").0,
            built("npm install", "node_modules/.package-lock.json")
        );
        assert_eq!(recognised(&[("package.json", "{}")], "node app.js").0, None);
        assert_eq!(
            recognised(&[("pyproject.toml", ""), ("uv.lock", "")], "x").0,
            built("uv sync --frozen", ".venv/pyvenv.cfg")
        );
        assert_eq!(
            recognised(&[("Shop.csproj", "")], "dotnet out/Shop.dll").0,
            built("dotnet publish -c Release -o out", "out/Shop.dll")
        );
        assert_eq!(recognised(&[("README.md", "")], "x"), (None, None));
    }
}
