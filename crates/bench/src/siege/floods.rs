//! Floods of HTTP/2 frames, one after another, each until it is thrown out.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::results::Wanted;
use testkit::frames::floods::{Flood, floods};
use testkit::frames::{ACK, PREFACE, frame, kind};

/// What became of them.
pub(super) struct Seen {
    pub(super) count: usize,
    /// The kind that lasted longest.
    pub(super) longest: &'static str,
    pub(super) longest_ms: f64,
}

/// Sent before listening: as much as a write takes at once.
const AT_ONCE: u32 = 64;
const PATIENCE: Duration = Duration::from_secs(5);
/// Between one that is thrown out and the next to come.
const PAUSE: Duration = Duration::from_millis(5);

/// A kind of flood.
pub(super) type Named = (&'static str, Flood);

/// Those that are asked for.
pub(super) fn wanted(wanted: &Wanted) -> Result<Vec<Named>, String> {
    let asked = floods().into_iter().filter(|(name, _)| wanted.has(&[name]));
    let asked: Vec<Named> = asked.collect();
    match asked.is_empty() {
        true => Err("no flood is called that".to_owned()),
        false => Ok(asked),
    }
}

/// All kinds in turns, each at least once.
pub(super) fn until(over: &AtomicBool, target: SocketAddr, kinds: &[Named]) -> io::Result<Seen> {
    let mut seen = Seen {
        count: 0,
        longest: "",
        longest_ms: 0.0,
    };
    for (name, flood) in kinds.iter().cycle() {
        if over.load(Ordering::Relaxed) && seen.count >= kinds.len() {
            return Ok(seen);
        }
        let took_ms = lasts(target, flood)?.as_secs_f64() * 1e3;
        if took_ms > seen.longest_ms {
            (seen.longest, seen.longest_ms) = (name, took_ms);
        }
        seen.count += 1;
        std::thread::sleep(PAUSE);
    }
    Ok(seen)
}

/// From the first of its frames to the end of its connection.
fn lasts(target: SocketAddr, flood: &Flood) -> io::Result<Duration> {
    let mut stream = TcpStream::connect(target)?;
    stream.set_nodelay(true)?;
    let hello = [PREFACE, &frame(kind::SETTINGS, 0, 0, &[])].concat();
    stream.write_all(&hello)?;
    // The first the server says are its settings.
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.read_exact(&mut [0; 9])?;
    stream.write_all(&frame(kind::SETTINGS, ACK, 0, &[]))?;
    stream.set_nonblocking(true)?;
    let (began, mut number, mut unsent) = (Instant::now(), 0, Vec::new());
    while began.elapsed() < PATIENCE {
        if unsent.is_empty() {
            unsent = (number..number + AT_ONCE).flat_map(flood).collect();
            number += AT_ONCE;
        }
        let sent = stream.write(&unsent);
        let heard = stream.read(&mut [0; 16 * 1024]);
        if is_over(&sent, false) || is_over(&heard, true) {
            return Ok(began.elapsed());
        }
        unsent.drain(..sent.unwrap_or(0));
    }
    Err(io::Error::new(ErrorKind::TimedOut, "one goes on"))
}

/// An end while reading, or an error that is not for want of room.
fn is_over(result: &io::Result<usize>, reading: bool) -> bool {
    match result {
        Ok(length) => reading && *length == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}
