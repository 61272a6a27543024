//! Checks that this kernel can wait to the nanosecond, which measuring needs.

use crate::exit::Error;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::mem::MaybeUninit;

/// The first Linux whose event loops can wait to the nanosecond, with `epoll_pwait2`.
const NEEDED: (u32, u32) = (5, 11);

/// Refuses to measure if the kernel lacks the system call that the load generator waits with.
///
/// The system call decides, not the version: sandboxes report versions of their own and filter
/// system calls that their kernel has.
///
/// # Errors
/// If the system call is missing or forbidden, with the kernel's version.
pub fn check() -> Result<(), Error> {
    match wait_for_nothing() {
        Err(why @ (Errno::NOSYS | Errno::PERM)) => {
            let release = rustix::system::uname().release().to_string_lossy().into_owned();
            Err(Error::Failed(refusal(&release, why)))
        }
        // Anything else, such as no free descriptor, is reported by what needs it.
        _ => Ok(()),
    }
}

/// Makes the system call once, without waiting, and returns its error.
fn wait_for_nothing() -> Result<(), Errno> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut events = [MaybeUninit::uninit(); 1];
    epoll::wait(&poll, &mut events, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).map(|_| ())
}

/// Returns the message for a kernel, from what `uname -r` prints.
fn refusal(release: &str, why: Errno) -> String {
    let (major, minor) = NEEDED;
    if version(release).is_some_and(|version| version < NEEDED) {
        return format!(
            "faceoff needs Linux {major}.{minor} or newer, and this is Linux {release}\n\
             hint: measure on a machine or a virtual machine with a newer kernel; `judge`, \
             `report`, `export`, `audit` and `serve` work on this one"
        );
    }
    format!(
        "faceoff needs the system call epoll_pwait2 of Linux {major}.{minor}, and this Linux \
         {release} refuses it: {why}\n\
         hint: a sandbox or an old container engine forbids it; update that, or run faceoff \
         outside of it"
    )
}

/// Returns the first two numbers of a kernel's release, if it begins with them.
fn version(release: &str) -> Option<(u32, u32)> {
    let (major, rest) = release.trim().split_once('.')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distribution_releases_are_parsed() {
        for (release, expected) in [
            ("5.11.0", (5, 11)),
            ("5.10.0-28-amd64", (5, 10)),
            ("6.1.0+", (6, 1)),
            ("5.15.167.4-microsoft-standard-WSL2", (5, 15)),
            ("4.18.0-553.el8_10.x86_64", (4, 18)),
            ("7.0-rc3", (7, 0)),
            ("4.4\n", (4, 4)),
        ] {
            assert_eq!(version(release), Some(expected), "{release}");
        }
        for release in ["", "6", "weird", "a.b", ".11", "5.", "5.x", "-5.11", "99999999999.1"] {
            assert_eq!(version(release), None, "{release}");
        }
    }

    #[test]
    fn refusal_distinguishes_old_kernel_from_filtered_call() {
        let old = refusal("4.18.0-553.el8_10.x86_64", Errno::NOSYS);
        let expected =
            "faceoff needs Linux 5.11 or newer, and this is Linux 4.18.0-553.el8_10.x86_64";
        assert!(old.starts_with(&format!("{expected}\nhint: ")), "{old}");
        assert!(refusal("5.10.0-28-amd64", Errno::NOSYS).contains("5.11 or newer"));
        for release in ["5.11.0", "6.1.0+", "weird"] {
            let filtered = refusal(release, Errno::PERM);
            assert!(!filtered.contains("or newer, and this is"), "{filtered}");
            assert!(filtered.contains(&format!("this Linux {release} refuses it")), "{filtered}");
        }
    }

    #[test]
    fn kernel_of_test_machine_is_new_enough() {
        assert_eq!(wait_for_nothing(), Ok(()));
    }
}
