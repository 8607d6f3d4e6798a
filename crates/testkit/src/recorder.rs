//! An origin that keeps every byte of every connection, and answers only what can be read in one way.

use crate::strict::{self, Doubt};
use parking_lot::Mutex;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

#[cfg(test)]
mod tests;

/// The body of its answers.
pub const ANSWER: &str = "recorded";

/// A running origin; dropping it ends its connections.
#[derive(Debug)]
pub struct Recorder {
    addr: SocketAddr,
    tapes: Arc<Tapes>,
    acceptor: AbortHandle,
}

/// What came, by connection, in the order they were opened.
#[derive(Debug, Default)]
struct Tapes(Mutex<Vec<Vec<u8>>>);

impl Recorder {
    /// Listens on a free loopback port.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let addr = listener.local_addr()?;
        let tapes = Arc::new(Tapes::default());
        let acceptor = tokio::spawn(accept(listener, tapes.clone())).abort_handle();
        Ok(Self {
            addr,
            tapes,
            acceptor,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What has come since the last time, connection by connection; those on which nothing came are left out.
    #[must_use]
    pub fn take(&self) -> Vec<Vec<u8>> {
        let mut tapes = self.tapes.0.lock();
        let taken = tapes.iter_mut().map(std::mem::take);
        taken.filter(|tape| !tape.is_empty()).collect()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

async fn accept(listener: TcpListener, tapes: Arc<Tapes>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let tape = {
            let mut all = tapes.0.lock();
            all.push(Vec::new());
            all.len() - 1
        };
        connections.spawn(serve(stream, tape, tapes.clone()));
    }
}

/// Ends at the first byte that leaves a doubt; what came until then stays on the tape.
async fn serve(mut stream: TcpStream, tape: usize, tapes: Arc<Tapes>) {
    let mut unread = Vec::new();
    while let Ok(1..) = read(&mut stream, &mut unread, tape, &tapes).await {
        loop {
            let (request, length) = match strict::request(&unread) {
                Ok(read) => read,
                Err(Doubt::Unfinished) => break,
                Err(Doubt::Ambiguous(_)) => return,
            };
            unread.drain(..length);
            if stream.write_all(&answer(&request)).await.is_err() {
                return;
            }
        }
    }
}

async fn read(
    stream: &mut TcpStream,
    unread: &mut Vec<u8>,
    tape: usize,
    tapes: &Tapes,
) -> io::Result<usize> {
    let before = unread.len();
    let length = stream.read_buf(unread).await?;
    tapes.0.lock()[tape].extend_from_slice(&unread[before..]);
    Ok(length)
}

fn answer(request: &strict::Request) -> Vec<u8> {
    let body = match &*request.method {
        "HEAD" => "",
        _ => ANSWER,
    };
    let length = ANSWER.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}
