use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::io::AsyncReadExt;

use super::super::{Answer, DoorLimits, Handler, Patience, serve};
use super::*;
use crate::Kernel;
use crate::drain::Phase;
use crate::testing::supervise;
use crate::tree::{Child, ChildSpec, Restart};

static SPEC: ChildSpec = ChildSpec {
    name: "door",
    doc: "test",
    depends_on: &[],
    phase: Phase::Intake,
    restart: Restart::Always,
    essential: true,
};

struct Silent;

impl Handler for Silent {
    async fn handle(&self, _: Request<Incoming>) -> Answer {
        Response::new(Full::new(Bytes::new()))
    }
}

// attack: J-06
#[tokio::test]
async fn with_the_spare_descriptor_those_who_wait_are_turned_away_at_once() {
    let bound = net::bound(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    bound.set_nonblocking(true).unwrap();
    let address = bound.local_addr().unwrap();
    let listener = TcpListener::from_std(bound).unwrap();
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(TcpStream::connect(address).await.unwrap());
    }
    let mut spare = Spare::new();
    spare.turn_away(&listener);
    for stream in &mut waiting {
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
    }
    assert!(spare.0.is_some(), "kept again for the next time");
}

#[test]
fn running_out_of_descriptors_is_told_from_other_failures() {
    let error = io::Error::from_raw_os_error;
    assert!(out_of_descriptors(&error(libc::EMFILE)));
    assert!(out_of_descriptors(&error(libc::ENFILE)));
    assert!(!out_of_descriptors(&error(libc::ECONNABORTED)));
}

// A crowd at the door does not hold up those who are inside.
// req: KN-15
#[tokio::test]
async fn whoever_is_inside_has_a_turn_after_every_few_who_are_taken_in() {
    const CROWD: u64 = 64;
    let door = Door::bind("door", ([127, 0, 0, 1], 0).into()).unwrap();
    let crowd: Vec<_> = (0..CROWD)
        .map(|_| std::net::TcpStream::connect(door.address()).unwrap())
        .collect();
    let limits = DoorLimits {
        connections: CROWD as usize,
        patience: Patience {
            head: Duration::from_millis(200),
            idle: Duration::from_millis(200),
            write: Duration::from_millis(200),
        },
    };
    let (kernel, publisher) = Kernel::new();
    let child = Child::new(&SPEC, move |context| {
        serve(context, door.clone(), limits, Arc::new(Silent))
    });
    let running = supervise(&kernel, publisher, vec![child]);
    let taken_in = kernel.registry.counter(&ACCEPTED, &["door"]);
    let (mut before, mut most) = (0, 0);
    while before < CROWD {
        tokio::task::yield_now().await;
        let now = taken_in.get();
        (before, most) = (now, most.max(now - before));
    }
    assert!((1..=TURN.into()).contains(&most), "{most} in one turn");
    drop(crowd);
    kernel.requests.request();
    running.await.unwrap();
}
