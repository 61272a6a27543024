//! The pod of a start as a [`Started`]: how it ends, its output, and its stop.
//!
//! The stop is the difficult part: the cluster must neither replace the pod nor forget how it
//! ended. So its deployment is removed first, a watch opened, and only then the process ended.

use super::cluster::WITHIN;
use super::pod::{Pod, grace_seconds, keep};
use super::status;
use crate::cgroup;
use crate::place::{ScaledOut, SendTo, Started};
use crate::process::{Ended, Stop, as_signal};
use rustix::process::Signal;
use serde_json::Value;
use spec::system::StopSignal;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

impl Started for Pod {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn started_ns(&self) -> u64 {
        self.started_ns
    }

    fn ended(&mut self) -> Option<String> {
        if self.ended.is_none() {
            self.ended =
                if self.runs() { self.ended_of_others() } else { Some(self.learn_end(&self.pod)) };
        }
        self.ended.clone()
    }

    fn others(&self) -> Vec<u32> {
        self.others.iter().map(|replica| replica.pid).collect()
    }

    fn scale_out(
        &mut self,
        send: &SendTo<'_>,
        within: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<ScaledOut>, String> {
        self.start_replicas(send, within, stop)
    }

    fn log(&self) -> &Path {
        &self.log
    }

    fn last_lines(&self, most: usize) -> Vec<String> {
        self.last_output(most)
    }

    fn stop(mut self: Box<Self>, signal: StopSignal, within: Duration) -> Stop {
        // Its control group is removed with its first process.
        let pids = std::iter::once(self.pid).chain(self.others());
        let memory_kills: u64 =
            pids.filter_map(cgroup::own_usage).map(|usage| usage.memory_kills).sum();
        self.orphan();
        self.dismiss_others(grace_seconds(within));
        // The cluster knows its end and its output only while the pod exists. Version 0 is any
        // state that the cluster has at hand. The newest state may never come if no pod has
        // changed.
        let of_it = format!("watch=1&resourceVersion=0&fieldSelector=metadata.name%3D{}", self.pod);
        let watch = format!("{}?{of_it}", self.path("/api/v1", "pods", ""));
        let (watch, output) =
            (self.cluster.stream(&watch), self.cluster.stream(&self.log_path("follow=1")));
        let begin = load::clock::now_ns();
        // A cluster sends TERM only, and only when its kubelet gets to it.
        self.signal(as_signal(signal));
        let mut killed = false;
        if !self.await_end(within) {
            killed = true;
            self.signal(Signal::KILL);
            self.await_end(WITHIN);
        }
        let took_ns = load::clock::now_ns() - begin;
        // Removes it before the cluster starts it again.
        self.remove_pod();
        let status = match (self.ended.clone(), watch) {
            (Some(status), _) => status,
            (None, Ok(watch)) => read_end(watch, self.memory_bytes),
            (None, Err(why)) => format!("lost: {why}"),
        };
        if let Some(why) = status.strip_prefix("lost: ") {
            self.cluster.note(why);
        }
        if let Ok(output) = output {
            keep(output, &self.log);
        }
        self.remove();
        Stop { ended: Ended { status }, took_ns, killed, orphans: 0, memory_kills }
    }
}

/// Reads the events of a watch until the pod has ended, and returns how.
fn read_end(watch: impl Read, memory_bytes: Option<u64>) -> String {
    for line in BufReader::new(watch).lines().map_while(Result::ok) {
        let Ok(event) = serde_json::from_str::<Value>(&line) else { break };
        if let Some(status) = status::ended(&event["object"], memory_bytes) {
            return status;
        }
        match event["type"].as_str() {
            Some("DELETED") => break,
            Some("ERROR") => {
                return format!(
                    "lost: {}",
                    event["object"]["message"].as_str().unwrap_or_default()
                );
            }
            _ => {}
        }
    }
    "lost: the cluster does not report how".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_is_read_from_a_watch_wherever_it_is_cut() {
        let line = |kind: &str, state: &str| {
            format!(
                "{{\"type\":\"{kind}\",\"object\":{{\"status\":{{\"containerStatuses\":[{{\"state\":{state}}}]}}}}}}\n"
            )
        };
        let end = "{\"terminated\":{\"exitCode\":143,\"reason\":\"Error\"}}";
        let all = [line("ADDED", "{\"running\":{}}"), line("MODIFIED", end)].concat();
        assert_eq!(read_end(all.as_bytes(), None), "exit 143");
        let lost = "lost: the cluster does not report how";
        for cut in 0..all.len() - 1 {
            assert_eq!(read_end(&all.as_bytes()[..cut], None), lost, "cut at {cut}");
        }
        assert_eq!(read_end(line("DELETED", "{\"running\":{}}").as_bytes(), None), lost);
        let refused =
            "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"message\":\"too old\"}}\n";
        assert_eq!(read_end(refused.as_bytes(), None), "lost: too old");
    }
}
