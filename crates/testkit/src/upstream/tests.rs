use super::*;
use crate::http::{Connection, Failure, exchange, get, request_bytes};
use std::time::{Duration, Instant};

/// Long enough for everything that comes to have come.
const SOON: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(2);

async fn with(fault: Fault) -> Upstream {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/f", Reply::from(fault).body(filler(1000)));
    upstream
}

/// Everything that comes back for one request, raw, and whether the connection was closed.
async fn raw(upstream: &Upstream, path: &str) -> (String, bool) {
    let mut client = Connection::open(upstream.addr(), LONG).await.unwrap();
    client
        .send(&request_bytes("GET", "h", path, &[], b""))
        .await
        .unwrap();
    let (bytes, closed) = client.read_until_close(SOON).await;
    (String::from_utf8_lossy(&bytes).into_owned(), closed)
}

fn body_of(raw: &str) -> &str {
    raw.split_once("\r\n\r\n").expect("a whole head").1
}

async fn failure(upstream: &Upstream) -> Failure {
    exchange(
        upstream.addr(),
        &request_bytes("GET", "h", "/f", &[], b""),
        LONG,
    )
    .await
    .unwrap_err()
}

mod plain {
    use super::*;

    #[tokio::test]
    async fn the_default_is_a_small_200_on_a_connection_that_stays() {
        let upstream = Upstream::start().await.unwrap();
        let (raw, closed) = raw(&upstream, "/").await;
        assert!(
            raw.starts_with("HTTP/1.1 200 OK\r\ncontent-length: 19\r\n"),
            "{raw}"
        );
        assert_eq!((body_of(&raw), closed), ("the origin answers\n", false));
    }

    #[tokio::test]
    async fn replies_change_live_and_by_path() {
        let upstream = Upstream::start().await.unwrap();
        upstream.set("/a", Reply::status(503).header("x-y", "z").body("no"));
        upstream.set_default(Reply::status(404));
        let a = get(upstream.addr(), "/a?any=query").await.unwrap();
        assert_eq!(
            (a.status, a.header("x-y"), a.text().as_str()),
            (503, Some("z"), "no")
        );
        assert_eq!(get(upstream.addr(), "/b").await.unwrap().status, 404);
        upstream.clear("/a");
        assert_eq!(get(upstream.addr(), "/a").await.unwrap().status, 404);
    }

