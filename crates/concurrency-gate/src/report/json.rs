//! A report as JSON, durations in microseconds.

use std::fmt::{self, Display, Write};

use super::{KeyReport, Report, Whose};
use crate::breaker::BreakerState;
use crate::histogram::Quantiles;
use crate::rejection::Reason;

impl<K: Display> Report<K> {
    /// One object: the counts, and the keys in the order of their pressure.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        // A string takes whatever is written to it.
        let _ = self.write_json(&mut out);
        out
    }

    fn write_json(&self, out: &mut String) -> fmt::Result {
        let counts = &self.statistics;
        write!(out, "{{\"acquired\":{},\"rejected\":{{", counts.acquired)?;
        for (at, reason) in Reason::ALL.into_iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let count = counts.rejected.by(reason);
            write!(out, "{comma}\"{}\":{count}", reason.as_str())?;
        }
        write!(
            out,
            "}},\"queued\":{},\"timed_out\":{},\"evicted\":{},\"breaker_openings\":{},\
             \"shared_lookups\":{},\"keys_tracked\":{},\"keys\":[",
            counts.queued,
            counts.timed_out,
            counts.evicted,
            counts.breaker_openings,
            counts.shared_lookups,
            counts.keys
        )?;
        for (at, key) in self.keys.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            key.write_json(out)?;
        }
        out.push_str("]}");
        Ok(())
    }
}

impl<K: Display> KeyReport<K> {
    fn write_json(&self, out: &mut String) -> fmt::Result {
        match &self.whose {
            Whose::Key(key) => {
                out.push_str("{\"key\":");
                write_string(out, &key.to_string())?;
            }
            Whose::Shared(number) => write!(out, "{{\"shared\":{number}")?,
        }
        write!(
            out,
            ",\"pressure\":{:.3},\"capacity\":{},\"in_use\":{},\"available\":{},\"queued\":{},\
             \"queue_max\":{},\"idle\":{},\"last_used_s\":{},\"breaker\":",
            self.pressure(),
            self.capacity,
            self.in_use,
            self.available,
            self.queued,
            self.queue_max,
            self.idle,
            self.last_used.as_secs()
        )?;
        match self.breaker.map(BreakerState::as_str) {
            Some(state) => write!(out, "\"{state}\"")?,
            None => out.push_str("null"),
        }
        write_quantiles(out, "wait", &self.wait)?;
        write_quantiles(out, "hold", &self.hold)?;
        out.push('}');
        Ok(())
    }
}

fn write_quantiles(out: &mut String, name: &str, quantiles: &Quantiles) -> fmt::Result {
    write!(
        out,
        ",\"{name}\":{{\"samples\":{},\"p50_us\":{},\"p90_us\":{},\"p99_us\":{}}}",
        quantiles.samples,
        quantiles.p50.as_micros(),
        quantiles.p90.as_micros(),
        quantiles.p99.as_micros()
    )
}

/// A key is whatever its owner made it; it must not end the string.
fn write_string(out: &mut String, text: &str) -> fmt::Result {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c))?,
            c => out.push(c),
        }
    }
    out.push('"');
    Ok(())
}
