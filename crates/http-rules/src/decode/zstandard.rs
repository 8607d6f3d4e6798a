//! zstd (RFC 8878): frames one after another, each with a window of at most 8 MiB (RFC 9659).

use super::{BadBody, Step};
use zstd::zstd_safe::{DCtx, DParameter, ErrorCode, InBuffer, OutBuffer};

const WINDOW_LOG_MAX: u32 = 23;
/// What the library answers for a larger window: its error 16, negated.
const WINDOW_TOO_LARGE: ErrorCode = 0_usize.wrapping_sub(16);

/// A sequence of frames; the library's context is made with the first input.
#[derive(Default)]
pub(super) struct Zstandard {
    context: Option<DCtx<'static>>,
    /// A frame has begun and not ended.
    inside: bool,
    frames: u64,
}

impl Zstandard {
    pub(super) fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, BadBody> {
        if input.is_empty() && !self.inside {
            return Ok(Step { used: 0, made: 0 });
        }
        let context = match &mut self.context {
            Some(context) => context,
            none => none.insert(new_context()?),
        };
        let mut from = InBuffer::around(input);
        let mut to = OutBuffer::around(output);
        let left = context
            .decompress_stream(&mut to, &mut from)
            .map_err(|code| self.bad(code))?;
        self.inside = left != 0;
        self.frames += u64::from(left == 0);
        Ok(Step {
            used: from.pos(),
            made: to.pos(),
        })
    }

    pub(super) fn is_whole(&self) -> bool {
        self.frames > 0 && !self.inside
    }

    fn bad(&self, code: ErrorCode) -> BadBody {
        match code {
            WINDOW_TOO_LARGE => BadBody::Window,
            _ if self.is_whole() => BadBody::Trailing,
            _ => BadBody::Broken,
        }
    }
}

fn new_context() -> Result<DCtx<'static>, BadBody> {
    let mut context = DCtx::try_create().ok_or(BadBody::Window)?;
    context
        .set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))
        .map_err(|_| BadBody::Window)?;
    Ok(context)
}
