//! The client side of HTTP/2 (RFC 9113) without I/O: encodes requests and reads responses, in
//! whatever pieces they arrive.
//!
//! [`Http2`] is the state of one connection. [`Http2::receive`] reads bytes and returns events.
//! [`Http2::begin`] (`sending`) writes a request as far as the server's windows permit. `responses`
//! handles frames that belong to a response, `ending` those that end streams, and `hpack`
//! compresses headers.

mod ending;
mod fields;
mod frame;
pub(crate) mod hpack;
mod huffman;
mod responses;
mod sending;

pub(crate) use fields::is_forbidden;
#[cfg(test)]
pub(crate) use hpack::decode;
pub use hpack::encode;

use crate::answer::Event;
use crate::check::{Checking, Checks, Expected};
use frame::{HEAD, Head, PAYLOAD_MAX};
use hpack::{Decoder, LIST_MAX};

/// The receive window of a stream, in bytes.
const STREAM_WINDOW: u32 = 16 << 20;
/// The receive window of the connection, in bytes.
const CONNECTION_WINDOW: u32 = 1 << 30;
/// The initial size of all windows before any frame changes it.
const WINDOW_INITIAL: u32 = 65_535;
const WINDOW_MAX: i64 = (1 << 31) - 1;
const WINDOW_TOO_LARGE: &str = "a window larger than 2^31-1 bytes";
const STREAM_ID_MAX: u32 = (1 << 31) - 1;
/// Streams opened before the server announces its limit. It might refuse more.
const STREAMS_INITIAL: u32 = 1;
/// The largest number of reply bytes to control frames (PING, SETTINGS) that the server may leave
/// unread. One read from the socket causes fewer.
const REPLIES_MAX: usize = 128 << 10;
/// If more reply bytes than this are unsent, they are sent before more is read.
const REPLIES_MANY: usize = 16 << 10;
/// The largest number of frames in one header block. Enough for the longest block in frames of a
/// reasonable size.
const BLOCK_FRAMES_MAX: u32 = 32;
/// Announces a dynamic table of size 0 at the start of a header block (RFC 7541, 6.3).
const NO_TABLE: u8 = 0x20;
/// The largest size of the table that finds streams.
const RECENT_MAX: u32 = 4_096;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS_HEADER_TABLE_SIZE: u16 = 1;
const SETTINGS_ENABLE_PUSH: u16 = 2;
const SETTINGS_MAX_CONCURRENT_STREAMS: u16 = 3;
const SETTINGS_INITIAL_WINDOW_SIZE: u16 = 4;
const SETTINGS_MAX_FRAME_SIZE: u16 = 5;
const SETTINGS_MAX_HEADER_LIST_SIZE: u16 = 6;

/// The state of one connection.
pub struct Http2 {
    /// The largest number of streams: as configured, and as the server permits.
    depth: u32,
    allowed: u32,
    next_id: u32,
    /// Streams in slots that are reused with their buffers. An `id` of 0 means free.
    streams: Vec<Stream>,
    free: Vec<u32>,
    /// The slot of the last stream opened, by the low bits of its id.
    recent: Box<[u32]>,
    /// Slots of streams whose bodies wait for a window, oldest first.
    sending: Vec<u32>,
    /// The send windows: of the connection, and of a new stream.
    send_window: i64,
    initial_send_window: i64,
    /// Bytes received that are not credited back yet.
    uncredited: u32,
    decoder: Decoder,
    /// The size that the server permits for our dynamic table.
    table_size: u32,
    /// Whether the size was lowered. Then the next block must announce the new one. We announce 0,
    /// because we do not use the table.
    table_shrinks: bool,
    /// What the last decoded list contains, if it was a head.
    head: Option<(u16, Option<u64>)>,
    /// A header block that continues in further frames.
    block: Option<Block>,
    block_text: Vec<u8>,
    /// A frame that has not arrived completely.
    partial: Vec<u8>,
    /// Bytes of control frames that are written but not sent.
    replies: usize,
    /// Bytes that were sent and removed from the output.
    dropped: u64,
    /// Why the server takes no further requests, from its GOAWAY.
    goaway: Option<String>,
    /// The highest stream that we gave up. The server may still send frames on these streams, from
    /// before it knew.
    given_up_to: u32,
    /// Whether the server's first SETTINGS arrived.
    greeted: bool,
    closing: bool,
}

