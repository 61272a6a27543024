//! Builds, measures and starts the test services. Start with [`Services::build`].

use crate::plan::{Change, Language};
use runner::cpus::usable;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The built services.
pub struct Services {
    folder: PathBuf,
    /// The CPU of the services.
    cpu: usize,
}

/// A service that runs. It is ended on drop.
pub struct Started {
    child: Child,
    port: u16,
}

/// What a function does and costs in each request.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCost {
    pub name: String,
    pub rounds: u64,
    pub ns: f64,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

impl Started {
    pub fn url(&self) -> String {
        format!("http://{}/", self.address())
    }

    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Services {
    /// Builds the services of these languages into a folder.
    pub fn build(
        samples: &Path,
        folder: &Path,
        languages: &[Language],
    ) -> Result<Services, String> {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
        // The last one, as faceoff has the first one for its load generator.
        let cpu = usable().last().copied().unwrap_or(0);
        let services = Services { folder, cpu };
        for language in languages {
            services.build_one(samples, *language)?;
        }
        Ok(services)
    }

    fn build_one(&self, samples: &Path, language: Language) -> Result<(), String> {
        let source = |file: &str| samples.join(file);
        let mut command = match language {
            Language::Go => {
                let mut go = Command::new("go");
                go.args(["build", "-o"]).arg(self.folder.join("go")).arg(source("service.go"));
                go
            }
            Language::Rust => {
                let mut rustc = Command::new("rustc");
                rustc.args(["--edition", "2024", "-O", "-C", "debuginfo=line-tables-only", "-o"]);
                rustc.arg(self.folder.join("rust")).arg(source("service.rs"));
                rustc
            }
            Language::Java => {
                let mut javac = Command::new("javac");
                javac.arg("-d").arg(self.folder.join("java")).arg(source("Service.java"));
                javac
            }
        };
        let output = command.output().map_err(|e| {
            let tool = command.get_program().to_string_lossy().into_owned();
            format!("{tool}: {e}\nhint: install it, or leave {} out", language.name())
        })?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("the {} service did not build\n{errors}", language.name()));
        }
        Ok(())
    }

    /// The command of a service on its CPU.
    fn command(&self, language: Language, change: Option<&Change>) -> Command {
        let mut command = Command::new("taskset");
        command.args(["-c", &self.cpu.to_string()]);
        match language {
            Language::Go => command.arg(self.folder.join("go")),
            Language::Rust => command.arg(self.folder.join("rust")),
            // Inlined code counts for the function that it was inlined into. The other languages
            // have an attribute in the source for that.
            Language::Java => command
                .args(["java", "-Xmx128m", "-XX:CompileCommand=quiet"])
                .args(["-XX:CompileCommand=dontinline,Service::*", "-cp"])
                .arg(self.folder.join("java"))
                .arg("Service"),
        };
        if let Some(Change { function, factor }) = change {
            command.args(["--function", function, "--factor", &factor.to_string()]);
        }
        command
    }

    /// Starts a service, and returns it when it listens.
    pub fn start(&self, language: Language, change: Option<&Change>) -> Result<Started, String> {
        let failed = |why: String| format!("the {} service did not start: {why}", language.name());
        let mut command = self.command(language, change);
        let child = command.stdout(Stdio::piped()).spawn().map_err(|e| failed(e.to_string()))?;
        let mut started = Started { child, port: 0 };
        let out = started.child.stdout.take().ok_or_else(|| failed("it has no output".into()))?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).map_err(|e| failed(e.to_string()))?;
        started.port = line.trim().parse().map_err(|_| failed(format!("it printed `{line}`")))?;
        Ok(started)
    }

    /// Returns what each function of a service costs in each request.
    pub fn costs(&self, language: Language) -> Result<Vec<FunctionCost>, String> {
        self.costs_with(language, None)
    }

    pub fn costs_with(
        &self,
        language: Language,
        change: Option<&Change>,
    ) -> Result<Vec<FunctionCost>, String> {
        let failed =
            |why: String| format!("the {} service was not measured: {why}", language.name());
        let mut command = self.command(language, change);
        let output = command.arg("--measure").output().map_err(|e| failed(e.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let costs: Option<Vec<FunctionCost>> = text.lines().map(parse_cost).collect();
        costs.filter(|all| output.status.success() && !all.is_empty()).ok_or_else(|| {
            failed(format!("{}\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr)))
        })
    }
}

/// Parses `hash_bytes 600 61234.5`.
fn parse_cost(line: &str) -> Option<FunctionCost> {
    let [name, rounds, ns] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
    Some(FunctionCost { name: name.to_owned(), rounds: rounds.parse().ok()?, ns: ns.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::HOT;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    /// Sends two requests over one connection, and returns what the service answers.
    fn two_answers(started: &Started) -> String {
        let mut connection = TcpStream::connect(("127.0.0.1", started.port)).unwrap();
        let request = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
        connection.write_all(request.as_bytes()).unwrap();
        let mut answers = String::new();
        let mut bytes = [0; 4096];
        let mut sent = 1;
        while answers.matches("\"functions\":10}").count() < 2 {
            let length = connection.read(&mut bytes).unwrap();
            assert!(length > 0, "closed after {answers}");
            answers += &String::from_utf8_lossy(&bytes[..length]);
            if answers.matches("\"functions\":10}").count() == sent && sent < 2 {
                connection.write_all(request.as_bytes()).unwrap();
                sent += 1;
            }
        }
        answers
    }

    /// A service answers, and a change multiplies the work of its function and of no other.
    fn check(language: Language) {
        let folder = std::env::temp_dir().join(format!(
            "why-services-{}-{}",
            language.name(),
            std::process::id()
        ));
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/why");
        let services = Services::build(&samples, &folder, &[language]).unwrap();
        let change = Change { function: HOT[1], factor: 1.5 };
        for change in [None, Some(&change)] {
            let answers = two_answers(&services.start(language, change).unwrap());
            assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2, "{answers}");
            assert_eq!(answers.matches("{\"service\":\"why\",\"functions\":10}").count(), 2);
        }
        let plain = services.costs(language).unwrap();
        let changed = services.costs_with(language, Some(&change)).unwrap();
        assert_eq!(plain.len(), 10);
        assert!(HOT.iter().zip(&plain).all(|(hot, cost)| cost.name == *hot && cost.ns > 0.0));
        for (before, after) in plain.iter().zip(&changed) {
            let factor = if before.name == HOT[1] { 1.5 } else { 1.0 };
            assert_eq!(after.rounds as f64, before.rounds as f64 * factor, "{}", before.name);
        }
        let unknown = Change { function: "no_function", factor: 2.0 };
        let refused = services.costs_with(language, Some(&unknown)).unwrap_err();
        assert!(refused.contains("unknown function no_function"), "{refused}");
        let _ = std::fs::remove_dir_all(folder);
    }

    #[test]
    fn rust_service_answers_and_does_what_its_flags_say() {
        check(Language::Rust);
    }

    #[test]
    #[ignore = "needs go"]
    fn go_service_answers_and_does_what_its_flags_say() {
        check(Language::Go);
    }

    #[test]
    #[ignore = "needs java"]
    fn java_service_answers_and_does_what_its_flags_say() {
        check(Language::Java);
    }
}
