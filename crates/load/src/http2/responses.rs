//! Handles frames that belong to a response: headers, bodies and trailers.
//!
//! A malformed response ends its stream only, and the connection continues. A frame that breaks the
//! rules of the connection is fatal (`Fatal`). `mod.rs` reads the frames and calls this.

use super::fields::{read_head, read_trailers};
use super::hpack::LIST_MAX;
use super::{
    BLOCK_FRAMES_MAX, Block, CONNECTION_WINDOW, Context, Fatal, Http2, STREAM_WINDOW, fatal, frame,
};
use crate::answer::{Event, Finished, Retry};
use crate::check::Checks;
use crate::limits::{INTERIM_MAX, TOO_MANY_INTERIM};
use frame::{HEAD, Head};

impl Http2 {
    pub(super) fn data(
        &mut self,
        head: Head,
        payload: &[u8],
        context: &mut Context<'_, impl Checks>,
    ) -> Result<(), Fatal> {
        let slot = self.find_for_answer(head.stream)?;
        let body = unpadded(head, payload)?;
        self.uncredited += payload.len() as u32;
        if self.uncredited >= CONNECTION_WINDOW / 2 {
            let credit = std::mem::take(&mut self.uncredited).to_be_bytes();
            self.reply(frame::WINDOW_UPDATE, 0, 0, &credit, context.out)?;
        }
        let Some(slot) = slot else { return Ok(()) };
        let stream = &mut self.streams[slot];
        stream.bytes += (HEAD + payload.len()) as u64;
        if stream.status == 0 {
            return self.malformed(slot, "a body before its headers", context);
        }
        if let Some(left) = &mut stream.left {
            match left.checked_sub(body.len() as u64) {
                Some(less) => *left = less,
                None => return self.malformed(slot, "a body longer than announced", context),
            }
        }
        context.checks.check(stream.ticket).body(&mut stream.checking, body);
        if head.has(frame::END_STREAM) {
            return self.finish(slot, context);
        }
        stream.uncredited += payload.len() as u32;
        if stream.uncredited >= STREAM_WINDOW / 2 {
            let credit = std::mem::take(&mut stream.uncredited).to_be_bytes();
            self.reply(frame::WINDOW_UPDATE, 0, head.stream, &credit, context.out)?;
        }
        Ok(())
    }

    pub(super) fn headers(
        &mut self,
        head: Head,
        payload: &[u8],
        context: &mut Context<'_, impl Checks>,
    ) -> Result<(), Fatal> {
        self.find_for_answer(head.stream)?;
        let mut text = unpadded(head, payload)?;
        if head.has(frame::WITH_PRIORITY) {
            match text.split_at_checked(5) {
                Some((_, rest)) => text = rest,
                None => {
                    return fatal(frame::FRAME_SIZE_ERROR, "a HEADERS too short for its priority");
                }
            }
        }
        let block = Block {
            stream: head.stream,
            ends_stream: head.has(frame::END_STREAM),
            frames: 1,
            bytes: (HEAD + payload.len()) as u64,
        };
        if head.has(frame::END_HEADERS) {
            return self.header_block(block, text, context);
        }
        self.block = Some(block);
        self.block_text.clear();
        self.block_text.extend_from_slice(text);
        Ok(())
    }

    pub(super) fn continuation(
        &mut self,
        head: Head,
        payload: &[u8],
        context: &mut Context<'_, impl Checks>,
    ) -> Result<(), Fatal> {
        let Some(block) = &mut self.block else {
            return fatal(frame::PROTOCOL_ERROR, "a CONTINUATION without HEADERS");
        };
        block.frames += 1;
        block.bytes += (HEAD + payload.len()) as u64;
        if block.frames > BLOCK_FRAMES_MAX || self.block_text.len() + payload.len() > LIST_MAX {
            return fatal(
                frame::ENHANCE_YOUR_CALM,
                "a header block in more than 32 frames or 159 KiB, the most that faceoff reads",
            );
        }
        self.block_text.extend_from_slice(payload);
        if !head.has(frame::END_HEADERS) {
            return Ok(());
        }
        let block = *block;
        self.block = None;
        let text = std::mem::take(&mut self.block_text);
        let result = self.header_block(block, &text, context);
        self.block_text = text;
        result
    }

