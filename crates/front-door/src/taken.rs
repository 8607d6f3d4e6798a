//! How much a peer has taken of what was written to it.
//!
//! The system takes megabytes of an answer, and says that there is room for more once a third of them is gone. A peer
//! on a slow line takes something all the time, and yet nothing can be written for longer than anyone's patience: what
//! it has acknowledged tells it from one that takes nothing.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use kernel::net::{TcpStream, socket_of};

/// Where `tcpi_bytes_acked` lies in what the system says of a connection (`struct tcp_info` of `linux/tcp.h`).
const BYTES_ACKED: usize = 120;
const SAID: usize = BYTES_ACKED + size_of::<u64>();

/// Asked about one socket, as long as that is open.
#[derive(Debug)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct Taken {
    socket: Option<RawFd>,
    before: AtomicU64,
}

impl Taken {
    pub(crate) fn from(stream: &TcpStream) -> Self {
        Self {
            socket: socket_of(stream).map(AsRawFd::as_raw_fd),
            before: AtomicU64::new(0),
        }
    }

    /// Bytes since this was asked last; none where the system does not say.
    pub(crate) fn since(&self) -> u64 {
        let now = self.socket.and_then(acknowledged).unwrap_or(0);
        now.saturating_sub(self.before.swap(now, Ordering::Relaxed))
    }

    /// How much it has taken in all, and what of that which was written is still on its way.
    pub(crate) fn in_all(&self) -> (u64, u64) {
        let now = self.socket.and_then(acknowledged).unwrap_or(0);
        (now, self.socket.and_then(on_its_way).unwrap_or(0))
    }
}

fn on_its_way(socket: RawFd) -> Option<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: writes one number, which is valid for the call; a descriptor that is no socket is refused.
    let status = unsafe { libc::ioctl(socket, libc::TIOCOUTQ, &raw mut bytes) };
    u64::try_from(bytes).ok().filter(|_| status == 0)
}

fn acknowledged(socket: RawFd) -> Option<u64> {
    let mut said = [0_u8; SAID];
    let mut length = SAID as libc::socklen_t;
    // SAFETY: the room and its length are valid for the call, which writes no more than that; a descriptor that is no
    // socket is refused.
    let status = unsafe {
        libc::getsockopt(
            socket,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            said.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let whole = status == 0 && length as usize == SAID;
    let bytes = said.last_chunk().filter(|_| whole)?;
    Some(u64::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::task::Poll;
    use tokio::io::{AsyncWrite, AsyncWriteExt};

    // req: GW-03
    #[tokio::test]
    async fn what_the_peers_system_has_acknowledged_is_told_once() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = tokio::net::TcpStream::connect(listener.local_addr().unwrap());
        let (client, mut ours) = (client.await.unwrap(), listener.accept().await.unwrap().0);
        let taken = Taken {
            socket: Some(ours.as_raw_fd()),
            before: AtomicU64::new(0),
        };
        taken.since();
        ours.write_all(&[b'x'; 1000]).await.unwrap();
        let (mut all, began) = (0, kernel::clock::now());
        while all < 1000 && kernel::clock::now() - began < std::time::Duration::from_secs(10) {
            tokio::task::yield_now().await;
            all += taken.since();
        }
        assert_eq!((all, taken.since()), (1000, 0));
        let (before, _) = taken.in_all();
        let filled = poll_fn(|cx| {
            let mut written = 0;
            while let Poll::Ready(more) = Pin::new(&mut ours).poll_write(cx, &[b'x'; 1 << 16]) {
                written += more.unwrap() as u64;
            }
            Poll::Ready(written)
        });
        let written = filled.await;
        let (_, under_way) = taken.in_all();
        let (after, _) = taken.in_all();
        assert!(under_way > 0 && under_way <= written, "{under_way}");
        assert!(after - before <= written && after - before + under_way >= written);
        drop(client);
    }
}
