//! A single request the plain, blocking way: for probes, controls and tests.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::request;
use crate::http1::{Kind, Reader};

const PATIENCE: Duration = Duration::from_secs(5);

/// Status and body of one GET.
pub fn ask(target: SocketAddr, path: &str) -> io::Result<(u16, Vec<u8>)> {
    let closing = [("Connection", "close")];
    exchange(target, &request("GET", target, path, &closing, b""))
}

/// Status and body of the answer to a request.
pub fn exchange(target: SocketAddr, request: &[u8]) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect_timeout(&target, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request)?;
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "not an HTTP answer");
    let (mut reader, mut body, mut buffer) = (Reader::new(Kind::Response), Vec::new(), [0; 4096]);
    while !reader.is_whole() {
        let length = stream.read(&mut buffer)?;
        if length == 0 && !reader.ends_with_connection() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if length == 0 {
            break;
        }
        body.extend_from_slice(&buffer[..length]);
        reader.take(&buffer[..length]).map_err(|_| odd())?;
    }
    let head = body.windows(4).position(|four| four == b"\r\n\r\n");
    body.drain(..head.map_or(0, |head| head + 4));
    Ok((reader.head().status().ok_or_else(odd)?, body))
}
