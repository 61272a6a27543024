use crate::folder::{Folder, control};
use serde_json::Value;
use std::io::BufRead;
use std::process::{Command, Stdio};

const CURL: &str = "curl -X POST http://127.0.0.1:9/a -H 'X-A: b' -d c\n";

#[test]
fn a_command_line_becomes_a_workload_that_can_be_run() {
    let mut server = Command::new(control()).args(["--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    std::io::BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}", port.trim());
    let folder = Folder::new();
    let ran = folder.run(&["import", "--name", "mine", "--format", "json", "curl", "-H", "X-A: b", &url]);
    let came: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err));
    crate::by_schema::keeps_to("import", &came);
    assert_eq!((came["schema"].as_str(), came["lost"].as_array().map(Vec::len)), (Some("faceoff.import.v1"), Some(0)), "{came}");
    let line = came["workloads"][0]["command"].as_str().unwrap();
    let words: Vec<&str> = line.split(' ').skip(1).chain(["-n", "50", "--format", "json"]).collect();
    let ran = folder.run(&words);
    server.kill().unwrap();
    server.wait().unwrap();
    let measured: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {line}\n{}{}", ran.out, ran.err));
    assert_eq!(measured["counts"]["correct"], 50, "{line}\n{measured}");
}

#[test]
fn what_is_there_is_kept_and_what_is_lost_is_said() {
    let folder = Folder::new();
    let import = |arguments: &[&str], input: &str| {
        let output = folder.faceoff(arguments).write_stdin(input).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, out, err) = import(&["import", "-", "--name", "a"], CURL);
    assert!(code == Some(0) && out.contains("kind = \"closed\"") && out.contains("Everything was carried over"), "{out}{err}");
    let written = std::fs::read_to_string(folder.path().join("a.toml")).unwrap();
    assert!(written.starts_with("# Imported from -.\n") && written.contains("body = \"c\""), "{written}");
    let (code, _, err) = import(&["import", "-", "--name", "a"], CURL);
    assert!(code == Some(2) && err.contains("is there already") && err.contains("--force"), "{err}");
    let lossy = CURL.replace("-d c", "-d d -L");
    let (code, out, _) = import(&["import", "-", "--name", "a", "--force", "--strict"], &lossy);
    assert!(code == Some(3) && out.contains("Not carried over\n  -L: "), "{out}");
    assert!(std::fs::read_to_string(folder.path().join("a.toml")).unwrap().contains("body = \"d\""));
    let (_, out, err) = import(&["import", "-", "--name", "a", "--force", "--format", "json"], &lossy);
    let came: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    crate::by_schema::keeps_to("import", &came);
    assert_eq!(came["lost"][0]["what"], "-L", "{came}");
    let (code, _, err) = import(&["import", "-"], "nonsense");
    assert!(code == Some(2) && err.contains("hint: known are JMeter's plans"), "{err}");
    let (code, _, err) = import(&["import", "/no/such/file"], "");
    assert!(code == Some(2) && err.contains("cannot be read"), "{err}");
}

#[test]
fn no_file_but_those_beside_a_plan_is_copied_and_none_is_read_without_end() {
    let folder = Folder::new();
    folder.write("private.csv", "name\nana\n");
    folder.write("plans/own.csv", "name\nbob\n");
    let plan = |table: &str| {
        format!(
            "<jmeterTestPlan><hashTree><TestPlan/><hashTree><ThreadGroup><stringProp name=\"ThreadGroup.num_threads\">1</stringProp></ThreadGroup>\
             <hashTree><CSVDataSet><stringProp name=\"filename\">{table}</stringProp><stringProp name=\"delimiter\">,</stringProp></CSVDataSet><hashTree/>\
             <HTTPSamplerProxy><stringProp name=\"HTTPSampler.domain\">127.0.0.1</stringProp><stringProp name=\"HTTPSampler.path\">/${{name}}</stringProp>\
             </HTTPSamplerProxy><hashTree/></hashTree></hashTree></hashTree></jmeterTestPlan>"
        )
    };
    let absolute = folder.path().join("private.csv").display().to_string();
    for elsewhere in ["../private.csv", &absolute, "/dev/zero"] {
        folder.write("plans/p.jmx", &plan(elsewhere));
        folder.run(&["import", "plans/p.jmx", "--name", "a"]).expect(2).says("is not beside the plan").says("hint: put it beside the plan");
    }
    folder.write("plans/p.jmx", &plan("own.csv"));
    folder.run(&["import", "plans/p.jmx", "--name", "a"]).expect(0);
    folder.run(&["import", "--name", "b", "curl", "-d", "@/dev/zero", "http://127.0.0.1:9/"]).expect(2).says("it is no file, or longer");
}