#[derive(Default)]
struct Stream {
    id: u32,
    ticket: u32,
    /// The status of the final head, or 0 before it.
    status: u16,
    checking: Checking,
    /// The number of interim responses.
    interim: u8,
    /// Where the request starts, counted in all bytes of the connection.
    begins_at: u64,
    /// Bytes received, including framing.
    bytes: u64,
    /// Bytes of the body that are still to come, if the head says how many.
    left: Option<u64>,
    uncredited: u32,
    send_window: i64,
    /// The request's body and how much of it was sent. Empty once all is sent.
    body: Vec<u8>,
    sent: usize,
}

#[derive(Clone, Copy)]
struct Block {
    stream: u32,
    ends_stream: bool,
    frames: u32,
    bytes: u64,
}

/// Why the connection cannot be used any more, and the error code for the server.
struct Fatal {
    code: u32,
    why: String,
}

fn fatal<T>(code: u32, why: impl Into<String>) -> Result<T, Fatal> {
    Err(Fatal { code, why: why.into() })
}

/// What frames act on in addition to the connection.
struct Context<'a, Q> {
    checks: &'a mut Q,
    out: &'a mut Vec<u8>,
    events: &'a mut Vec<Event>,
}

impl Http2 {
    /// Creates a connection with at most `depth` streams.
    pub fn new(depth: u32) -> Http2 {
        Http2 {
            depth,
            allowed: STREAMS_INITIAL,
            next_id: 1,
            streams: Vec::new(),
            free: Vec::new(),
            recent: vec![0; depth.clamp(1, RECENT_MAX / 2).next_power_of_two() as usize * 2]
                .into_boxed_slice(),
            sending: Vec::new(),
            send_window: WINDOW_INITIAL.into(),
            initial_send_window: WINDOW_INITIAL.into(),
            uncredited: 0,
            decoder: Decoder::new(),
            table_size: hpack::TABLE_MAX as u32,
            table_shrinks: false,
            head: None,
            block: None,
            block_text: Vec::new(),
            partial: Vec::new(),
            replies: 0,
            dropped: 0,
            goaway: None,
            given_up_to: 0,
            greeted: false,
            closing: false,
        }
    }

    /// Writes the preface of a client. Call once, before anything else.
    pub fn start(&mut self, out: &mut Vec<u8>) {
        let mut settings = Vec::with_capacity(18);
        for (setting, value) in [
            (SETTINGS_ENABLE_PUSH, 0),
            (SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW),
            (SETTINGS_MAX_HEADER_LIST_SIZE, LIST_MAX as u32),
        ] {
            settings.extend_from_slice(&setting.to_be_bytes());
            settings.extend_from_slice(&value.to_be_bytes());
        }
        out.extend_from_slice(PREFACE);
        frame::write_frame(out, frame::SETTINGS, 0, 0, &settings);
        frame::write_frame(
            out,
            frame::WINDOW_UPDATE,
            0,
            0,
            &(CONNECTION_WINDOW - WINDOW_INITIAL).to_be_bytes(),
        );
    }

    /// Returns how many streams may be opened now.
    pub fn room(&self) -> u32 {
        if self.is_closing() {
            0
        } else {
            self.depth.min(self.allowed).saturating_sub(self.in_flight())
        }
    }

    /// Whether the connection takes no further request.
    pub fn is_closing(&self) -> bool {
        self.closing || self.next_id > STREAM_ID_MAX
    }

    /// Returns the number of streams in use.
    pub fn in_flight(&self) -> u32 {
        (self.streams.len() - self.free.len()) as u32
    }

    /// Records how many bytes were sent since the last call, and how many sent bytes were removed
    /// from the output.
    pub(crate) fn sent(&mut self, fresh: usize, dropped: usize) {
        self.replies = self.replies.saturating_sub(fresh);
        self.dropped += dropped as u64;
    }

    /// Whether many replies are unsent.
    pub(crate) fn has_many_replies(&self) -> bool {
        self.replies > REPLIES_MANY
    }

    /// Reads received bytes and writes replies.
    ///
    /// # Errors
    /// Why the connection cannot be used any more. Requests in flight get no response.
    pub fn receive(
        &mut self,
        input: &[u8],
        checks: &mut impl Checks,
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
        let result = self.read_frames(input, &mut Context { checks, out, events });
        result.map_err(|Fatal { code, why }| {
            self.closing = true;
            // The server opened no stream, so the last one is 0.
            frame::write_frame(out, frame::GOAWAY, 0, 0, &u64::from(code).to_be_bytes());
            why
        })
    }

