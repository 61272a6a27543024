//! Ends streams and connections without a response, and explains why.

use super::{Context, Fatal, Http2, STREAM_ID_MAX, fatal, frame};
use crate::answer::{Ending, Event, Retry};
use crate::check::Checks;
use frame::Head;

/// The largest number of characters of GOAWAY's debug data that are repeated.
const DEBUG_MAX: usize = 100;

impl Http2 {
    /// Ends the connection, given how many bytes were sent. Appends events for requests that may be
    /// retried. Returns why the others failed, if there are any.
    pub(crate) fn end(
        &mut self,
        how: Ending,
        sent: u64,
        events: &mut Vec<Event>,
    ) -> Option<String> {
        self.closing = true;
        if self.in_flight() == 0 {
            return None;
        }
        let why = self.goaway.clone().unwrap_or_else(|| "closed with requests in flight".into());
        for slot in 0..self.streams.len() {
            let stream = &self.streams[slot];
            let retry = how.retry(stream.begins_at >= sent);
            if stream.id != 0 && stream.bytes == 0 && retry != Retry::No {
                let ticket = self.close(slot);
                events.push(Event::Failed { ticket, why: why.clone(), retry });
            }
        }
        Some(why)
    }

    /// Returns why a request has no response yet, or `None` if nothing more is known.
    pub(crate) fn delay_of(&self, ticket: u32) -> Option<String> {
        if !self.greeted {
            return Some("the server sent no SETTINGS, with which HTTP/2 begins".into());
        }
        let reason =
            match self.streams.iter().find(|stream| stream.id != 0 && stream.ticket == ticket) {
                None => Some(format!(
                    "it waited for a stream, and the server allows {} at once",
                    self.allowed
                )),
                Some(stream) if !stream.body.is_empty() => {
                    Some("the server's windows did not let the whole request through".into())
                }
                Some(stream) if stream.bytes > 0 => Some("a part of the response arrived".into()),
                Some(_) => None,
            };
        reason.or_else(|| self.goaway.clone())
    }

    pub(super) fn rst_stream(
        &mut self,
        head: Head,
        payload: &[u8],
        context: &mut Context<'_, impl Checks>,
    ) -> Result<(), Fatal> {
        if payload.len() != 4 {
            return fatal(frame::FRAME_SIZE_ERROR, "a RST_STREAM that is not 4 bytes long");
        }
        if let Some(slot) = self.find_opened(head.stream)? {
            let code = frame::number(payload);
            let ticket = self.close(slot);
            context.events.push(Event::Failed {
                ticket,
                why: format!("the server sent RST_STREAM: {}", frame::error_name(code)),
                retry: if code == frame::REFUSED_STREAM { Retry::Safe } else { Retry::No },
            });
        }
        Ok(())
    }

    pub(super) fn goaway(
        &mut self,
        head: Head,
        payload: &[u8],
        context: &mut Context<'_, impl Checks>,
    ) -> Result<(), Fatal> {
        if head.stream != 0 {
            return fatal(frame::PROTOCOL_ERROR, "a GOAWAY on a stream");
        }
        if payload.len() < 8 {
            return fatal(frame::FRAME_SIZE_ERROR, "a GOAWAY that is too short");
        }
        self.closing = true;
        let last = frame::number(payload) & STREAM_ID_MAX;
        let said: String = String::from_utf8_lossy(&payload[8..]).chars().take(DEBUG_MAX).collect();
        let said = if said.is_empty() { said } else { format!(", `{said}`") };
        let why = format!(
            "the server sent GOAWAY: {}{said}",
            frame::error_name(frame::number(&payload[4..]))
        );
        self.goaway = Some(why.clone());
        for slot in 0..self.streams.len() {
            if self.streams[slot].id > last {
                let ticket = self.give_up(slot);
                context.events.push(Event::Failed { ticket, why: why.clone(), retry: Retry::Safe });
            }
        }
        Ok(())
    }
}
