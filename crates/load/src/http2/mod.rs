//! HTTP/2 as bytes, client side (RFC 9113): requests framed, answers read as they come, however
//! they are cut. No I/O.

mod frame;
pub(crate) mod hpack;
mod huffman;

#[cfg(test)]
pub(crate) use hpack::decode;
pub use hpack::encode;

use crate::answer::{Event, Finished};
use crate::check::{Checking, Expected, Questions};
use frame::{HEAD, Head, PAYLOAD_MAX};
use hpack::{Decoder, Fields, LIST_MAX};

/// What a server may send on a stream before it hears of us, in bytes.
const STREAM_WINDOW: u32 = 16 << 20;
/// The same for a connection.
const CONNECTION_WINDOW: u32 = 1 << 30;
/// Both, as they stand before anything is said; and the send windows likewise.
const WINDOW_UNASKED: u32 = 65_535;
const WINDOW_MAX: i64 = (1 << 31) - 1;
const STREAM_ID_MAX: u32 = (1 << 31) - 1;
/// Streams that are opened before the server says how many it takes: more might be refused.
const STREAMS_UNASKED: u32 = 1;
/// Most bytes of answers to what a server says about the connection (PING, SETTINGS) that it leaves unread.
const REPLIES_MAX: usize = 64 << 10;
/// Most frames of one header block: enough for the longest in frames of a fair size.
const BLOCK_FRAMES_MAX: u32 = 32;
/// Most places of the table that finds streams.
const RECENT_MAX: u32 = 4_096;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS_ENABLE_PUSH: u16 = 2;
const SETTINGS_MAX_CONCURRENT_STREAMS: u16 = 3;
const SETTINGS_INITIAL_WINDOW_SIZE: u16 = 4;
const SETTINGS_MAX_FRAME_SIZE: u16 = 5;
const SETTINGS_MAX_HEADER_LIST_SIZE: u16 = 6;

/// One connection's requests under way.
pub struct Http2 {
    /// Most streams of ours at once: as asked, and as the server allows.
    depth: u32,
    allowed: u32,
    next_id: u32,
    /// Places for streams, reused with their buffers; `id` 0: free.
    streams: Vec<Stream>,
    free: Vec<u32>,
    /// By a part of the id: the place of the stream that was opened last with it.
    recent: Box<[u32]>,
    /// Places of streams whose bodies wait for a window, oldest first.
    sending: Vec<u32>,
    /// What the server lets us send: on the connection, and on a new stream.
    send_window: i64,
    initial_send_window: i64,
    /// Bytes received that were not yet credited back.
    uncredited: u32,
    decoder: Decoder,
    /// What the list says that was decoded last, where it was a head.
    head: Option<(u16, Option<u64>)>,
    /// A header block that comes in several frames.
    block: Option<Block>,
    block_text: Vec<u8>,
    /// A frame that came in pieces.
    partial: Vec<u8>,
    /// Bytes of control frames written since everything had been sent.
    replies: usize,
    /// Up to this stream, frames may come late that the server sent before it heard that we had given up.
    given_up_to: u32,
    /// Whether the server's first SETTINGS came.
    greeted: bool,
    closing: bool,
}

#[derive(Default)]
struct Stream {
    id: u32,
    ticket: u32,
    /// Of the final head; 0 until it came.
    status: u16,
    checking: Checking,
    /// Bytes received, framing included.
    bytes: u64,
    /// Bytes of body to come, where the head says how many.
    left: Option<u64>,
    uncredited: u32,
    send_window: i64,
    /// The request's body, and how much of it was sent; empty when all was.
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

/// Why the connection is of no more use, and the error code that tells the server.
struct Fatal {
    code: u32,
    why: String,
}

fn fatal<T>(code: u32, why: impl Into<String>) -> Result<T, Fatal> {
    Err(Fatal { code, why: why.into() })
}

/// What frames act upon besides the connection.
struct Turn<'a, Q> {
    questions: &'a mut Q,
    out: &'a mut Vec<u8>,
    events: &'a mut Vec<Event>,
}