    #[tokio::test]
    async fn the_query_chooses_delay_size_and_status() {
        let upstream = Upstream::start().await.unwrap();
        let begun = Instant::now();
        let response = get(upstream.addr(), "/x?delay_ms=60&bytes=1024&status=503")
            .await
            .unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(60));
        assert_eq!((response.status, response.body), (503, filler(1024)));
        for bad in ["bytes=99999999999", "delay_ms=soon", "status=99"] {
            assert_eq!(
                get(upstream.addr(), &format!("/x?{bad}"))
                    .await
                    .unwrap()
                    .status,
                400,
                "{bad}"
            );
        }
    }

    #[tokio::test]
    async fn chunked_head_and_bodiless_answers_are_well_formed() {
        let upstream = Upstream::start().await.unwrap();
        upstream.set("/c", Reply::status(200).body("abc").chunked());
        upstream.set("/n", Reply::status(204));
        let mut client = Connection::open(upstream.addr(), LONG).await.unwrap();
        for (method, path, body) in [
            ("GET", "/c", "abc"),
            ("HEAD", "/c", ""),
            ("GET", "/n", ""),
            ("HEAD", "/", ""),
        ] {
            let response = client
                .exchange(&request_bytes(method, "h", path, &[], b""), LONG)
                .await
                .unwrap();
            assert_eq!(response.text(), body, "{method} {path}");
        }
        assert_eq!(upstream.connections(), 1);
    }

    #[tokio::test]
    async fn each_request_is_recorded_byte_for_byte() {
        let upstream = Upstream::start().await.unwrap();
        let mut client = Connection::open(upstream.addr(), LONG).await.unwrap();
        let first =
            b"POST /p HTTP/1.1\r\nHost: h\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
        let both = [&first[..], b"GET /q HTTP/1.1\r\nX-Y:  z \r\n\r\n"].concat();
        client.send(&both).await.unwrap();
        assert_eq!(client.response(LONG).await.unwrap().status, 200);
        assert_eq!(client.response(LONG).await.unwrap().status, 200);
        let seen = upstream.requests();
        assert_eq!(seen[0].raw, first);
        assert_eq!((seen[0].body.as_slice(), seen[0].index), (&b"a"[..], 0));
        assert_eq!(seen[1].raw, b"GET /q HTTP/1.1\r\nX-Y:  z \r\n\r\n");
        assert_eq!((seen[1].connection, seen[1].index), (0, 1));
    }

    #[tokio::test]
    async fn what_is_no_request_is_recorded_and_refused() {
        let upstream = Upstream::start().await.unwrap();
        let mut client = Connection::open(upstream.addr(), LONG).await.unwrap();
        client.send(b"SMUGGLED\r\n\r\n").await.unwrap();
        let (answer, closed) = client.read_until_close(SOON).await;
        assert!(answer.starts_with(b"HTTP/1.1 400 ") && closed);
        let seen = upstream.requests().remove(0);
        assert_eq!(seen.raw, b"SMUGGLED\r\n\r\n");
        assert!(seen.head.is_err());
    }

    #[tokio::test]
    async fn the_journal_keeps_the_latest_and_counts_all() {
        let upstream = Upstream::start().await.unwrap();
        upstream.set_journal(2);
        for path in ["/1", "/2", "/3"] {
            get(upstream.addr(), path).await.unwrap();
        }
        let kept: Vec<_> = upstream
            .requests()
            .into_iter()
            .map(|r| r.head.unwrap().target)
            .collect();
        assert_eq!(
            (kept, upstream.received()),
            (vec!["/2".to_owned(), "/3".to_owned()], 3)
        );
    }

    #[tokio::test]
    async fn expecting_clients_are_told_to_go_on() {
        let upstream = Upstream::start().await.unwrap();
        let request = b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\nx";
        let response = exchange(upstream.addr(), request, LONG).await.unwrap();
        assert_eq!((response.interim, response.status), (vec![100], 200));
    }

    #[tokio::test]
    async fn dropping_the_origin_ends_its_connections() {
        let upstream = with(Fault::Silence).await;
        let addr = upstream.addr();
        let mut client = Connection::open(addr, LONG).await.unwrap();
        client
            .send(&request_bytes("GET", "h", "/f", &[], b""))
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(upstream);
        assert!(client.read_until_close(LONG).await.1);
        assert_eq!(get(addr, "/").await.unwrap_err(), Failure::ConnectRefused);
    }
}

mod faults {
    use super::*;

