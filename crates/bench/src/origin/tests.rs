use super::*;
use crate::load::wire::ask;

pub(crate) fn start(places: usize, service_ms: u64) -> SocketAddr {
    let port = testkit::process::Port::reserve().unwrap();
    let settings = Settings {
        listen: port.addr(),
        places,
        service: Duration::from_millis(service_ms),
        core: None,
        more_addresses: 2,
    };
    std::thread::spawn(move || serve(settings));
    while TcpStream::connect(port.addr()).is_err() {
        std::thread::sleep(Duration::from_millis(1));
    }
    port.addr()
}

#[test]
fn bytes_come_at_once_in_the_length_asked_for() {
    let origin = start(1, 20);
    for length in [0, 1, 1024, 65_536, 1_000_000] {
        let (status, body) = ask(origin, &format!("/bytes/{length}")).unwrap();
        assert_eq!((status, body.len()), (200, length));
    }
    assert_eq!(ask(origin, "/bytes/-1").unwrap().0, 404);
    assert_eq!(ask(origin, "/nothing").unwrap().0, 404);
}

#[test]
fn what_may_be_kept_says_so_and_routes_lead_to_the_same() {
    let origin = start(1, 20);
    let mut client = TcpStream::connect(origin).unwrap();
    let request = b"GET /r12/bytes/3?fresh=1&n=9 HTTP/1.0\r\n\r\n";
    client.write_all(request).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("Cache-Control: max-age=3600\r\n"));
    assert!(answer.ends_with("\r\n\r\nxxx"));
    let stats = || ask(origin, "/stats").unwrap().1;
    assert!(String::from_utf8(stats()).unwrap().contains("\"bytes\":1}"));
    assert_eq!(ask(origin, "/rx/bytes/3").unwrap().0, 404);
}

#[test]
fn all_addresses_lead_to_the_same_origin() {
    let origin = start(1, 20);
    for host in [[127, 64, 0, 1], [127, 64, 0, 2]] {
        let address = SocketAddr::from((host, origin.port()));
        assert_eq!(ask(address, "/bytes/5").unwrap().1.len(), 5);
    }
}

#[test]
fn work_takes_its_time_and_its_turn() {
    let origin = start(2, 30);
    let began = Instant::now();
    let clients: Vec<_> = (0..6)
        .map(|_| std::thread::spawn(move || ask(origin, "/work").unwrap().0))
        .collect();
    for client in clients {
        assert_eq!(client.join().unwrap(), 200);
    }
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(90), "{took:?}");
    assert!(took < Duration::from_millis(900), "{took:?}");
}

#[test]
fn control_changes_places_and_time_while_it_runs() {
    let origin = start(1, 5_000);
    let (status, _) = ask(origin, "/control?places=8&service_ms=1").unwrap();
    assert_eq!(status, 200);
    let began = Instant::now();
    assert_eq!(ask(origin, "/work").unwrap().0, 200);
    assert_eq!(ask(origin, "/work?ms=40").unwrap().0, 200);
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(41) && took < Duration::from_secs(4));
}

#[test]
fn work_is_done_for_the_departed_too() {
    let origin = start(1, 50);
    let mut leaver = TcpStream::connect(origin).unwrap();
    leaver
        .write_all(b"GET /work HTTP/1.1\r\nHost: o\r\n\r\n")
        .unwrap();
    std::thread::sleep(Duration::from_millis(20));
    drop(leaver);
    std::thread::sleep(Duration::from_millis(200));
    let (_, body) = ask(origin, "/stats").unwrap();
    let stats: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&stats["done"], &stats["departed"]), (&1.into(), &1.into()));
}

#[test]
fn requests_sent_together_are_answered_in_their_order() {
    let origin = start(4, 1);
    let mut client = TcpStream::connect(origin).unwrap();
    let ask = |path| format!("GET {path} HTTP/1.1\r\nHost: o\r\n\r\n");
    let all = ask("/work?ms=30")
        + &ask("/bytes/3")
        + &ask("/work?ms=1")
        + "GET /bytes/5 HTTP/1.0\r\n\r\n";
    client.write_all(all.as_bytes()).unwrap();
    let mut answers = String::new();
    client.read_to_string(&mut answers).unwrap();
    let lengths: Vec<&str> = answers
        .split("Content-Length: ")
        .skip(1)
        .filter_map(|rest| rest.split('\r').next())
        .collect();
    assert_eq!(lengths, ["64", "3", "64", "5"]);
}

#[test]
fn as_many_fail_as_are_asked_to() {
    let origin = start(8, 1);
    let failed = |percent: u32| {
        let path = format!("/work?failing={percent}");
        let statuses = (0..100).map(|_| ask(origin, &path).unwrap().0);
        statuses.filter(|status| *status == 500).count()
    };
    assert_eq!(failed(0), 0);
    assert_eq!(failed(100), 100);
    let some = failed(30);
    assert!((15..=45).contains(&some), "{some} of a hundred");
}

#[test]
fn one_in_ten_takes_eleven_times_as_long_and_all_together_as_long_as_ever() {
    let port = testkit::process::Port::reserve().unwrap();
    let mut origin = Origin::new(Settings {
        listen: port.addr(),
        places: 1,
        service: Duration::from_millis(20),
        core: None,
        more_addresses: 2,
    });
    let mut sum = Duration::ZERO;
    for _ in 0..1_000 {
        let lot = origin.lot();
        let service = uneven(Duration::from_millis(20), lot);
        assert!([10, 110].contains(&service.as_millis()));
        sum += service;
    }
    let mean = (sum / 1_000).as_secs_f64() * 1e3;
    assert!((19.0..21.0).contains(&mean), "{mean} ms");
}