impl Http2 {
    /// A connection with at most so many streams of ours at once.
    pub fn new(depth: u32) -> Http2 {
        Http2 {
            depth,
            allowed: STREAMS_UNASKED,
            next_id: 1,
            streams: Vec::new(),
            free: Vec::new(),
            recent: vec![0; depth.clamp(1, RECENT_MAX / 2).next_power_of_two() as usize * 2].into_boxed_slice(),
            sending: Vec::new(),
            send_window: WINDOW_UNASKED.into(),
            initial_send_window: WINDOW_UNASKED.into(),
            uncredited: 0,
            decoder: Decoder::new(),
            head: None,
            block: None,
            block_text: Vec::new(),
            partial: Vec::new(),
            replies: 0,
            given_up_to: 0,
            greeted: false,
            closing: false,
        }
    }

    /// Writes what a client says first. Once, before anything else.
    pub fn start(&mut self, out: &mut Vec<u8>) {
        let mut settings = Vec::with_capacity(18);
        for (setting, value) in
            [(SETTINGS_ENABLE_PUSH, 0), (SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW), (SETTINGS_MAX_HEADER_LIST_SIZE, LIST_MAX as u32)]
        {
            settings.extend_from_slice(&setting.to_be_bytes());
            settings.extend_from_slice(&value.to_be_bytes());
        }
        out.extend_from_slice(PREFACE);
        frame::write(out, frame::SETTINGS, 0, 0, &settings);
        frame::write(out, frame::WINDOW_UPDATE, 0, 0, &(CONNECTION_WINDOW - WINDOW_UNASKED).to_be_bytes());
    }

    /// How many streams may be opened now.
    pub fn room(&self) -> u32 {
        if self.is_closing() { 0 } else { self.depth.min(self.allowed).saturating_sub(self.under_way()) }
    }

    /// Whether no further request can be made on the connection, ever.
    pub fn is_closing(&self) -> bool {
        self.closing || self.next_id > STREAM_ID_MAX
    }

    /// Streams under way.
    pub fn under_way(&self) -> u32 {
        (self.streams.len() - self.free.len()) as u32
    }

