//! The W3C `traceparent` header: which trace a request belongs to, and which span caused it.

use std::fmt;

/// A trace: never all zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId(u128);

/// A span within a trace: never all zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanId(u64);

impl TraceId {
    /// A new one, at random.
    pub fn random() -> Self {
        Self(fastrand::u128(1..))
    }

    /// The one with this number; none has zero.
    pub fn of(number: u128) -> Option<Self> {
        (number != 0).then_some(Self(number))
    }

    /// Whether it is among the `ratio` of all traces that are kept: the same answer on every node.
    pub fn kept(self, ratio: f64) -> bool {
        let bound = (ratio.clamp(0.0, 1.0) * (1u64 << 63) as f64) as u64;
        (self.0 as u64 >> 1) < bound
    }
}

impl SpanId {
    /// A new one, at random.
    pub fn random() -> Self {
        Self(fastrand::u64(1..))
    }

    /// The one with this number; none has zero.
    pub fn of(number: u64) -> Option<Self> {
        (number != 0).then_some(Self(number))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traceparent {
    /// The trace.
    pub trace: TraceId,
    /// The span in it.
    pub span: SpanId,
    /// Whether the trace is kept.
    pub sampled: bool,
}

impl Traceparent {
    /// Reads a header's value. `None` for anything malformed: a trace then begins anew, as the standard wants.
    pub fn parse(value: &str) -> Option<Self> {
        let version = u8::try_from(hex(value.get(..2)?)?).ok()?;
        let whole = match version {
            0 => value.len() == 55,
            0xff => false,
            // Later versions may append fields.
            _ => value.len() == 55 || value.get(55..56) == Some("-"),
        };
        if !whole {
            return None;
        }
        let mut parts = value.get(2..55)?.strip_prefix('-')?.splitn(3, '-');
        let trace = sized_hex(parts.next()?, 32)?;
        let span = u64::try_from(sized_hex(parts.next()?, 16)?).ok()?;
        let flags = sized_hex(parts.next()?, 2)?;
        (trace != 0 && span != 0).then_some(Self {
            trace: TraceId(trace),
            span: SpanId(span),
            sampled: flags & 1 == 1,
        })
    }
}

impl fmt::Display for Traceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampled);
        write!(f, "00-{}-{}-{flags:02x}", self.trace, self.span)
    }
}

fn sized_hex(text: &str, digits: usize) -> Option<u128> {
    (text.len() == digits).then(|| hex(text)).flatten()
}

/// Lower case only, and no sign: stricter than the standard library.
fn hex(text: &str) -> Option<u128> {
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let valid = text.bytes().all(digit);
    valid.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    // req: KN-21
    #[test]
    fn a_header_is_read_as_the_standard_writes_it() {
        let read = Traceparent::parse(VALID).unwrap();
        assert_eq!(read.trace.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(read.span.to_string(), "00f067aa0ba902b7");
        assert!(read.sampled);
        assert!(
            !Traceparent::parse(&VALID.replace("-01", "-02"))
                .unwrap()
                .sampled
        );
        assert_eq!(
            Traceparent::parse(&format!("{VALID}-later").replacen("00", "01", 1)),
            Some(read)
        );
    }

    // req: KN-21
    #[test]
    fn anything_malformed_is_no_header() {
        let zero_trace = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        let zero_span = VALID.replace("00f067aa0ba902b7", &"0".repeat(16));
        for bad in [
            "",
            "00",
            "00-",
            &VALID[..54],
            &format!("{VALID}-more"),
            &format!("{VALID} "),
            &VALID.to_uppercase(),
            &VALID.replacen("00", "ff", 1),
            &VALID.replacen("00", "+0", 1),
            &VALID.replacen("00", "01", 1).replace("-01", "-01."),
            &VALID.replace('-', "_"),
            &VALID.replace("4bf9", "4bé"),
            &zero_trace,
            &zero_span,
        ] {
            assert_eq!(Traceparent::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        // req: KN-21
        #[test]
        fn what_is_written_is_read_back(trace in 1u128.., span in 1u64.., sampled: bool) {
            let written = Traceparent { trace: TraceId(trace), span: SpanId(span), sampled };
            prop_assert_eq!(Traceparent::parse(&written.to_string()), Some(written));
        }

        // req: KN-21
        #[test]
        fn no_text_makes_parsing_panic(text in "\\PC{0,80}", flip in 0usize..55, by: char) {
            let _any = Traceparent::parse(&text);
            let mut near: Vec<char> = VALID.chars().collect();
            near[flip] = by;
            let near: String = near.into_iter().collect();
            if let Some(read) = Traceparent::parse(&near) {
                prop_assert!(near.is_ascii() && Traceparent::parse(&read.to_string()) == Some(read));
            }
        }
    }

    // req: KN-21
    #[test]
    fn the_kept_part_of_traces_is_the_ratio() {
        let kept = |ratio| {
            (0..10_000)
                .filter(|_| TraceId::random().kept(ratio))
                .count()
        };
        assert_eq!((kept(0.0), kept(1.0), kept(f64::NAN)), (0, 10_000, 0));
        let quarter = kept(0.25);
        assert!((2_200..2_800).contains(&quarter), "{quarter}");
    }
}
