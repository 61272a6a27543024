//! Sends requests, as far as the server's windows permit.

use super::{Context, Fatal, Http2, NO_TABLE, Stream, WINDOW_MAX, WINDOW_TOO_LARGE, fatal, frame};
use crate::check::Checks;
use frame::{Head, PAYLOAD_MAX};

impl Http2 {
    /// Starts a request with a header block, made by [`encode`](super::hpack::encode), and a body.
    /// [`Self::room`] must not be 0.
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
        (stream.interim, stream.begins_at) = (0, self.dropped + out.len() as u64);
        let announcing =
            std::mem::take(&mut self.table_shrinks).then(|| [&[NO_TABLE], block].concat());
        write_head(id, announcing.as_deref().unwrap_or(block), body.is_empty(), out);
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

    /// Gives up a request. No event will mention it.
    pub fn cancel(&mut self, ticket: u32, out: &mut Vec<u8>) {
        if let Some(slot) = self.streams.iter().position(|s| s.id != 0 && s.ticket == ticket) {
            frame::write_frame(
                out,
                frame::RST_STREAM,
                0,
                self.streams[slot].id,
                &frame::CANCEL.to_be_bytes(),
            );
            self.give_up(slot);
        }
    }

    pub(super) fn window_update(
        &mut self,
        head: Head,
        payload: &[u8],
        context: &mut Context<'_, impl Checks>,
    ) -> Result<(), Fatal> {
        if payload.len() != 4 {
            return fatal(frame::FRAME_SIZE_ERROR, "a WINDOW_UPDATE that is not 4 bytes long");
        }
        let increment = i64::from(frame::number(payload) & 0x7fff_ffff);
        if head.stream == 0 {
            widen(&mut self.send_window, increment).or_else(|(code, why)| fatal(code, why))?;
            self.send_more(context.out);
            return Ok(());
        }
        let Some(slot) = self.find_opened(head.stream)? else { return Ok(()) };
        if let Err((code, why)) = widen(&mut self.streams[slot].send_window, increment) {
            return self.refuse(slot, code, why.into(), context);
        }
        if !self.streams[slot].body.is_empty() {
            self.send_more(context.out);
        }
        Ok(())
    }

    /// Sends as much of a body as the windows permit. Returns how much. The last byte ends the
    /// stream.
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
            frame::write_frame(out, frame::DATA, flags, stream.id, piece);
        }
        room
    }

    /// Sends more of the bodies that wait for windows.
    pub(super) fn send_more(&mut self, out: &mut Vec<u8>) {
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
}

/// Widens a window. Returns the error code and message if that is invalid.
fn widen(window: &mut i64, increment: i64) -> Result<(), (u32, &'static str)> {
    *window += increment;
    match increment {
        0 => Err((frame::PROTOCOL_ERROR, "a WINDOW_UPDATE by 0")),
        _ if *window > WINDOW_MAX => Err((frame::FLOW_CONTROL_ERROR, WINDOW_TOO_LARGE)),
        _ => Ok(()),
    }
}

/// Writes a header block in as many frames as it needs.
fn write_head(id: u32, block: &[u8], ends_stream: bool, out: &mut Vec<u8>) {
    let ends_stream = if ends_stream { frame::END_STREAM } else { 0 };
    let (mut kind, mut flags) = (frame::HEADERS, ends_stream);
    let mut pieces = block.chunks(PAYLOAD_MAX).peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            flags |= frame::END_HEADERS;
        }
        frame::write_frame(out, kind, flags, id, piece);
        (kind, flags) = (frame::CONTINUATION, 0);
    }
}