    /// Begins a request, given its header block, made by [`encode`], and its body. There must be [`Self::room`].
    pub fn begin(&mut self, ticket: u32, block: &[u8], body: &[u8], out: &mut Vec<u8>) {
        let id = self.next_id;
        self.next_id += 2;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.streams.push(Stream::default());
            self.streams.len() as u32 - 1
        });
        let place = self.recent_at(id);
        self.recent[place] = slot;
        let stream = &mut self.streams[slot as usize];
        (stream.id, stream.ticket, stream.send_window) = (id, ticket, self.initial_send_window);
        (stream.status, stream.bytes, stream.left, stream.uncredited) = (0, 0, None, 0);

        let ends_stream = if body.is_empty() { frame::END_STREAM } else { 0 };
        let (mut kind, mut flags) = (frame::HEADERS, ends_stream);
        let mut pieces = block.chunks(PAYLOAD_MAX).peekable();
        while let Some(piece) = pieces.next() {
            if pieces.peek().is_none() {
                flags |= frame::END_HEADERS;
            }
            frame::write(out, kind, flags, id, piece);
            (kind, flags) = (frame::CONTINUATION, 0);
        }
        if !body.is_empty() {
            let sent = self.send_body(slot, body, out);
            if sent < body.len() {
                let stream = &mut self.streams[slot as usize];
                stream.body.extend_from_slice(&body[sent..]);
                stream.sent = 0;
                self.sending.push(slot);
            }
        }
    }

    /// Gives a request up: no event will name it any more.
    pub fn cancel(&mut self, ticket: u32, out: &mut Vec<u8>) {
        if let Some(slot) = self.streams.iter().position(|s| s.id != 0 && s.ticket == ticket) {
            frame::write(out, frame::RST_STREAM, 0, self.streams[slot].id, &frame::CANCEL.to_be_bytes());
            self.give_up(slot);
        }
    }

    /// Reads received bytes; writes what is to be said in return.
    ///
    /// # Errors
    /// What makes the connection of no use; nothing more comes of the requests under way.
    pub fn receive(
        &mut self,
        input: &[u8],
        questions: &mut impl Questions,
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
        if out.is_empty() {
            self.replies = 0;
        }
        let result = self.read(input, &mut Turn { questions, out, events });
        result.map_err(|Fatal { code, why }| {
            self.closing = true;
            // The server opens no stream, so that the last one of its is 0.
            frame::write(out, frame::GOAWAY, 0, 0, &u64::from(code).to_be_bytes());
            why
        })
    }

    fn read(&mut self, mut input: &[u8], turn: &mut Turn<'_, impl Questions>) -> Result<(), Fatal> {
        if !self.partial.is_empty() {
            let mut partial = std::mem::take(&mut self.partial);
            loop {
                let head = Head::read(&partial);
                let wanted = match head {
                    None => HEAD,
                    Some(head) => HEAD + self.admit(head)?.length,
                };
                if let Some(head) = head
                    && partial.len() == wanted
                {
                    self.frame(head, &partial[HEAD..], turn)?;
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
        while let Some(head) = Head::read(input) {
            let end = HEAD + self.admit(head)?.length;
            let Some(payload) = input.get(HEAD..end) else { break };
            self.frame(head, payload, turn)?;
            input = &input[end..];
        }
        self.partial.extend_from_slice(input);
        Ok(())
    }

    /// Refuses a frame that its head alone shows to be wrong.
    fn admit(&self, head: Head) -> Result<Head, Fatal> {
        if !self.greeted && (head.kind != frame::SETTINGS || head.has(frame::ACK)) {
            let is_http1 = head.length == 0x48_54_54 && head.kind == b'P';
            let why = if is_http1 { "the server answers in HTTP/1.1, not HTTP/2" } else { "the server does not speak HTTP/2" };
            return fatal(frame::PROTOCOL_ERROR, why);
        }
        if head.length > PAYLOAD_MAX {
            return fatal(frame::FRAME_SIZE_ERROR, "a frame larger than 16384 bytes");
        }
        Ok(head)
    }

    fn frame(&mut self, head: Head, payload: &[u8], turn: &mut Turn<'_, impl Questions>) -> Result<(), Fatal> {
        if let Some(block) = self.block
            && (head.kind != frame::CONTINUATION || head.stream != block.stream)
        {
            return fatal(frame::PROTOCOL_ERROR, "a header block that another frame interrupts");
        }
        match head.kind {
            frame::DATA => self.data(head, payload, turn),
            frame::HEADERS => self.headers(head, payload, turn),
            frame::CONTINUATION => self.continuation(head, payload, turn),
            frame::WINDOW_UPDATE => self.window_update(head, payload, turn),
            frame::SETTINGS => self.settings(head, payload, turn.out),
            frame::RST_STREAM => self.rst_stream(head, payload, turn),
            frame::PING => match (payload.len(), head.stream) {
                (8, 0) if head.has(frame::ACK) => Ok(()),
                (8, 0) => self.reply(frame::PING, frame::ACK, 0, payload, turn.out),
                (8, _) => fatal(frame::PROTOCOL_ERROR, "a PING on a stream"),
                _ => fatal(frame::FRAME_SIZE_ERROR, "a PING that is not 8 bytes long"),
            },
            frame::GOAWAY => self.goaway(head, payload, turn),
            frame::PUSH_PROMISE => fatal(frame::PROTOCOL_ERROR, "a PUSH_PROMISE, though push was declined"),
            frame::PRIORITY if head.stream == 0 => fatal(frame::PROTOCOL_ERROR, "a PRIORITY on no stream"),
            frame::PRIORITY if payload.len() != 5 => fatal(frame::FRAME_SIZE_ERROR, "a PRIORITY that is not 5 bytes long"),
            // Unknown kinds are ignored: extensions are free to add them.
            _ => Ok(()),
        }
    }

    fn data(&mut self, head: Head, payload: &[u8], turn: &mut Turn<'_, impl Questions>) -> Result<(), Fatal> {
        let slot = self.find_for_answer(head.stream)?;
        let body = unpadded(head, payload)?;
        self.uncredited += payload.len() as u32;
        if self.uncredited >= CONNECTION_WINDOW / 2 {
            let credit = std::mem::take(&mut self.uncredited).to_be_bytes();
            self.reply(frame::WINDOW_UPDATE, 0, 0, &credit, turn.out)?;
        }
        let Some(slot) = slot else { return Ok(()) };
        let stream = &mut self.streams[slot];
        stream.bytes += (HEAD + payload.len()) as u64;
        if stream.status == 0 {
            return self.malformed(slot, "a body before its headers", turn);
        }
        if let Some(left) = &mut stream.left {
            match left.checked_sub(body.len() as u64) {
                Some(less) => *left = less,
                None => return self.malformed(slot, "a body longer than announced", turn),
            }
        }
        turn.questions.asked(stream.ticket).body(&mut stream.checking, body);
        if head.has(frame::END_STREAM) {
            return self.finish(slot, turn);
        }
        stream.uncredited += payload.len() as u32;
        if stream.uncredited >= STREAM_WINDOW / 2 {
            let credit = std::mem::take(&mut stream.uncredited).to_be_bytes();
            self.reply(frame::WINDOW_UPDATE, 0, head.stream, &credit, turn.out)?;
        }
        Ok(())
    }

    fn headers(&mut self, head: Head, payload: &[u8], turn: &mut Turn<'_, impl Questions>) -> Result<(), Fatal> {
        self.find_for_answer(head.stream)?;
        let mut text = unpadded(head, payload)?;
        if head.has(frame::WITH_PRIORITY) {
            match text.split_at_checked(5) {
                Some((_, rest)) => text = rest,
                None => return fatal(frame::FRAME_SIZE_ERROR, "a HEADERS too short for its priority"),
            }
        }
        let block =
            Block { stream: head.stream, ends_stream: head.has(frame::END_STREAM), frames: 1, bytes: (HEAD + payload.len()) as u64 };
        if head.has(frame::END_HEADERS) {
            return self.header_block(block, text, turn);
        }
        self.block = Some(block);
        self.block_text.clear();
        self.block_text.extend_from_slice(text);
        Ok(())
    }

    fn continuation(&mut self, head: Head, payload: &[u8], turn: &mut Turn<'_, impl Questions>) -> Result<(), Fatal> {
        let Some(block) = &mut self.block else {
            return fatal(frame::PROTOCOL_ERROR, "a CONTINUATION of nothing");
        };
        block.frames += 1;
        block.bytes += (HEAD + payload.len()) as u64;
        if block.frames > BLOCK_FRAMES_MAX || self.block_text.len() + payload.len() > LIST_MAX {
            return fatal(frame::ENHANCE_YOUR_CALM, "headers larger than 64 KiB, or in more than 32 frames");
        }
        self.block_text.extend_from_slice(payload);
        if !head.has(frame::END_HEADERS) {
            return Ok(());
        }
        let block = *block;
        self.block = None;
        let text = std::mem::take(&mut self.block_text);
        let result = self.header_block(block, &text, turn);
        self.block_text = text;
        result
    }

    fn header_block(&mut self, block: Block, text: &[u8], turn: &mut Turn<'_, impl Questions>) -> Result<(), Fatal> {
        // Also for a stream that was given up: later blocks build on this one.
        let is_same = self.decoder.decode(text).or_else(|why| fatal(frame::COMPRESSION_ERROR, why))?;
        if !is_same {
            self.head = None;
        }
        let Some(slot) = self.find(block.stream) else { return Ok(()) };
        let stream = &mut self.streams[slot];
        stream.bytes += block.bytes;
        if stream.status != 0 {
            return match read_trailers(self.decoder.fields()) {
                Err(why) => self.malformed(slot, why, turn),
                Ok(()) if !block.ends_stream => self.malformed(slot, "trailers amid a body", turn),
                Ok(()) => self.finish(slot, turn),
            };
        }
        let (status, length) = match self.head {
            Some(head) => head,
            None => match read_head(self.decoder.fields()) {
                Err(why) => return self.malformed(slot, why, turn),
                Ok(head) => *self.head.insert(head),
            },
        };
        if status < 200 {
            return match block.ends_stream {
                true => self.malformed(slot, "an interim answer that ends the stream", turn),
                false => Ok(()),
            };
        }
        let mut asked = turn.questions.asked(stream.ticket);
        asked.head(&mut stream.checking, status, self.decoder.fields());
        stream.status = status;
        stream.left = if asked.is_head || matches!(status, 204 | 304) { Some(0) } else { length };
        if block.ends_stream { self.finish(slot, turn) } else { Ok(()) }
    }

    /// An answer has ended.
    fn finish(&mut self, slot: usize, turn: &mut Turn<'_, impl Questions>) -> Result<(), Fatal> {
        let stream = &mut self.streams[slot];
        if stream.left.is_some_and(|left| left > 0) {
            return self.malformed(slot, "a body shorter than announced", turn);
        }
        let judgement = turn.questions.asked(stream.ticket).finish(&mut stream.checking);
        let finished = Finished { status: stream.status, judgement, bytes: stream.bytes, keep_alive: !self.closing };
        turn.events.push(Event::Answered { ticket: stream.ticket, finished });
        let (id, is_sent) = (stream.id, stream.body.is_empty());
        stream.status = 0;
        if is_sent {
            self.close(slot);
            return Ok(());
        }
        // The server has answered without the rest of the request.
        self.give_up(slot);
        self.reply(frame::RST_STREAM, 0, id, &frame::CANCEL.to_be_bytes(), turn.out)
    }

    /// An answer is none: its stream is given up, the connection goes on.
    fn malformed(&mut self, slot: usize, why: &str, turn: &mut Turn<'_, impl Questions>) -> Result<(), Fatal> {
        self.refuse(slot, frame::PROTOCOL_ERROR, format!("a malformed answer: {why}"), turn)
    }

    fn refuse(&mut self, slot: usize, code: u32, why: String, turn: &mut Turn<'_, impl Questions>) -> Result<(), Fatal> {
        let id = self.streams[slot].id;
        let ticket = self.give_up(slot);
        turn.events.push(Event::Failed { ticket, why, sent_again_is_safe: false });
        self.reply(frame::RST_STREAM, 0, id, &code.to_be_bytes(), turn.out)
    }

    fn window_update(&mut self, head: Head, payload: &[u8], turn: &mut Turn<'_, impl Questions>) -> Result<(), Fatal> {
        if payload.len() != 4 {
            return fatal(frame::FRAME_SIZE_ERROR, "a WINDOW_UPDATE that is not 4 bytes long");
        }
        let increment = i64::from(frame::number(payload) & 0x7fff_ffff);
        if head.stream == 0 {
            self.send_window += increment;
            if increment == 0 {
                return fatal(frame::PROTOCOL_ERROR, "a WINDOW_UPDATE by nothing");
            }
            if self.send_window > WINDOW_MAX {
                return fatal(frame::FLOW_CONTROL_ERROR, "a window larger than 2^31-1 bytes");
            }
            self.send_more(turn.out);
            return Ok(());
        }
        let Some(slot) = self.find_opened(head.stream)? else { return Ok(()) };
        let stream = &mut self.streams[slot];
        stream.send_window += increment;
        if increment == 0 || stream.send_window > WINDOW_MAX {
            let (code, why) = match increment {
                0 => (frame::PROTOCOL_ERROR, "a WINDOW_UPDATE by nothing"),
                _ => (frame::FLOW_CONTROL_ERROR, "a window larger than 2^31-1 bytes"),
            };
            return self.refuse(slot, code, why.into(), turn);
        }
        if !stream.body.is_empty() {
            self.send_more(turn.out);
        }
        Ok(())
    }

    fn settings(&mut self, head: Head, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Fatal> {
        if head.stream != 0 {
            return fatal(frame::PROTOCOL_ERROR, "SETTINGS on a stream");
        }
        if !payload.len().is_multiple_of(6) || (head.has(frame::ACK) && !payload.is_empty()) {
            return fatal(frame::FRAME_SIZE_ERROR, "SETTINGS of a length that cannot be");
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
                SETTINGS_ENABLE_PUSH if value != 0 => return fatal(frame::PROTOCOL_ERROR, "a server that enables push"),
                SETTINGS_MAX_CONCURRENT_STREAMS => self.allowed = value,
                SETTINGS_INITIAL_WINDOW_SIZE => window = value.into(),
                // Ours are never larger than every server takes.
                SETTINGS_MAX_FRAME_SIZE if !(PAYLOAD_MAX as u32..1 << 24).contains(&value) => {
                    return fatal(frame::PROTOCOL_ERROR, "a SETTINGS_MAX_FRAME_SIZE that cannot be");
                }
                _ => {}
            }
        }
        let change = window - self.initial_send_window;
        if change != 0 {
            self.initial_send_window = window;
            let mut open = self.streams.iter_mut().filter(|stream| stream.id != 0);
            let overflows = open.any(|stream| {
                stream.send_window += change;
                stream.send_window > WINDOW_MAX
            });
            if overflows || window > WINDOW_MAX {
                return fatal(frame::FLOW_CONTROL_ERROR, "a window larger than 2^31-1 bytes");
            }
            self.send_more(out);
        }
        self.reply(frame::SETTINGS, frame::ACK, 0, &[], out)
    }

    fn rst_stream(&mut self, head: Head, payload: &[u8], turn: &mut Turn<'_, impl Questions>) -> Result<(), Fatal> {
        if payload.len() != 4 {
            return fatal(frame::FRAME_SIZE_ERROR, "a RST_STREAM that is not 4 bytes long");
        }
        if let Some(slot) = self.find_opened(head.stream)? {
            let code = frame::number(payload);
            let ticket = self.close(slot);
            turn.events.push(Event::Failed {
                ticket,
                why: format!("the server sent RST_STREAM: {}", frame::error_name(code)),
                sent_again_is_safe: code == frame::REFUSED_STREAM,
            });
        }
        Ok(())
    }

    fn goaway(&mut self, head: Head, payload: &[u8], turn: &mut Turn<'_, impl Questions>) -> Result<(), Fatal> {
        if head.stream != 0 {
            return fatal(frame::PROTOCOL_ERROR, "a GOAWAY on a stream");
        }
        if payload.len() < 8 {
            return fatal(frame::FRAME_SIZE_ERROR, "a GOAWAY that is too short");
        }
        self.closing = true;
        let last = frame::number(payload) & STREAM_ID_MAX;
        let code = frame::number(&payload[4..]);
        for slot in 0..self.streams.len() {
            if self.streams[slot].id > last {
                let ticket = self.give_up(slot);
                let why = format!("the server sent GOAWAY: {}", frame::error_name(code));
                turn.events.push(Event::Failed { ticket, why, sent_again_is_safe: true });
            }
        }
        Ok(())
    }

    /// Sends what the windows let through of a body; returns how much. The last byte ends the stream.
    fn send_body(&mut self, slot: u32, body: &[u8], out: &mut Vec<u8>) -> usize {
        let stream = &mut self.streams[slot as usize];
        let room = self.send_window.min(stream.send_window).clamp(0, body.len() as i64);
        self.send_window -= room;
        stream.send_window -= room;
        let room = room as usize;
        let mut sent = 0;
        for piece in body[..room].chunks(PAYLOAD_MAX) {
            sent += piece.len();
            let flags = if sent == body.len() { frame::END_STREAM } else { 0 };
            frame::write(out, frame::DATA, flags, stream.id, piece);
        }
        room
    }

    /// Sends what waits for windows, as far as they are open now.
    fn send_more(&mut self, out: &mut Vec<u8>) {
        let mut sending = std::mem::take(&mut self.sending);
        sending.retain(|&slot| {
            let mut body = std::mem::take(&mut self.streams[slot as usize].body);
            let before = self.streams[slot as usize].sent;
            let sent = before + self.send_body(slot, &body[before..], out);
            let is_left = sent < body.len();
            if !is_left {
                body.clear();
            }
            let stream = &mut self.streams[slot as usize];
            (stream.body, stream.sent) = (body, sent);
            is_left
        });
        self.sending = sending;
    }

    /// Writes a frame that the server brought about.
    fn reply(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Fatal> {
        self.replies += HEAD + payload.len();
        if self.replies > REPLIES_MAX {
            return fatal(frame::ENHANCE_YOUR_CALM, "a flood of frames that want answers, which the server does not read");
        }
        frame::write(out, kind, flags, stream, payload);
        Ok(())
    }

    /// The place of an open stream that a frame names; `None`: it is closed.
    fn find_opened(&self, id: u32) -> Result<Option<usize>, Fatal> {
        if id == 0 || id.is_multiple_of(2) || id >= self.next_id {
            return fatal(frame::PROTOCOL_ERROR, "a frame on a stream that was never opened");
        }
        Ok(self.find(id))
    }

    /// The same for a frame that only an open stream gets, or one that we gave up.
    fn find_for_answer(&self, id: u32) -> Result<Option<usize>, Fatal> {
        match self.find_opened(id)? {
            None if id > self.given_up_to => fatal(frame::STREAM_CLOSED, "an answer that goes on after its end"),
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

    /// Frees the place of a stream; returns its ticket.
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

    /// Closes a stream that the server may not yet know to be closed.
    fn give_up(&mut self, slot: usize) -> u32 {
        self.given_up_to = self.given_up_to.max(self.streams[slot].id);
        self.close(slot)
    }
}

/// A payload without its padding.
fn unpadded(head: Head, payload: &[u8]) -> Result<&[u8], Fatal> {
    if !head.has(frame::PADDED) {
        return Ok(payload);
    }
    let Some((&padding, rest)) = payload.split_first() else {
        return fatal(frame::FRAME_SIZE_ERROR, "a padded frame without its padding");
    };
    match rest.len().checked_sub(padding.into()) {
        Some(length) => Ok(&rest[..length]),
        None => fatal(frame::PROTOCOL_ERROR, "a frame with more padding than bytes"),
    }
}

/// The status of a head, and the length of the body where it is announced.
fn read_head(fields: &Fields) -> Result<(u16, Option<u64>), &'static str> {
    let mut fields = fields.iter();
    let status = match fields.next() {
        Some((b":status", &[a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'])) => {
            u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0')
        }
        Some((b":status", _)) => return Err("a status that is no number of three digits"),
        _ => return Err("no status"),
    };
    let mut length = None;
    for (name, value) in fields {
        check_field(name, value)?;
        if name == b"content-length" {
            let text = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
            let found = text.and_then(|text| text.parse().ok()).ok_or("a content-length that is no number")?;
            if length.replace(found).is_some_and(|before| before != found) {
                return Err("two content-lengths that differ");
            }
        }
    }
    Ok((status, length))
}

fn read_trailers(fields: &Fields) -> Result<(), &'static str> {
    fields.iter().try_for_each(|(name, value)| check_field(name, value))
}

/// RFC 9113, 8.2: what makes a message malformed.
fn check_field(name: &[u8], value: &[u8]) -> Result<(), &'static str> {
    if name.is_empty() || name.iter().any(|b| b.is_ascii_uppercase() || matches!(b, 0..=b' ' | b':' | 0x7f..)) {
        return Err("a header name that HTTP/2 forbids");
    }
    if value.iter().any(|b| matches!(b, 0 | b'\n' | b'\r')) {
        return Err("a header value with a line break");
    }
    match name {
        b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => Err("a header of HTTP/1.1 connections"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
