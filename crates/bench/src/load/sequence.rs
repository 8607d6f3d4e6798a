//! Many different requests on one connection, a few under way at a time, each answer looked at.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::http1::{Kind, Reader};

const UNDER_WAY: u64 = 32;
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks for all numbers in order; `request` makes each one's bytes. An answer that is not a 200 of this length is an
/// error.
pub(crate) fn run(
    target: SocketAddr,
    numbers: std::ops::Range<u64>,
    body_bytes: usize,
    request: impl Fn(u64) -> Vec<u8>,
) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&target, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut answers = Answers::new(body_bytes);
    let mut next = numbers.start;
    while next < numbers.end {
        let end = (next + UNDER_WAY).min(numbers.end);
        let batch: Vec<u8> = (next..end).flat_map(&request).collect();
        stream.write_all(&batch)?;
        answers.await_more(&mut stream, end - next)?;
        next = end;
    }
    Ok(())
}

struct Answers {
    reader: Reader,
    body_bytes: String,
    buffer: Vec<u8>,
}

impl Answers {
    fn new(body_bytes: usize) -> Self {
        Self {
            reader: Reader::new(Kind::Response),
            body_bytes: body_bytes.to_string(),
            buffer: vec![0; 64 * 1024],
        }
    }

    fn await_more(&mut self, stream: &mut TcpStream, mut wanted: u64) -> io::Result<()> {
        while wanted > 0 {
            let length = stream.read(&mut self.buffer)?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut rest = 0;
            while rest < length {
                let taken = self.reader.take(&self.buffer[rest..length]);
                rest += taken.map_err(|_| odd("an answer cannot be understood"))?;
                if self.reader.is_whole() {
                    self.check()?;
                    self.reader.next();
                    wanted = wanted.saturating_sub(1);
                }
            }
        }
        Ok(())
    }

    fn check(&self) -> io::Result<()> {
        let head = self.reader.head();
        let length = head.header("content-length");
        match (head.status(), length == Some(self.body_bytes.as_str())) {
            (Some(200), true) => Ok(()),
            (status, _) => Err(odd(&format!("answered {status:?} with {length:?} bytes"))),
        }
    }
}

fn odd(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::request;
    use crate::origin::tests::start;

    #[test]
    fn every_answer_is_looked_at() {
        let origin = start(1, 1);
        let ask = |number: u64| {
            let path = if number < 100 {
                "/bytes/9?n=1"
            } else {
                "/nothing"
            };
            request("GET", origin, path, &[], b"")
        };
        assert!(run(origin, 0..100, 9, ask).is_ok());
        assert!(run(origin, 0..100, 8, ask).is_err(), "another length");
        assert!(run(origin, 90..101, 9, ask).is_err(), "another status");
    }
}
