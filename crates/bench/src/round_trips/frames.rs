//! A client that speaks frames on one connection, as cheaply as it can: who measures should not be what is measured.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use oap::{Flags, Frame, Header, Hello, Meta, Session};

/// A node that says nothing for so long will not begin to.
const STALLED: Duration = Duration::from_secs(5);
const READ_AT_ONCE: usize = 256 * 1024;
/// Where the `corr_id` of a frame lies, and its code.
const ID: std::ops::Range<usize> = 30..38;
const CODE: std::ops::Range<usize> = 8..10;

/// Asks again as soon as an answer has come, so that as many are under way all the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker {
    pub(super) target: SocketAddr,
    pub(super) app_proto: u16,
    pub(super) body: usize,
    pub(super) at_once: usize,
}

impl Asker {
    /// Microseconds of the meter, a request.
    pub(super) fn cost(
        self,
        length: Duration,
        meter: impl Fn() -> Duration,
    ) -> Result<f64, String> {
        self.run(length, meter)
            .map_err(|error| format!("frames: {error}"))
    }

    fn run(self, length: Duration, meter: impl Fn() -> Duration) -> io::Result<f64> {
        let mut line = Line::open(self.target)?;
        let request = line.request(self.app_proto, self.body);
        line.send(&request, self.at_once)?;
        let warm = Instant::now() + length / 5;
        while Instant::now() < warm {
            let heard = line.hear()?;
            line.send(&request, heard.all)?;
        }
        let (began, before, mut answers) = (Instant::now(), meter(), 0);
        while began.elapsed() < length {
            let heard = line.hear()?;
            if heard.good < heard.all {
                return Err(io::Error::other("an answer was none of 200"));
            }
            answers += heard.all;
            line.send(&request, heard.all)?;
        }
        Ok((meter() - before).as_secs_f64() * 1e6 / answers.max(1) as f64)
    }
}

/// Answers that came in one read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) all: usize,
    /// Those of 200.
    pub(super) good: usize,
}

/// A connection that was greeted.
pub(super) struct Line {
    stream: TcpStream,
    last_id: u64,
    out: Vec<u8>,
    inbox: Vec<u8>,
    filled: usize,
}

impl Line {
    pub(super) fn open(target: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(target)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(STALLED))?;
        stream.set_write_timeout(Some(STALLED))?;
        let mut line = Self {
            stream,
            last_id: 1,
            out: Vec::new(),
            inbox: vec![0; READ_AT_ONCE],
            filled: 0,
        };
        let hello = Session::client(Hello::full("macronode-bench")).hello(&Meta::default());
        let hello = hello.map_err(|error| io::Error::other(format!("{error:?}")))?;
        line.stream.write_all(&encoded(&hello))?;
        while line.hear()?.all == 0 {}
        Ok(line)
    }

    /// A request for the echo of so many bytes; its id is put in when it is sent.
    pub(super) fn request(&self, app_proto: u16, body: usize) -> Vec<u8> {
        encoded(&Frame {
            header: Header {
                flags: Flags::REQ,
                code: svc_transport::ECHO,
                app_proto,
                tenant: 0,
                corr_id: 0,
            },
            cap: Bytes::new(),
            payload: vec![b'x'; body].into(),
        })
    }

    /// Sends so many of them at once.
    pub(super) fn send(&mut self, request: &[u8], count: usize) -> io::Result<()> {
        self.put(request, count);
        self.stream.write_all(&self.out)
    }

    /// The same, while answers are heard: who writes much and reads nothing waits for ever.
    pub(super) fn send_and_hear(&mut self, request: &[u8], count: usize) -> io::Result<Heard> {
        self.put(request, count);
        let (mut sent, mut heard) = (0, Heard::default());
        self.stream.set_nonblocking(true)?;
        while sent < self.out.len() {
            match self.stream.write(&self.out[sent..]) {
                Ok(written) => sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            match self.hear() {
                Ok(more) => heard.add(more),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        self.stream.set_nonblocking(false)?;
        while heard.all < count {
            heard.add(self.hear()?);
        }
        Ok(heard)
    }

    fn put(&mut self, request: &[u8], count: usize) {
        self.out.clear();
        for _ in 0..count {
            self.last_id += 1;
            let at = self.out.len();
            self.out.extend_from_slice(request);
            self.out[at..][ID].copy_from_slice(&self.last_id.to_be_bytes());
        }
    }

    /// Reads once, and counts the answers that are whole by then.
    pub(super) fn hear(&mut self) -> io::Result<Heard> {
        let read = self.stream.read(&mut self.inbox[self.filled..])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.filled += read;
        let (heard, used) = count(&self.inbox[..self.filled]);
        self.inbox.copy_within(used..self.filled, 0);
        self.filled -= used;
        Ok(heard)
    }
}

impl Heard {
    fn add(&mut self, more: Heard) {
        self.all += more.all;
        self.good += more.good;
    }
}

/// The whole frames in front, and their bytes.
fn count(bytes: &[u8]) -> (Heard, usize) {
    let (mut heard, mut used) = (Heard::default(), 0);
    while let Some(length) = bytes[used..].first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let Some(frame) = bytes.get(used..used + length) else {
            break;
        };
        heard.all += 1;
        heard.good += usize::from(frame[CODE] == 200_u16.to_be_bytes());
        used += length;
    }
    (heard, used)
}

fn encoded(frame: &Frame) -> Vec<u8> {
    let mut out = BytesMut::new();
    frame.encode(&mut out).expect("it is far below the limit");
    out.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_once_all_of_them_is_there() {
        let header = Header {
            flags: Flags::RESP,
            code: 200,
            app_proto: 2,
            tenant: 0,
            corr_id: 7,
        };
        let good = encoded(&Frame::answer(&header, 200, "said".into()));
        let bad = encoded(&Frame::answer(&header, 429, Bytes::new()));
        let bytes = [&good[..], &bad, &good[..20]].concat();
        let (heard, used) = count(&bytes);
        assert_eq!(heard, Heard { all: 2, good: 1 });
        assert_eq!(used, good.len() + bad.len());
        assert_eq!(count(&good[..3]), (Heard::default(), 0));
    }
}
