use std::sync::Arc;

use tokio::io::AsyncReadExt;

use super::super::tests::{Host, QUICK, SPEC};
use super::super::{DoorLimits, serve};
use super::{SocketAddr, Spare, TURN, TcpListener, TcpStream, io, net, out_of_descriptors};
use crate::Kernel;
use crate::serve::{ACCEPTED, Door};
use crate::testing::supervise;
use crate::tree::Child;

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
        patience: QUICK,
    };
    let (kernel, publisher) = Kernel::new();
    let child = Child::new(&SPEC, move |context| {
        serve(context, door.clone(), limits, Arc::new(Host))
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