    fn read_frames(
        &mut self,
        mut input: &[u8],
        context: &mut Context<'_, impl Checks>,
    ) -> Result<(), Fatal> {
        if !self.partial.is_empty() {
            let mut partial = std::mem::take(&mut self.partial);
            loop {
                let head = Head::parse(&partial);
                let wanted = match head {
                    None => HEAD,
                    Some(head) => HEAD + self.admit(head)?.length,
                };
                if let Some(head) = head
                    && partial.len() == wanted
                {
                    self.frame(head, &partial[HEAD..], context)?;
                    partial.clear();
                    self.partial = partial;
                    break;
                }
                let (more, rest) = input.split_at(input.len().min(wanted - partial.len()));
                if more.is_empty() {
                    self.partial = partial;
                    return Ok(());
                }
                partial.extend_from_slice(more);
                input = rest;
            }
        }
        while let Some(head) = Head::parse(input) {
            let end = HEAD + self.admit(head)?.length;
            let Some(payload) = input.get(HEAD..end) else { break };
            self.frame(head, payload, context)?;
            input = &input[end..];
        }
        self.partial.extend_from_slice(input);
        Ok(())
    }

    /// Rejects a frame that is invalid by its head alone.
    fn admit(&self, head: Head) -> Result<Head, Fatal> {
        if !self.greeted && (head.kind != frame::SETTINGS || head.has(frame::ACK)) {
            let is_http1 = head.length == 0x48_54_54 && head.kind == b'P';
            let why = if is_http1 {
                "the server answers in HTTP/1.1, not HTTP/2"
            } else {
                "the server does not speak HTTP/2"
            };
            return fatal(frame::PROTOCOL_ERROR, why);
        }
        if head.length > PAYLOAD_MAX {
            return fatal(frame::FRAME_SIZE_ERROR, "a frame larger than 16384 bytes");
        }
        Ok(head)
    }

    fn frame(
        &mut self,
        head: Head,
        payload: &[u8],
        context: &mut Context<'_, impl Checks>,
    ) -> Result<(), Fatal> {
        if let Some(block) = self.block
            && (head.kind != frame::CONTINUATION || head.stream != block.stream)
        {
            return fatal(frame::PROTOCOL_ERROR, "a header block that another frame interrupts");
        }
        match head.kind {
            frame::DATA => self.data(head, payload, context),
            frame::HEADERS => self.headers(head, payload, context),
            frame::CONTINUATION => self.continuation(head, payload, context),
            frame::WINDOW_UPDATE => self.window_update(head, payload, context),
            frame::SETTINGS => self.settings(head, payload, context.out),
            frame::RST_STREAM => self.rst_stream(head, payload, context),
            frame::PING => match (payload.len(), head.stream) {
                (8, 0) if head.has(frame::ACK) => Ok(()),
                (8, 0) => self.reply(frame::PING, frame::ACK, 0, payload, context.out),
                (8, _) => fatal(frame::PROTOCOL_ERROR, "a PING on a stream"),
                _ => fatal(frame::FRAME_SIZE_ERROR, "a PING that is not 8 bytes long"),
            },
            frame::GOAWAY => self.goaway(head, payload, context),
            frame::PUSH_PROMISE => {
                fatal(frame::PROTOCOL_ERROR, "a PUSH_PROMISE, though push was declined")
            }
            frame::PRIORITY if head.stream == 0 => {
                fatal(frame::PROTOCOL_ERROR, "a PRIORITY on no stream")
            }
            frame::PRIORITY if payload.len() != 5 => {
                fatal(frame::FRAME_SIZE_ERROR, "a PRIORITY that is not 5 bytes long")
            }
            // Unknown frames are ignored, because extensions may add them.
            _ => Ok(()),
        }
    }

