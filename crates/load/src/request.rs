//! What requests say.

use crate::check::{Asked, Expected};
use crate::plan::{Protocol, Target};
use model::workload::{Step, Workload};

/// A workload prepared for a target.
pub struct Script {
    steps: Vec<Prepared>,
}

/// What one user has found out so far.
#[derive(Clone, Debug, Default)]
pub struct Vars;

struct Prepared {
    name: String,
    is_head: bool,
    expected: Expected,
    http1: Vec<u8>,
    http2: (Vec<u8>, Vec<u8>),
}

impl Script {
    /// Prepares every step.
    pub fn new(workload: &Workload, target: &Target, _seed: u64, _thread: u32, _threads: u32) -> Script {
        let steps = workload
            .steps
            .iter()
            .map(|step| Prepared {
                name: format!("{} {}", step.method, step.path),
                is_head: step.method == "HEAD",
                expected: Expected::of(step),
                http1: http1(step, target),
                http2: http2(step, target),
            })
            .collect();
        Script { steps }
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether a step takes something from an answer.
    pub fn has_captures(&self) -> bool {
        false
    }

    /// What a new user knows.
    pub fn vars(&self) -> Vars {
        Vars
    }

    /// Draws what is used in one pass over all steps.
    pub fn begin_round(&mut self, _vars: &mut Vars, _user: u32) {}

    /// Adds the bytes of a step's request.
    #[inline]
    pub fn write_http1(&self, step: usize, _vars: &Vars, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.steps[step].http1);
    }

    /// Replaces a header block and a body by those of a step's request.
    pub fn write_http2(&self, step: usize, _vars: &Vars, block: &mut Vec<u8>, body: &mut Vec<u8>) {
        let (prepared_block, prepared_body) = &self.steps[step].http2;
        block.clear();
        block.extend_from_slice(prepared_block);
        body.clear();
        body.extend_from_slice(prepared_body);
    }

    /// How the answer to a step is checked.
    #[inline]
    pub fn asked<'a>(&'a mut self, step: usize, vars: &'a mut Vars) -> Asked<'a> {
        let Prepared { expected, is_head, .. } = &mut self.steps[step];
        Asked { expected, vars, is_head: *is_head }
    }

    /// `GET /path`, for messages.
    pub fn name(&self, step: usize) -> &str {
        &self.steps[step].name
    }
}

fn http1(step: &Step, target: &Target) -> Vec<u8> {
    let mut bytes = format!("{} {} HTTP/1.1\r\nHost: {}\r\n", step.method, step.path, target.host).into_bytes();
    for (name, value) in &step.headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    if target.protocol == (Protocol::Http1 { keep_alive: false }) {
        bytes.extend_from_slice(b"Connection: close\r\n");
    }
    let body = step.body.as_deref().unwrap_or_default();
    if step.body.is_some() || matches!(step.method.as_str(), "POST" | "PUT" | "PATCH") {
        bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

fn http2(step: &Step, target: &Target) -> (Vec<u8>, Vec<u8>) {
    let mut block = Vec::new();
    let scheme = if target.tls.is_some() { "https" } else { "http" };
    let headers = step.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    crate::http2::encode_head(&mut block, &step.method, scheme, &target.host, &step.path, headers);
    (block, step.body.clone().unwrap_or_default().into_bytes())
}
