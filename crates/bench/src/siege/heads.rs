//! Heads that never end: each connection sends a little now and then, and never all.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::epoll::Epoll;
use crate::load::idle::connect;

/// What became of them.
pub(super) struct Seen {
    /// How long the last one was let, counted from its own beginning.
    pub(super) last_s: f64,
}

const BEGINNING: &[u8] = b"GET / HTTP/1.1\r\nHost: slow.test\r\nX-A: ";
/// Between two bytes of one head; each by its own time, as who begins one does not know of the others.
const DRIP: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(30);

struct Slow {
    stream: TcpStream,
    began: Instant,
    closed: Option<Duration>,
}

/// Opens so many, one after each `pace`, lets each drip, and waits until the last is closed.
pub(super) fn until_closed(target: SocketAddr, count: usize, pace: Duration) -> io::Result<Seen> {
    let mut epoll = Epoll::new()?;
    let mut all: Vec<Slow> = Vec::with_capacity(count);
    let opening = Instant::now();
    for index in 0..count {
        let due = opening + pace * u32::try_from(index).unwrap_or(u32::MAX);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let stream = begin(target, index)?;
        epoll.add(&stream, index as u64)?;
        all.push(Slow {
            stream,
            began: Instant::now(),
            closed: None,
        });
        note(&mut epoll, &mut all, Duration::ZERO)?;
    }
    let began = Instant::now();
    let mut drips: VecDeque<(usize, Instant)> = all
        .iter()
        .map(|slow| slow.began + DRIP)
        .enumerate()
        .collect();
    while all.iter().any(|slow| slow.closed.is_none()) {
        if began.elapsed() > PATIENCE {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "some stay open"));
        }
        while let Some((index, due)) = drips.pop_front_if(|(_, due)| *due <= Instant::now()) {
            if all[index].closed.is_none() {
                // One that is closed meanwhile is noticed as such.
                drop(all[index].stream.write(b"x"));
                drips.push_back((index, due + DRIP));
            }
        }
        note(&mut epoll, &mut all, Duration::from_millis(1))?;
    }
    let lasted = all.iter().filter_map(|slow| slow.closed);
    Ok(Seen {
        last_s: lasted.max().unwrap_or_default().as_secs_f64(),
    })
}

fn begin(target: SocketAddr, index: usize) -> io::Result<TcpStream> {
    let mut stream = connect(target, index)?;
    stream.write_all(BEGINNING)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Takes note of who is closed.
fn note(epoll: &mut Epoll, all: &mut [Slow], wait: Duration) -> io::Result<()> {
    for ready in epoll.wait(Some(wait))? {
        let slow = usize::try_from(ready.token).ok();
        let Some(slow) = slow.and_then(|index| all.get_mut(index)) else {
            continue;
        };
        let ended = ready.ended || matches!(slow.stream.read(&mut [0; 1024]), Ok(0));
        if ended && slow.closed.is_none() {
            slow.closed = Some(slow.began.elapsed());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_last_to_be_closed_counts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let first = listener.accept().unwrap();
            let second = listener.accept().unwrap();
            drop(first);
            std::thread::sleep(Duration::from_millis(100));
            drop(second);
        });
        let seen = until_closed(target, 2, Duration::from_millis(1)).unwrap();
        server.join().unwrap();
        assert!(seen.last_s >= 0.09, "{}", seen.last_s);
    }
}
