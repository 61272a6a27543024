//! Runs systems as processes of this machine.

use crate::means::Means;
use crate::place::{Inside, Order, Runner, Started, Surroundings};
use crate::ports::pick_ports;
use crate::process::{Process, Spec, Stop};
use record::Failure;
use spec::image::Image;
use spec::system::{Contender, StopSignal};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

/// Starts systems as processes of this machine.
pub struct Processes {
    /// The address of this machine on which they listen.
    pub listen: Ipv4Addr,
}

impl Runner for Processes {
    fn provide(&self, _: &Contender, _: &Path, _: Means<'_>) -> Result<Option<Image>, Failure> {
        Ok(None)
    }

    fn inside(
        &self,
        contender: &Contender,
        around: &Surroundings<'_>,
        work: &Path,
    ) -> Result<Inside, String> {
        let mut texts = BTreeMap::new();
        if let Some(jdk) = around.tools.jvm(&contender.system) {
            texts.insert("java".into(), jdk.java().to_string_lossy().into_owned());
            texts.insert("java.home".into(), jdk.home.to_string_lossy().into_owned());
        }
        texts.insert("work".into(), work.to_string_lossy().into_owned());
        texts.insert("listen".into(), self.listen.to_string());
        let first = pick_ports(contender, self.listen, &mut texts)?;
        Ok(Inside { texts, address: SocketAddr::from((self.listen, first)), published: vec![] })
    }

    fn start(&self, order: &Order<'_>) -> Result<Box<dyn Started>, String> {
        let spec = Spec {
            command: order.command,
            folder: &order.contender.system.runs_in,
            env: order.env,
            cpus: order.around.cpus,
            descriptors: Some(order.descriptors),
            log: order.log,
            user: None,
            run: order.around.run,
        };
        Ok(Box::new(Process::start(&spec)?))
    }
}

impl Started for Process {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn started_ns(&self) -> u64 {
        self.started_ns
    }

    fn can_be_paused(&self) -> bool {
        true
    }

    fn ended(&mut self) -> Option<String> {
        Process::ended(self).map(|ended| ended.status.clone())
    }

    fn log(&self) -> &Path {
        Process::log(self)
    }

    fn last_lines(&self, most: usize) -> Vec<String> {
        Process::last_lines(self, most)
    }

    fn stop(self: Box<Self>, signal: StopSignal, within: Duration) -> Stop {
        Process::stop(*self, signal, within)
    }
}