    async fn abandoned(upstream: &Upstream, count: u64) {
        let deadline = Instant::now() + LONG;
        while upstream.abandoned() != count {
            assert!(
                Instant::now() < deadline,
                "{} abandoned",
                upstream.abandoned()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn silence_sends_nothing_and_sees_the_client_leave() {
        let upstream = with(Fault::Silence).await;
        assert_eq!(raw(&upstream, "/f").await, (String::new(), false));
        abandoned(&upstream, 1).await;
    }

    #[tokio::test]
    async fn reset_comes_before_any_byte() {
        assert_eq!(
            failure(&with(Fault::Reset).await).await,
            Failure::ResetBeforeByte
        );
    }

    #[tokio::test]
    async fn a_stall_comes_at_its_byte() {
        let upstream = with(Fault::StallAt(300)).await;
        let (raw, closed) = raw(&upstream, "/f").await;
        assert_eq!((body_of(&raw).len(), closed), (300, false));
        assert!(raw.contains("content-length: 1000"));
    }

    #[tokio::test]
    async fn a_reset_comes_at_its_byte_and_loses_none_before() {
        for at in [0, 1, 999, 500_000] {
            let upstream = Upstream::start().await.unwrap();
            upstream.set(
                "/f",
                Reply::from(Fault::ResetAt(at)).body(filler(1_000_000)),
            );
            assert_eq!(failure(&upstream).await, Failure::ResetMidResponse);
            let (raw, closed) = raw(&upstream, "/f").await;
            assert_eq!((body_of(&raw).len(), closed), (at, true));
        }
    }

    #[tokio::test]
    async fn a_half_close_ends_one_direction_only() {
        let upstream = with(Fault::HalfCloseAt(10)).await;
        let mut client = Connection::open(upstream.addr(), LONG).await.unwrap();
        client
            .send(&request_bytes("GET", "h", "/f", &[], b""))
            .await
            .unwrap();
        assert_eq!(client.response(LONG).await.unwrap_err(), Failure::Truncated);
        // A closed socket would answer the first of these with a reset, which the second would meet.
        for _ in 0..2 {
            client.send(b"still there?").await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    #[tokio::test]
    async fn garbage_is_not_http() {
        let upstream = with(Fault::Garbage).await;
        let (raw, closed) = raw(&upstream, "/f").await;
        assert!(!raw.is_empty() && !raw.contains("HTTP") && closed, "{raw}");
    }

    #[tokio::test]
    async fn a_short_length_leaves_bytes_on_an_open_connection() {
        let upstream = with(Fault::LengthShort(7)).await;
        let (raw, closed) = raw(&upstream, "/f").await;
        assert!(raw.contains("content-length: 993\r\n"), "{raw}");
        assert_eq!((body_of(&raw).len(), closed), (1000, false));
    }

    #[tokio::test]
    async fn a_long_length_promises_bytes_that_never_come() {
        let upstream = with(Fault::LengthLong(7)).await;
        assert_eq!(failure(&upstream).await, Failure::Truncated);
        let (raw, closed) = raw(&upstream, "/f").await;
        assert!(raw.contains("content-length: 1007\r\n"), "{raw}");
        assert_eq!((body_of(&raw).len(), closed), (1000, true));
    }

    #[tokio::test]
    async fn a_slow_body_keeps_its_pace() {
        let upstream = with(Fault::Slow { bytes_per_s: 2500 }).await;
        for chunked in [false, true] {
            let slow = Reply::from(Fault::Slow { bytes_per_s: 2500 }).body(filler(1000));
            upstream.set("/f", if chunked { slow.chunked() } else { slow });
            let begun = Instant::now();
            assert_eq!(get(upstream.addr(), "/f").await.unwrap().body, filler(1000));
            let ms = begun.elapsed().as_millis();
            assert!(
                (380..1200).contains(&ms),
                "1000 bytes at 2500/s took {ms} ms"
            );
        }
    }

    #[tokio::test]
    async fn huge_headers_have_the_size_asked_for() {
        let upstream = with(Fault::HugeHeaders { bytes: 300_000 }).await;
        let (raw, _) = raw(&upstream, "/f").await;
        let head_bytes = raw.len() - body_of(&raw).len();
        assert!((300_000..300_100).contains(&head_bytes), "{head_bytes}");
        assert_eq!(get(upstream.addr(), "/f").await.unwrap().status, 200);
    }

    #[tokio::test]
    async fn an_endless_body_ends_only_with_its_reader() {
        let upstream = with(Fault::EndlessBody).await;
        let (raw, closed) = raw(&upstream, "/f").await;
        assert!(raw.len() > 1_000_000 && !closed, "{}", raw.len());
        abandoned(&upstream, 1).await;
    }

    #[tokio::test]
    async fn interim_responses_come_in_the_number_asked_for() {
        let upstream = with(Fault::InterimFlood { count: 5000 }).await;
        let response = get(upstream.addr(), "/f").await.unwrap();
        assert_eq!((response.interim.len(), response.status), (5000, 200));
    }

    #[tokio::test]
    async fn a_connection_closes_unannounced_after_its_requests() {
        let upstream = Upstream::start().await.unwrap();
        upstream.close_after(2);
        let mut client = Connection::open(upstream.addr(), LONG).await.unwrap();
        let request = request_bytes("GET", "h", "/", &[], b"");
        for _ in 0..2 {
            assert!(client.exchange(&request, LONG).await.unwrap().keeps_alive);
        }
        let failure = client.exchange(&request, LONG).await.unwrap_err();
        assert!(
            matches!(
                failure,
                Failure::ClosedBeforeByte | Failure::ResetBeforeByte
            ),
            "{failure:?}"
        );
    }

    #[tokio::test]
    async fn an_announced_close_is_kept() {
        let upstream = Upstream::start().await.unwrap();
        upstream.set("/", Reply::default().header("Connection", "close"));
        assert!(raw(&upstream, "/").await.1);
    }
}
