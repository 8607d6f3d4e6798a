//! As much of protobuf's wire format as a vector tile is written with.

#[derive(Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub(crate) fn number(&mut self, field: u32, value: u64) {
        varint(&mut self.bytes, u64::from(field << 3));
        varint(&mut self.bytes, value);
    }

    pub(crate) fn bytes(&mut self, field: u32, value: &[u8]) {
        varint(&mut self.bytes, u64::from(field << 3 | 2));
        varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    pub(crate) fn packed(&mut self, field: u32, values: &[u32]) {
        let mut packed = Vec::new();
        values
            .iter()
            .for_each(|value| varint(&mut packed, u64::from(*value)));
        self.bytes(field, &packed);
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

fn varint(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn the_examples_of_the_encoding_guide_come_out() {
        let mut message = Message::default();
        message.number(1, 150);
        message.bytes(2, b"testing");
        message.packed(6, &[3, 270, 86942]);
        let expected = b"\x08\x96\x01\x12\x07testing\x32\x06\x03\x8e\x02\x9e\xa7\x05";
        assert_eq!(message.finish(), expected);
    }
}
