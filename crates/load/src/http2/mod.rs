//! HTTP/2, client side (stub until merged).
use crate::answer::Event;
use crate::check::Questions;

/// One connection.
pub struct Http2;

impl Http2 {
    /// A connection with at most so many streams of ours at once.
    pub fn new(_depth: u32) -> Http2 {
        Http2
    }
    /// Begins.
    pub fn start(&mut self, _out: &mut Vec<u8>) {}
    /// Streams that may be opened.
    pub fn room(&self) -> u32 {
        0
    }
    /// Whether it is over.
    pub fn is_closing(&self) -> bool {
        true
    }
    /// Streams under way.
    pub fn under_way(&self) -> u32 {
        0
    }
    /// Begins a request.
    pub fn begin(&mut self, _ticket: u32, _block: &[u8], _body: &[u8], _out: &mut Vec<u8>) {}
    /// Gives one up.
    pub fn cancel(&mut self, _ticket: u32, _out: &mut Vec<u8>) {}
    /// Reads.
    pub fn receive(&mut self, _input: &[u8], _q: &mut impl Questions, _out: &mut Vec<u8>, _events: &mut Vec<Event>) -> Result<(), String> {
        Ok(())
    }
}
/// Encodes a header.
pub fn encode(_out: &mut Vec<u8>, _name: &str, _value: &[u8]) {}
