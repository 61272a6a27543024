//! Programs on runtimes that generate code or hide functions in an interpreter.
//!
//! Each has a function that takes nearly all of its time. Start with [`shares`].

use super::*;

/// The share of user samples in functions with a name, and that of the named function.
fn shares(sampled: &Sampled, function: &str) -> (f64, f64) {
    let share = |is_in: &dyn Fn(&Frame) -> bool| {
        let user = |stack: &&Stack| {
            innermost(sampled, stack).is_some_and(|frame| frame.kind != FrameKind::Kernel)
        };
        let user: Vec<&Stack> = sampled.stacks.iter().filter(user).collect();
        let counted = |stack: &&Stack| innermost(sampled, stack).is_some_and(is_in);
        let counted: Vec<&Stack> = user.iter().copied().filter(counted).collect();
        samples(&counted) as f64 / samples(&user).max(1) as f64
    };
    (share(&|frame| frame.function.is_some()), share(&|frame| is_called(frame, function)))
}

#[test]
#[ignore = "needs java and sampling"]
fn compiled_java_methods_are_named_and_no_map_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("Hot.java");
    let source = "public class Hot {
        static long spin(long n) {
            long s = 0; for (long i = 0; i < n; i++) s = s * 31 + (i ^ s); return s; }
        static long rounds() {
            long s = 0; for (int i = 0; i < 100000; i++) s += spin(100); return s; }
        public static void main(String[] a) { long s = 0; while (true) s += rounds(); }
    }";
    std::fs::write(&program, source).unwrap();
    for keeps in [false, true] {
        let sign = if keeps { '+' } else { '-' };
        let frame_pointers = format!("-XX:{sign}PreserveFramePointer");
        // So that the method has a frame of its own, which must be walked to find its caller.
        let never_inline = "-XX:CompileCommand=dontinline,Hot.spin";
        let options = ["-XX:CompileCommand=quiet", never_inline, &frame_pointers];
        let java = Ended::start(Command::new("java").args(options).arg(&program));
        java.wait_for_cpu(8 * ENOUGH_NS);
        let sampled = java.sample(2 * ENOUGH_NS);
        let (named, hot) = shares(&sampled, "Hot.spin");
        assert!(named > 0.9 && hot > 0.6, "{named} {hot} {:?} {:?}", sampled.notes, sampled.frames);
        let method = sampled.frames.iter().find(|frame| is_called(frame, "Hot.spin")).unwrap();
        assert_eq!((method.kind, method.module.as_str()), (FrameKind::Compiled, "jit"));
        let notes = sampled.notes.join(" ");
        let is_noted = notes.contains("Callers of compiled Java methods are missing");
        assert_eq!(is_noted, !keeps, "{notes}");
        let has_caller = sampled.frames.iter().any(|frame| is_called(frame, "Hot.rounds"));
        assert!(has_caller || !keeps, "{:?}", sampled.frames);
        let map = format!("/tmp/perf-{}.map", java.0.id());
        assert!(!Path::new(&map).exists(), "{map} is left");
    }
}

/// Samples a program in a script, and removes the map that its runtime writes.
fn sample_script(command: &mut Command) -> Sampled {
    let program = Ended::start(command);
    program.wait_for_cpu(2 * ENOUGH_NS);
    let sampled = program.sample(ENOUGH_NS);
    let maps = perf_maps(&target(program.0.id())[0]);
    drop(program);
    let removed = maps.iter().filter(|map| std::fs::remove_file(map).is_ok()).count();
    assert!(removed > 0, "{maps:?}");
    sampled
}

#[test]
#[ignore = "needs node and sampling"]
fn javascript_functions_are_named_with_an_option() {
    let script = "function spin(n) {
                      let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
                  let sum = 0; while (true) sum += spin(1000000);";
    let mut node = Command::new("node");
    let folder = tempfile::tempdir().unwrap();
    node.args(["-e", script]).env("NODE_OPTIONS", "--perf-basic-prof").current_dir(&folder);
    let sampled = sample_script(&mut node);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "no log is left");
    let functions = sampled.frames.iter().filter(|frame| frame.module == "jit");
    let named = functions.filter_map(|frame| frame.function.as_deref());
    assert!(named.clone().any(|name| name.starts_with("spin ")), "{:?}", sampled.frames);
}

#[test]
#[ignore = "needs python3.12 and sampling"]
fn python_functions_are_named_with_a_variable() {
    let script = "def spin(n):\n    s = 0\n    for i in range(n): s = (s * 31 + i) % 65521\n\
                  while True: spin(100000)\n";
    let program = || {
        let mut command = Command::new("python3.12");
        command.args(["-c", script]);
        command
    };
    let sampled = sample_script(program().env("PYTHONPERFSUPPORT", "1"));
    let is_named = |frame: &Frame| {
        frame.kind == FrameKind::Interpreted
            && frame.function.as_deref().is_some_and(|name| name.starts_with("spin:"))
    };
    assert!(sampled.frames.iter().any(is_named), "{:?}", sampled.frames);
    let without = Ended::start(&mut program());
    // `python3.12` may be a script that looks for the program and then becomes it.
    without.wait_for_cpu(2 * ENOUGH_NS);
    let without = without.sample(ENOUGH_NS);
    let notes = without.notes.join(" ");
    assert!(notes.contains("Functions in Python are not told apart"), "{notes}");
}

#[test]
#[ignore = "needs go and sampling"]
fn go_functions_are_named_with_and_without_symbols() {
    let folder = tempfile::tempdir().unwrap();
    let source = "package main\nvar sink uint64\n//go:noinline\nfunc spin(n uint64) (s uint64) { \
                  for i := uint64(0); i < n; i++ { s = s*31 + (i ^ s) }; return }\n\
                  func main() { for { sink += spin(1000000) } }\n";
    std::fs::write(folder.path().join("hot.go"), source).unwrap();
    for flags in ["", "-s -w"] {
        let build = ["build", "-o", "hot", "-ldflags", flags, "hot.go"];
        let built = Command::new("go").args(build).current_dir(folder.path()).status().unwrap();
        assert!(built.success());
        let program = Ended::start(&mut Command::new(folder.path().join("hot")));
        program.wait_for_cpu(ENOUGH_NS);
        let sampled = program.sample(ENOUGH_NS);
        let (named, hot) = shares(&sampled, "main.spin");
        assert!(named > 0.95 && hot > 0.8, "{flags}: {named} {hot} {:?}", sampled.notes);
        // It calls a function that sets up no frame pointer.
        let main = sampled.frames.iter().any(|frame| is_called(frame, "main.main"));
        assert!(main, "{:?}", sampled.frames);
    }
}
