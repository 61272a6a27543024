//! Names the functions at sampled places, when sampling has ended.
//!
//! Each module has its own source: symbols of a file, the kernel's list, the perf map of a virtual
//! machine. A source that is missing leaves functions without a name, never without their module,
//! and the reason is kept for a note. Start with [`Named::of`].

use super::elf::Elf;
use super::hotspot::{is_hotspot, write_perf_map};
use super::modules::{Code, Modules};
use super::spaces::Place;
use super::symbols::{self, Symbols};
use super::{names, perf_map};
use record::{Frame, FrameKind};
use std::collections::HashMap;

/// What is missing from stacks of Java without an option.
const NO_JAVA_CALLERS: &str = "Callers of compiled Java methods are missing from many stacks, because the virtual machine \
     keeps no frame pointers. Innermost methods are right. For the callers set `runtime_options = \
     true` in [profile], or start it with -XX:+PreserveFramePointer.";

/// The functions at places.
pub(super) struct Named {
    /// A frame for each place, in the same order.
    pub frames: Vec<Frame>,
    /// Why functions of a module have no name, by the module's number.
    pub reasons: HashMap<u32, String>,
    /// What is wrong with a module's source of names, by the module's number.
    pub problems: Vec<(u32, String)>,
}

impl Named {
    /// Names these places.
    pub fn of(places: &[Place], modules: &Modules) -> Named {
        let mut by_module: HashMap<u32, Vec<usize>> = HashMap::new();
        for (at, (module, _)) in places.iter().enumerate() {
            by_module.entry(*module).or_default().push(at);
        }
        let nameless = |(module, _): &Place| Frame {
            function: None,
            module: modules.get(*module).name.clone(),
            kind: FrameKind::Native,
        };
        let frames = places.iter().map(nameless).collect();
        let mut named = Named { frames, reasons: HashMap::new(), problems: Vec::new() };
        for (module, mut members) in by_module {
            members.sort_unstable_by_key(|at| places[*at].1);
            named.name_module(module, &members, places, modules);
        }
        named
    }

    /// Names the places of one module; `members` are their numbers, sorted by address.
    fn name_module(&mut self, number: u32, members: &[usize], places: &[Place], modules: &Modules) {
        let reason = match &modules.get(number).code {
            Code::Kernel => {
                members.iter().for_each(|at| self.frames[*at].kind = FrameKind::Kernel);
                let reason = "the kernel hides its symbols; set kernel.kptr_restrict to 0";
                self.apply(&symbols::kernel(), members, places, reason)
            }
            Code::File { elf, .. } => self.name_file(elf, members, places),
            Code::Unreadable(reason) => reason.clone(),
            Code::Unknown => "the processes ended before they could be read".to_owned(),
            Code::Compiled { pid } => self.name_compiled(number, *pid, members, places),
        };
        self.reasons.insert(number, reason);
    }

    fn name_file(&mut self, elf: &Elf, members: &[usize], places: &[Place]) -> String {
        self.apply(&elf.symbols(), members, places, "it has no symbols (it is stripped)")
    }

    /// Returns why functions without a name have none.
    fn apply(
        &mut self,
        symbols: &Symbols,
        members: &[usize],
        places: &[Place],
        if_empty: &str,
    ) -> String {
        for at in members {
            self.frames[*at].function = symbols.find(places[*at].1).map(names::function);
        }
        match symbols.is_empty() {
            true => if_empty.to_owned(),
            false => "its symbols do not include them".to_owned(),
        }
    }

    /// Names compiled code by the perf map of its process, which is written first if it is Java.
    fn name_compiled(
        &mut self,
        number: u32,
        pid: u32,
        members: &[usize],
        places: &[Place],
    ) -> String {
        members.iter().for_each(|at| self.frames[*at].kind = FrameKind::Compiled);
        // Keep the map until it is read.
        let written = is_hotspot(pid).then(|| write_perf_map(pid));
        let (path, own) = perf_map::path_of(pid);
        let addresses: Vec<u64> = members.iter().map(|at| places[*at].1).collect();
        let Some(map) = perf_map::open(&path) else {
            return match written {
                Some(Err(reason)) => reason,
                _ => format!(
                    "its process wrote no perf-{own}.map; set `runtime_options = true` in \
                     [profile], or start Node with --perf-basic-prof, Python with -X perf, .NET \
                     with DOTNET_PerfMapEnabled=3"
                ),
            };
        };
        let read = perf_map::read(map, &addresses);
        for (at, name) in members.iter().zip(read.found) {
            let Some(name) = name else { continue };
            let (function, kind) = names::compiled(&name);
            let frame = &mut self.frames[*at];
            (frame.function, frame.kind) = (Some(function), kind);
        }
        if let Some(Ok(written)) = &written
            && !written.keeps_frame_pointers
        {
            self.problems.push((number, NO_JAVA_CALLERS.to_owned()));
        }
        if read.unreadable > 0 {
            let lines = read.unreadable;
            self.problems
                .push((number, format!("{lines} lines of perf-{own}.map are unreadable.")));
        }
        if read.cut {
            let limit = perf_map::BYTES_MAX / 1_000_000;
            self.problems
                .push((number, format!("Only the first {limit} MB of perf-{own}.map were read.")));
        }
        match written {
            Some(Err(reason)) => reason,
            _ => format!("perf-{own}.map does not include them"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::modules::KERNEL;

    #[test]
    fn code_without_a_perf_map_keeps_its_module() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut modules = Modules::new();
        let compiled = modules.compiled_by(child.id());
        let named = Named::of(&[(compiled, 4096), (KERNEL, 1)], &modules);
        child.kill().unwrap();
        child.wait().unwrap();
        let frame = |module: &str, kind| Frame { function: None, module: module.into(), kind };
        assert_eq!(
            named.frames,
            [frame("jit", FrameKind::Compiled), frame("kernel", FrameKind::Kernel)]
        );
        assert!(named.reasons[&compiled].contains("--perf-basic-prof"), "{:?}", named.reasons);
    }
}
