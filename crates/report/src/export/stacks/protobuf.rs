//! Writes Protocol Buffers, as far as pprof needs them: numbers, texts and messages.
//! <https://protobuf.dev/programming-guides/encoding/>. Start with [`Message`].

/// The fields of a message, encoded.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Returns the encoded bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Adds a number. Zero is the default and is left out.
    pub fn number(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
    }

    /// Adds a text, also an empty one.
    pub fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    /// Adds a message.
    pub fn message(&mut self, field: u32, message: Message) {
        self.bytes(field, &message.0);
    }

    /// Adds several numbers as one packed field.
    pub fn numbers(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        let mut packed = Message::default();
        values.into_iter().for_each(|value| packed.varint(value));
        self.bytes(field, &packed.0);
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
