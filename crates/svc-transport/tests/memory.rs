//! What connections cost: counted in bytes of the heap, with the peers' end outside of it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of a test, which ends where they fail"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::Duration;

use kernel::Kernel;
use kernel::drain::Plan;
use kernel::readiness::State;
use kernel::serve::Door;
use kernel::supervisor::Supervisor;
use svc_transport::config::TransportText;
use svc_transport::{Echo, Handler, Services, Transport, tree};

/// Bytes that are allocated at this moment.
static LIVE: AtomicIsize = AtomicIsize::new(0);

struct Counting;

// SAFETY: everything is done by the system's allocator; only sizes are added up beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn live() -> isize {
    LIVE.load(Ordering::Relaxed)
}

/// A transport on a thread of its own, and where it listens.
fn transport() -> SocketAddr {
    let (said, heard) = std::net::TcpListener::bind("127.0.0.1:0")
        .map(|listener| (listener.local_addr().unwrap(), listener))
        .unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "the runtime under test lives as long as the test"
    )]
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async move {
            let (kernel, publisher) = Kernel::new();
            let mut text = TransportText::default();
            text.timeouts.handshake_ms = 600_000;
            text.timeouts.read_ms = 600_000;
            let echo: Arc<dyn Handler> = Arc::new(Echo);
            let services: Services = [(oap::app_proto::ECHO, echo)].into();
            let transport = Transport::new(&kernel, &text, services).unwrap();
            let door = Door::new("transport.tcp", heard).unwrap();
            let children = tree::children(&transport, &text, &kernel, vec![door], Vec::new());
            let supervisor = Supervisor::new(kernel.clone(), publisher, children).unwrap();
            let plan = || Plan {
                accept_grace: Duration::ZERO,
                deadline: Duration::ZERO,
            };
            let until_ready = async {
                let mut changes = kernel.readiness.changes();
                while kernel.readiness.snapshot().state != State::Ready {
                    changes.changed().await.unwrap();
                }
                std::future::pending::<()>().await;
            };
            tokio::join!(supervisor.run(plan), until_ready);
        });
    });
    said
}

/// Says hello and hears the answer.
fn greeted(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let payload = b"{\"ua\":\"memory\"}";
    let mut hello = Vec::new();
    hello.extend_from_slice(&(38 + payload.len() as u32).to_be_bytes());
    hello.extend_from_slice(&[0, 1, 0, 1, 0, 0, 0, 0]);
    hello.extend_from_slice(&[0; 18]);
    hello.extend_from_slice(&1_u64.to_be_bytes());
    hello.extend_from_slice(payload);
    stream.write_all(&hello).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut rest = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut rest).unwrap();
    stream
}

/// Waits until nothing is allocated or freed any more.
fn settled() -> isize {
    let (mut before, mut calm) = (live(), 0);
    while calm < 4 {
        pause();
        let now = live();
        calm = match (now - before).abs() < 16 * 1024 {
            true => calm + 1,
            false => 0,
        };
        before = now;
    }
    before
}

#[expect(
    clippy::disallowed_methods,
    reason = "no runtime runs on the thread of the test"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(200));
}

const PEERS: usize = 1_000;

/// A request for the echo of a few bytes.
fn small_request(corr_id: u64) -> [u8; 48] {
    let mut frame = [7; 48];
    frame[..4].copy_from_slice(&48_u32.to_be_bytes());
    frame[4..12].copy_from_slice(&[0, 1, 0, 1, 0, 1, 0, 2]);
    frame[12..30].fill(0);
    frame[30..38].copy_from_slice(&corr_id.to_be_bytes());
    frame
}

/// Both tests count the same bytes.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

// req: TR-02, TR-06
#[test]
fn a_connection_that_sends_faster_than_it_is_heard_costs_no_more_for_it() {
    const REQUESTS: u64 = 200_000;
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let address = transport();
    let mut peer = greeted(address);
    let mut reading = peer.try_clone().unwrap();
    let (before, mut most) = (settled(), 0);
    #[expect(
        clippy::disallowed_methods,
        reason = "a peer that hears as fast as it speaks; it is joined"
    )]
    let hearing = std::thread::spawn(move || {
        let (mut left, mut buffer) = (REQUESTS as usize * 48, vec![0; 64 * 1024]);
        while left > 0 {
            let read = reading.read(&mut buffer).unwrap();
            assert!(read > 0, "the connection ended");
            left -= read;
        }
    });
    for first in (2..2 + REQUESTS).step_by(1_000) {
        let frames: Vec<u8> = (first..first + 1_000).flat_map(small_request).collect();
        peer.write_all(&frames).unwrap();
        most = most.max(live() - before);
    }
    hearing.join().unwrap();
    println!("at most {most} bytes");
    assert!(most < 2 * 1024 * 1024, "{most}");
}

// req: TR-02, TR-06
// attack: G-02, G-03, G-08
#[test]
fn a_connection_costs_what_it_has_sent_and_not_what_it_announces() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let address = transport();
    drop(greeted(address));
    let before = settled();
    let mut peers: Vec<TcpStream> = (0..PEERS).map(|_| greeted(address)).collect();
    let each = (settled() - before) / PEERS as isize;
    println!("a connection at rest: {each} bytes");
    assert!(each < 8 * 1024, "{each}");

    // Each announces a frame of 1 MiB, and sends a little of it, in turns.
    let mut head = Vec::new();
    head.extend_from_slice(&(1_u32 << 20).to_be_bytes());
    head.extend_from_slice(&[0, 1, 0, 1, 0, 1, 0, 2]);
    head.extend_from_slice(&[0; 18]);
    head.extend_from_slice(&2_u64.to_be_bytes());
    for piece in [&head[..3], &head[3..], &[7; 1_000], &[7; 1_000]] {
        for peer in &mut peers {
            peer.write_all(piece).unwrap();
        }
    }
    let each = (settled() - before) / PEERS as isize;
    println!("with 2 KiB of a frame that is to have 1 MiB: {each} bytes");
    assert!(each < 32 * 1024, "{each}: what is announced costs nothing");

    drop(peers);
    let left = || (live() - before) / PEERS as isize;
    let mut looks = 0;
    while left() >= 512 {
        assert!(looks < 150, "{} bytes of each are left", left());
        looks += 1;
        pause();
    }
}
