//! Folded stacks, the input of flamegraph.pl and inferno: one line for each stack, its functions
//! from the outermost inwards with `;` between them, then the number of samples.

use super::chosen;
use crate::escape::one_line;
use crate::export::source::Source;
use record::FrameKind;
use spec::problem::Problems;

/// Writes folded stacks. The thread is the outermost frame; with several contenders or cells, these
/// are in front of it. Frames of the kernel end in `_[k]` and those of a virtual machine's compiler
/// in `_[j]`, by which the tools colour them.
///
/// # Errors
/// There is no profile.
pub fn folded(source: &Source<'_>) -> Result<String, Problems> {
    let all = chosen(source)?;
    let mut text = String::new();
    for merged in &all {
        let outer = match all.len() {
            1 => String::new(),
            _ => format!("{};{};", part(&merged.contender.to_string()), part(merged.cell)),
        };
        for stack in merged.stacks.iter().filter(|stack| stack.samples > 0) {
            text += &format!("{outer}{}", part(&stack.thread));
            for at in &stack.frames {
                let frame = &merged.frames[*at as usize];
                let mark = match frame.kind {
                    FrameKind::Kernel => "_[k]",
                    FrameKind::Compiled => "_[j]",
                    FrameKind::Native | FrameKind::Interpreted => "",
                };
                text += &format!(";{}{mark}", part(&frame.name));
            }
            text += &format!(" {}\n", stack.samples);
        }
    }
    Ok(text)
}

/// Makes a name that cannot be taken for a separator. An empty one becomes `-`.
fn part(name: &str) -> String {
    match name {
        "" => "-".into(),
        name => one_line(name).replace(';', ":"),
    }
}
