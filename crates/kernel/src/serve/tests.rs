use std::time::Duration;

use testkit::http::{self, Failure as ClientFailure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::Kernel;
use crate::drain::{Outcome, Phase};
use crate::testing::{supervise, until_ready};
use crate::tree::{Child, ChildSpec, Restart};

pub(super) static SPEC: ChildSpec = ChildSpec {
    name: "door",
    doc: "test",
    depends_on: &[],
    phase: Phase::Intake,
    restart: Restart::Always,
    essential: true,
};

pub(super) const QUICK: Patience = Patience {
    head: Duration::from_millis(200),
    idle: Duration::from_millis(600),
    write: Duration::from_millis(300),
};
/// What a machine that has other things to do may add to a time.
const LATE: Duration = Duration::from_millis(1_500);

/// `/slow` takes 300 ms, `/panic` panics, `/big` is more than socket buffers hold, the rest says hello.
pub(super) struct Host;

impl Handler for Host {
    async fn handle(&self, request: Request<Incoming>) -> Answer {
        match request.uri().path() {
            "/slow" => tokio::time::sleep(Duration::from_millis(300)).await,
            "/panic" => panic!("bad handler"),
            "/big" => return Response::new(Full::new(Bytes::from(vec![b'x'; 64 << 20]))),
            _ => {}
        }
        Response::new(Full::new(Bytes::from_static(b"hello")))
    }
}

struct House {
    kernel: Kernel,
    address: SocketAddr,
    running: tokio::task::JoinHandle<Outcome>,
}

async fn house(connections: usize) -> House {
    house_with(connections, QUICK).await
}

async fn house_with(connections: usize, patience: Patience) -> House {
    let (kernel, publisher) = Kernel::new();
    let door = Door::bind("door", "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = door.address();
    let limits = DoorLimits {
        connections,
        patience,
    };
    let child = Child::new(&SPEC, move |context| {
        serve(context, door.clone(), limits, Arc::new(Host))
    });
    let running = supervise(&kernel, publisher, vec![child]);
    until_ready(&kernel).await;
    House {
        kernel,
        address,
        running,
    }
}

/// How long the peer of `stream` keeps it open, and what it sent.
async fn until_closed(stream: &mut TcpStream) -> (Duration, Vec<u8>) {
    let (began, mut read) = (crate::clock::now(), Vec::new());
    let _reset_is_closed_too = stream.read_to_end(&mut read).await.is_err();
    (crate::clock::now() - began, read)
}

/// That something ended when its time was over, as its peer saw it: it may have heard late of the beginning.
#[track_caller]
fn assert_took(time: Duration, took: Duration) {
    assert!(
        took >= time / 2 && took < time + LATE,
        "{took:?} instead of {time:?}"
    );
}

fn timeouts(kernel: &Kernel, op: &'static str) -> u64 {
    kernel.registry.counter(&IO_TIMEOUTS, &[op]).get()
}

// req: KN-15
// attack: A-50
#[tokio::test]
async fn a_silent_or_dripping_peer_is_closed_after_the_head_time_however_it_drips() {
    let house = house(8).await;
    let mut silent = TcpStream::connect(house.address).await.unwrap();
    let (took, _) = until_closed(&mut silent).await;
    assert_took(QUICK.head, took);

    let mut dripping = TcpStream::connect(house.address).await.unwrap();
    let began = crate::clock::now();
    while dripping.write_all(b"G").await.is_ok() {
        let took = crate::clock::now() - began;
        assert!(took < QUICK.head + LATE, "drips do not prolong the head");
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    assert_eq!(timeouts(&house.kernel, "read"), 2);
}

// req: KN-15
#[tokio::test]
async fn a_connection_may_rest_longer_than_a_head_may_take() {
    let house = house(8).await;
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let (took, answer) = until_closed(&mut stream).await;
    assert!(answer.ends_with(b"hello"));
    assert_took(QUICK.idle, took);
}

// req: KN-15
// attack: D-14
#[tokio::test]
async fn a_peer_that_stops_reading_is_closed_after_the_write_time() {
    let house = house(8).await;
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    stream
        .write_all(b"GET /big HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let began = crate::clock::now();
    while timeouts(&house.kernel, "write") == 0 {
        assert!(
            crate::clock::now() - began < QUICK.write * 10,
            "never closed"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_handler_that_panics_is_one_500_and_the_connection_lives_on() {
    let house = house(8).await;
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    let request = b"GET /panic HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let (_, answer) = until_closed(&mut stream).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    assert!(
        answer.contains("x-macronode-reason: internal") && !answer.contains("bad handler"),
        "{answer}"
    );
    assert!(answer.ends_with("hello"), "{answer}");
}

/// Panics before there is a future to poll.
struct Hasty;

impl Handler for Hasty {
    fn handle(&self, request: Request<Incoming>) -> impl Future<Output = Answer> + Send {
        assert_ne!(request.uri().path(), "/panic", "too hasty");
        std::future::ready(Response::new(Full::new(Bytes::from_static(b"hello"))))
    }
}

#[tokio::test]
async fn a_handler_that_panics_before_it_begins_is_one_500_too() {
    let (kernel, publisher) = Kernel::new();
    let door = Door::bind("door", "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = door.address();
    let limits = DoorLimits {
        connections: 8,
        patience: QUICK,
    };
    let child = Child::new(&SPEC, move |context| {
        serve(context, door.clone(), limits, Arc::new(Hasty))
    });
    let _running = supervise(&kernel, publisher, vec![child]);
    assert_eq!(http::get(address, "/panic").await.unwrap().status, 500);
    assert_eq!(http::get(address, "/").await.unwrap().status, 200);
}

#[tokio::test]
async fn connections_over_the_bound_wait_for_a_place() {
    let house = house(1).await;
    let mut first = TcpStream::connect(house.address).await.unwrap();
    first
        .write_all(b"GET /slow HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let began = crate::clock::now();
    let second = http::get(house.address, "/").await.unwrap();
    assert_eq!(second.status, 200);
    assert!(
        crate::clock::now() - began >= Duration::from_millis(200),
        "it had to wait for the first to leave"
    );
}

// attack: A-50
#[tokio::test]
async fn connections_that_are_only_held_open_make_room_for_those_that_ask() {
    let patient = Patience {
        head: Duration::from_secs(30),
        idle: Duration::from_secs(30),
        write: Duration::from_secs(30),
    };
    let house = house_with(4, patient).await;
    let mut held = Vec::new();
    for index in 0..4 {
        let mut stream = TcpStream::connect(house.address).await.unwrap();
        if index % 2 == 0 {
            stream
                .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
                .await
                .unwrap();
        }
        held.push(stream);
    }
    for _ in 0..8 {
        assert_eq!(http::get(house.address, "/").await.unwrap().status, 200);
        held.push(TcpStream::connect(house.address).await.unwrap());
    }
}

// attack: A-50
#[tokio::test]
async fn heads_that_do_not_end_make_room_while_others_wait() {
    let patient = Patience {
        head: Duration::from_secs(30),
        idle: Duration::from_secs(30),
        write: Duration::from_secs(30),
    };
    let house = house_with(4, patient).await;
    let mut unfinished = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(house.address).await.unwrap();
        stream.write_all(b"GET / HT").await.unwrap();
        unfinished.push(stream);
    }
    let answer = tokio::time::timeout(Duration::from_secs(5), http::get(house.address, "/"));
    assert_eq!(answer.await.unwrap().unwrap().status, 200);
    // The last ones came when no one waited any more: they still have all the time they were given.
    let mut last = TcpStream::connect(house.address).await.unwrap();
    last.write_all(b"GET / HT").await.unwrap();
    tokio::time::sleep(crate::limits::CROWDED_HEAD * 2).await;
    last.write_all(b"TP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    assert!(until_closed(&mut last).await.1.ends_with(b"hello"));
}

// req: KN-08, KN-09
#[tokio::test]
async fn a_connection_that_has_said_nothing_does_not_hold_up_the_drain() {
    let house = house(8).await;
    let mut silent = TcpStream::connect(house.address).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    house.kernel.requests.request();
    let (closed_after, _) = until_closed(&mut silent).await;
    assert!(
        closed_after < Duration::from_millis(150),
        "{closed_after:?}"
    );
    assert_eq!(house.running.await.unwrap(), Outcome::Drained);
}

// req: KN-08
#[tokio::test]
async fn a_drain_answers_what_came_in_and_refuses_new_connections() {
    let house = house(8).await;
    let mut slow = TcpStream::connect(house.address).await.unwrap();
    slow.write_all(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let mut resting = TcpStream::connect(house.address).await.unwrap();
    resting
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    house.kernel.requests.request();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let refused = http::get(house.address, "/").await.unwrap_err();
    assert_eq!(refused, ClientFailure::ConnectRefused);
    let (_, answer) = until_closed(&mut slow).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(
        answer.ends_with("hello") && answer.contains("connection: close"),
        "{answer}"
    );
    let (closed_after, _) = until_closed(&mut resting).await;
    assert!(
        closed_after < Duration::from_millis(50),
        "resting connections are closed at once"
    );
    assert_eq!(house.running.await.unwrap(), Outcome::Drained);
}

// req: KN-06
#[tokio::test]
async fn a_door_whose_child_crashes_keeps_its_address() {
    let (kernel, publisher) = Kernel::new();
    let door = Door::bind("door", "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = door.address();
    let limits = DoorLimits {
        connections: 8,
        patience: QUICK,
    };
    let starts = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let child = Child::new(&SPEC, move |context| {
        let (door, first) = (
            door.clone(),
            starts.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0,
        );
        async move {
            tokio::select! {
                served = serve(context, door, limits, Arc::new(Host)) => served,
                () = tokio::time::sleep(Duration::from_millis(50)), if first => panic!("door"),
            }
        }
    });
    let running = supervise(&kernel, publisher, vec![child]);
    tokio::time::sleep(Duration::from_millis(60)).await;
    // Connected while nobody accepts, answered after the restart.
    assert_eq!(http::get(address, "/").await.unwrap().status, 200);
    assert_eq!(
        kernel
            .registry
            .counter(&crate::supervisor::RESTARTS, &["door"])
            .get(),
        1
    );
    kernel.requests.request();
    running.await.unwrap();
}

// req: KN-08
#[tokio::test]
async fn a_drain_answers_all_who_wait_in_the_backlog() {
    let (kernel, publisher) = Kernel::new();
    let door = Door::bind("door", "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = door.address();
    let limits = DoorLimits {
        connections: 1024,
        patience: QUICK,
    };
    let mut waiting = Vec::new();
    for _ in 0..400 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            .await
            .unwrap();
        waiting.push(stream);
    }
    let child = Child::new(&SPEC, move |context| {
        serve(context, door.clone(), limits, Arc::new(Host))
    });
    let running = supervise(&kernel, publisher, vec![child]);
    tokio::task::yield_now().await;
    kernel.requests.request();
    let mut answered = 0;
    for stream in &mut waiting {
        answered += usize::from(until_closed(stream).await.1.ends_with(b"hello"));
    }
    assert_eq!(answered, waiting.len());
    assert_eq!(running.await.unwrap(), Outcome::Drained);
}

// req: KN-08
#[tokio::test]
async fn an_answer_that_is_being_read_slowly_is_not_cut_off_by_the_drain() {
    let house = house(8).await;
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    stream
        .write_all(b"GET /big HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    house.kernel.requests.request();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (_, answer) = until_closed(&mut stream).await;
    assert!(answer.len() > 64 << 20, "{} bytes", answer.len());
    assert_eq!(house.running.await.unwrap(), Outcome::Drained);
}

// attack: J-06
#[tokio::test]
async fn a_listener_that_only_fails_is_asked_now_and_then() {
    let peer = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.connect(&peer.local_addr().unwrap().into()).unwrap();
    // No listener at all: readable, and yet nothing can be accepted.
    std::io::Write::write_all(&mut peer.accept().unwrap().0, b"x").unwrap();
    let door = Door::new("door", std::net::TcpListener::from(socket)).unwrap();
    let limits = DoorLimits {
        connections: 8,
        patience: QUICK,
    };
    let (kernel, publisher) = Kernel::new();
    let child = Child::new(&SPEC, move |context| {
        serve(context, door.clone(), limits, Arc::new(Host))
    });
    let running = supervise(&kernel, publisher, vec![child]);
    tokio::time::sleep(crate::limits::ACCEPT_PAUSE * 6).await;
    let errors = kernel.registry.counter(&ACCEPT_ERRORS, &["door"]).get();
    assert!((1..=7).contains(&errors), "{errors} errors");
    kernel.requests.request();
    running.await.unwrap();
}

// Who is cut off from the network leaves without a word, and may hold what it was given until somebody asks.
// req: KN-15
#[tokio::test]
async fn the_system_asks_silent_guests_whether_they_are_still_there() {
    let door = Door::bind("door", ([127, 0, 0, 1], 0).into()).unwrap();
    let _guest = std::net::TcpStream::connect(door.address()).unwrap();
    let (stream, _) = door.listener().unwrap().accept().await.unwrap();
    let socket = socket2::SockRef::from(crate::net::socket_of(&stream).unwrap());
    assert!(socket.keepalive().unwrap());
    let (silence, between, chances) = (
        socket.tcp_keepalive_time().unwrap(),
        socket.tcp_keepalive_interval().unwrap(),
        socket.tcp_keepalive_retries().unwrap(),
    );
    assert!(silence + between * chances <= Duration::from_secs(60));
}