    fn header_block(
        &mut self,
        block: Block,
        text: &[u8],
        context: &mut Context<'_, impl Checks>,
    ) -> Result<(), Fatal> {
        // Blocks of streams that we gave up are decoded too, because later blocks build on them.
        let is_same =
            self.decoder.decode(text).or_else(|why| fatal(frame::COMPRESSION_ERROR, why))?;
        if !is_same {
            self.head = None;
        }
        let Some(slot) = self.find(block.stream) else { return Ok(()) };
        let stream = &mut self.streams[slot];
        stream.bytes += block.bytes;
        if let Some(why) = self.decoder.fields().excess() {
            return self.refuse(slot, frame::ENHANCE_YOUR_CALM, why.into(), context);
        }
        if stream.status != 0 {
            return match read_trailers(self.decoder.fields()) {
                Err(why) => self.malformed(slot, why, context),
                Ok(()) if !block.ends_stream => {
                    self.malformed(slot, "trailers before the end of a body", context)
                }
                Ok(()) => self.finish(slot, context),
            };
        }
        let (status, length) = match self.head {
            Some(head) => head,
            None => match read_head(self.decoder.fields()) {
                Err(why) => return self.malformed(slot, why, context),
                Ok(head) => *self.head.insert(head),
            },
        };
        if status < 200 {
            stream.interim += 1;
            return match block.ends_stream {
                _ if status == 101 => {
                    self.malformed(slot, "status 101, which HTTP/2 does not have", context)
                }
                true => self.malformed(slot, "an interim answer that ends the stream", context),
                false if stream.interim > INTERIM_MAX => {
                    self.refuse(slot, frame::ENHANCE_YOUR_CALM, TOO_MANY_INTERIM.into(), context)
                }
                false => Ok(()),
            };
        }
        let mut check = context.checks.check(stream.ticket);
        check.head(&mut stream.checking, status, self.decoder.fields());
        stream.status = status;
        stream.left = if check.is_head || matches!(status, 204 | 304) { Some(0) } else { length };
        if block.ends_stream { self.finish(slot, context) } else { Ok(()) }
    }

    /// Finishes a response.
    fn finish(&mut self, slot: usize, context: &mut Context<'_, impl Checks>) -> Result<(), Fatal> {
        let stream = &mut self.streams[slot];
        if stream.left.is_some_and(|left| left > 0) {
            return self.malformed(slot, "a body shorter than announced", context);
        }
        let judgement = context.checks.check(stream.ticket).finish(&mut stream.checking);
        let finished = Finished {
            status: stream.status,
            judgement,
            bytes: stream.bytes,
            keep_alive: !self.closing,
        };
        context.events.push(Event::Answered { ticket: stream.ticket, finished });
        let (id, is_sent) = (stream.id, stream.body.is_empty());
        stream.status = 0;
        if is_sent {
            self.close(slot);
            return Ok(());
        }
        // The server responded without reading the rest of the request.
        self.give_up(slot);
        self.reply(frame::RST_STREAM, 0, id, &frame::CANCEL.to_be_bytes(), context.out)
    }

    /// Gives up a stream with a malformed response. The connection continues.
    pub(super) fn malformed(
        &mut self,
        slot: usize,
        why: &str,
        context: &mut Context<'_, impl Checks>,
    ) -> Result<(), Fatal> {
        self.refuse(slot, frame::PROTOCOL_ERROR, format!("a malformed answer: {why}"), context)
    }

    pub(super) fn refuse(
        &mut self,
        slot: usize,
        code: u32,
        why: String,
        context: &mut Context<'_, impl Checks>,
    ) -> Result<(), Fatal> {
        let id = self.streams[slot].id;
        let ticket = self.give_up(slot);
        context.events.push(Event::Failed { ticket, why, retry: Retry::No });
        self.reply(frame::RST_STREAM, 0, id, &code.to_be_bytes(), context.out)
    }
}

/// Returns a payload without its padding.
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