    fn settings(&mut self, head: Head, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Fatal> {
        if head.stream != 0 {
            return fatal(frame::PROTOCOL_ERROR, "SETTINGS on a stream");
        }
        if !payload.len().is_multiple_of(6) || (head.has(frame::ACK) && !payload.is_empty()) {
            return fatal(frame::FRAME_SIZE_ERROR, "SETTINGS of an invalid length");
        }
        if head.has(frame::ACK) {
            return Ok(());
        }
        if !self.greeted {
            self.greeted = true;
            self.allowed = u32::MAX;
        }
        let mut window = self.initial_send_window;
        for setting in payload.chunks_exact(6) {
            let value = frame::number(&setting[2..]);
            match u16::from_be_bytes([setting[0], setting[1]]) {
                SETTINGS_ENABLE_PUSH if value != 0 => {
                    return fatal(frame::PROTOCOL_ERROR, "a server that enables push");
                }
                SETTINGS_HEADER_TABLE_SIZE => {
                    // The next block must announce this (RFC 7541, 4.2), even if the size is raised
                    // again before.
                    self.table_shrinks |= value < self.table_size;
                    self.table_size = value;
                }
                SETTINGS_MAX_CONCURRENT_STREAMS => self.allowed = value,
                SETTINGS_INITIAL_WINDOW_SIZE => window = value.into(),
                // Our frames are never larger than every server accepts.
                SETTINGS_MAX_FRAME_SIZE if !(PAYLOAD_MAX as u32..1 << 24).contains(&value) => {
                    return fatal(frame::PROTOCOL_ERROR, "an invalid SETTINGS_MAX_FRAME_SIZE");
                }
                _ => {}
            }
        }
        // Acknowledged before any DATA that the settings permit (RFC 9113, 6.5.3).
        self.reply(frame::SETTINGS, frame::ACK, 0, &[], out)?;
        let change = window - self.initial_send_window;
        if change != 0 {
            self.initial_send_window = window;
            let mut open = self.streams.iter_mut().filter(|stream| stream.id != 0);
            let overflows = open.any(|stream| {
                stream.send_window += change;
                stream.send_window > WINDOW_MAX
            });
            if overflows || window > WINDOW_MAX {
                return fatal(frame::FLOW_CONTROL_ERROR, WINDOW_TOO_LARGE);
            }
            self.send_more(out);
        }
        Ok(())
    }

    /// Writes a frame in reply to one of the server.
    fn reply(
        &mut self,
        kind: u8,
        flags: u8,
        stream: u32,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Fatal> {
        self.replies += HEAD + payload.len();
        if self.replies > REPLIES_MAX {
            return fatal(
                frame::ENHANCE_YOUR_CALM,
                "a flood of frames that need replies, which the server does not read",
            );
        }
        frame::write_frame(out, kind, flags, stream, payload);
        Ok(())
    }

    /// Returns the slot of an open stream, or `None` if it is closed.
    fn find_opened(&self, id: u32) -> Result<Option<usize>, Fatal> {
        if id == 0 || id.is_multiple_of(2) || id >= self.next_id {
            return fatal(frame::PROTOCOL_ERROR, "a frame on a stream that was never opened");
        }
        Ok(self.find(id))
    }

    /// Returns the slot of a stream for a frame of a response. Only open streams and those that we
    /// gave up may receive one.
    fn find_for_answer(&self, id: u32) -> Result<Option<usize>, Fatal> {
        match self.find_opened(id)? {
            None if id > self.given_up_to => {
                fatal(frame::STREAM_CLOSED, "a response that continues after its end")
            }
            slot => Ok(slot),
        }
    }

    #[inline]
    fn find(&self, id: u32) -> Option<usize> {
        let recent = self.recent[self.recent_at(id)] as usize;
        match self.streams.get(recent) {
            Some(stream) if stream.id == id => Some(recent),
            _ => self.streams.iter().position(|stream| stream.id == id),
        }
    }

    fn recent_at(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.recent.len() - 1)
    }

    /// Frees the slot of a stream. Returns its ticket.
    fn close(&mut self, slot: usize) -> u32 {
        let stream = &mut self.streams[slot];
        stream.id = 0;
        if !stream.body.is_empty() {
            stream.body.clear();
            self.sending.retain(|&sending| sending as usize != slot);
        }
        if stream.status != 0 {
            Expected::abandon(&mut stream.checking);
        }
        self.free.push(slot as u32);
        self.streams[slot].ticket
    }

    /// Closes a stream before the server knows.
    fn give_up(&mut self, slot: usize) -> u32 {
        self.given_up_to = self.given_up_to.max(self.streams[slot].id);
        self.close(slot)
    }
}

#[cfg(test)]
mod tests;
