//! br (RFC 7932): one stream, nothing after it, windows of the standard only.

use super::{BadBody, Step};
use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

type State = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

/// One stream. Its window is at most 16 MiB of address space; pages are touched as output is written, so the cap on
/// output bounds the memory too.
pub(super) struct Brotli {
    state: State,
    done: bool,
}

impl Default for Brotli {
    fn default() -> Self {
        let alloc = StandardAlloc::default;
        Brotli {
            // Strict: the non-standard large windows go up to 1 GiB.
            state: BrotliState::new_strict(alloc(), alloc(), alloc()),
            done: false,
        }
    }
}

impl Brotli {
    pub(super) fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, BadBody> {
        if self.done {
            return match input {
                [] => Ok(Step { used: 0, made: 0 }),
                _ => Err(BadBody::Trailing),
            };
        }
        let (mut available_in, mut used) = (input.len(), 0);
        let (mut available_out, mut made) = (output.len(), 0);
        let result = BrotliDecompressStream(
            &mut available_in,
            &mut used,
            input,
            &mut available_out,
            &mut made,
            output,
            &mut 0,
            &mut self.state,
        );
        match result {
            BrotliResult::ResultFailure => return Err(BadBody::Broken),
            BrotliResult::ResultSuccess => self.done = true,
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => (),
        }
        Ok(Step { used, made })
    }

    pub(super) fn is_whole(&self) -> bool {
        self.done
    }
}
