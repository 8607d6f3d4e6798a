//! gzip (RFC 1952): members one after another, each header read, each checksum compared.

mod header;

use super::{BadBody, Step};
use flate2::{Crc, Decompress, FlushDecompress, Status};
use header::Header;

const TRAILER_BYTES: usize = 8;

/// A sequence of members. The inflater is kept from one to the next: a flood of empty members costs no allocation.
pub(super) struct Gzip {
    state: State,
    inflate: Decompress,
    crc: Crc,
    members: u64,
}

enum State {
    Header(Header),
    Deflated,
    Trailer {
        bytes: [u8; TRAILER_BYTES],
        have: usize,
    },
}

impl Default for Gzip {
    fn default() -> Self {
        Gzip {
            state: State::Header(Header::default()),
            inflate: Decompress::new(false),
            crc: Crc::new(),
            members: 0,
        }
    }
}

impl Gzip {
    pub(super) fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, BadBody> {
        match &mut self.state {
            State::Header(header) => {
                let (used, done) = header.take(input).map_err(|bad| match self.members {
                    0 => bad,
                    _ if header.is_unbegun() => BadBody::Trailing,
                    _ => bad,
                })?;
                if done {
                    self.state = State::Deflated;
                }
                Ok(Step { used, made: 0 })
            }
            State::Deflated => self.inflated(input, output),
            State::Trailer { bytes, have } => {
                let used = input.len().min(TRAILER_BYTES - *have);
                bytes[*have..*have + used].copy_from_slice(&input[..used]);
                *have += used;
                if *have == TRAILER_BYTES {
                    let bytes = *bytes;
                    self.end_member(bytes)?;
                }
                Ok(Step { used, made: 0 })
            }
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        let between = matches!(&self.state, State::Header(header) if header.is_unbegun());
        between && self.members > 0
    }

    fn inflated(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, BadBody> {
        let (used, made) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self
            .inflate
            .decompress(input, output, FlushDecompress::None)
            .map_err(|_| BadBody::Broken)?;
        let step = Step {
            used: (self.inflate.total_in() - used) as usize,
            made: (self.inflate.total_out() - made) as usize,
        };
        self.crc.update(&output[..step.made]);
        if status == Status::StreamEnd {
            self.state = State::Trailer {
                bytes: [0; TRAILER_BYTES],
                have: 0,
            };
        }
        Ok(step)
    }

    fn end_member(&mut self, trailer: [u8; TRAILER_BYTES]) -> Result<(), BadBody> {
        let expected = (u64::from(self.crc.amount()) << 32) | u64::from(self.crc.sum());
        if u64::from_le_bytes(trailer) != expected {
            return Err(BadBody::Broken);
        }
        self.state = State::Header(Header::default());
        self.inflate.reset(false);
        self.crc.reset();
        self.members += 1;
        Ok(())
    }
}
