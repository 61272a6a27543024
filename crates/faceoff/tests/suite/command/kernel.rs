//! A kernel that cannot measure, simulated by a system call filter.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// Runs faceoff with `epoll_pwait2` failing.
fn without_epoll_pwait2(error: i32, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
    command.args(arguments).current_dir(folder.path());
    // SAFETY: `refuse` only makes system calls, which a process may between fork and exec.
    unsafe { command.pre_exec(move || refuse(libc::SYS_epoll_pwait2, error)) };
    command.output().unwrap()
}

/// Makes a system call of this process and its children fail from now on.
fn refuse(call: libc::c_long, error: i32) -> std::io::Result<()> {
    let instruction = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let give = libc::BPF_RET | libc::BPF_K;
    let mut program = [
        // The number of the system call comes first in the data of a filter.
        instruction(load, 0, 0, 0),
        instruction(equal, 0, 1, call as u32),
        instruction(give, 0, 0, libc::SECCOMP_RET_ERRNO | error as u32),
        instruction(give, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: The program outlives the call, which copies it.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

#[test]
fn unsuitable_kernel_is_named() {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    for (error, cause) in [(libc::ENOSYS, "os error 38"), (libc::EPERM, "os error 1")] {
        let ran = without_epoll_pwait2(error, &["vs", "http://[::1]:1/", "http://[::1]:2/"]);
        let message = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{message}");
        let expected = format!(
            "error: faceoff needs the system call epoll_pwait2 of Linux 5.11, \
             and this Linux {release} refuses it: "
        );
        assert!(message.starts_with(&expected), "{message}");
        assert!(message.contains(cause) && message.contains("\nhint: "), "{message}");
        assert!(ran.stdout.is_empty());
    }
}

#[test]
fn every_command_that_sends_requests_is_refused() {
    for arguments in [
        &["load", "http://127.0.0.1:1/"][..],
        &["wrk", "http://127.0.0.1:1/"],
        &["run", "any"],
        &["check", "any"],
        &["agent"],
        &["selftest"],
        &["init"],
    ] {
        let ran = without_epoll_pwait2(libc::ENOSYS, arguments);
        let message = String::from_utf8(ran.stderr).unwrap();
        assert!(message.contains("epoll_pwait2"), "{arguments:?}: {message}");
        assert_eq!(ran.status.code(), Some(1), "{arguments:?}: {message}");
    }
}

#[test]
fn unsuitable_kernel_still_allows_judge_and_help() {
    assert!(without_epoll_pwait2(libc::ENOSYS, &["--help"]).status.success());
    let ran = without_epoll_pwait2(libc::ENOSYS, &["judge", "absent"]);
    let message = String::from_utf8(ran.stderr).unwrap();
    assert!(message.contains("absent") && !message.contains("epoll_pwait2"), "{message}");
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let ran = without_epoll_pwait2(libc::ENOSYS, &["audit", table]);
    assert!(!String::from_utf8(ran.stderr).unwrap().contains("epoll_pwait2"));
}
