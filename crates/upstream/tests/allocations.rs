//! Choosing an endpoint allocates nothing, whatever the balancer; an exchange only what its fields are held in.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use kernel::blocking::Blocking;
use kernel::clock;
use kernel::metrics::Registry;
use upstream::{Ask, Balance, EndpointSpec, Pool, PoolSpec, Tried};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes on to the system's allocator unchanged; counting touches no memory of its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is ending no longer counts.
        let _ended = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above with this layout, so from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn pool(balance: Balance, endpoints: u8) -> std::sync::Arc<Pool> {
    let endpoint =
        |n| EndpointSpec::parse(&format!("http://10.0.0.{n}:80")).expect("an address is one");
    let registry = Registry::default();
    let spec = PoolSpec {
        balance,
        ..PoolSpec::new("test", (1..=endpoints).map(endpoint).collect())
    };
    Pool::new(spec, &registry, Blocking::new(&registry))
}

// req: GW-11
#[tokio::test]
async fn choosing_allocates_nothing() {
    let balances = [
        Balance::RoundRobin,
        Balance::LeastRequest,
        Balance::PeakEwma,
        Balance::Hash,
    ];
    for balance in balances {
        for endpoints in [1, 2, 20] {
            let pool = pool(balance, endpoints);
            let now = clock::now();
            let choose = || drop(pool.pick(now, Some(7), &Tried::default()).unwrap());
            choose();
            let before = COUNT.get();
            assert!(before > 0, "the allocator counts");
            (0..100).for_each(|_| choose());
            assert_eq!(COUNT.get(), before, "{balance:?} among {endpoints}");
        }
    }
}

/// Answers every request on one connection, from a thread whose allocations are its own.
#[expect(
    clippy::disallowed_methods,
    reason = "a peer on a thread of its own, so that its allocations are not counted; it ends with its client"
)]
fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut heard = [0; 1024];
        while stream.read(&mut heard).is_ok_and(|read| read > 0) {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1024\r\n\r\n";
            stream
                .write_all(&[head.as_bytes(), &[b'x'; 1024]].concat())
                .expect("a client that reads");
        }
    });
    address
}

async fn exchange(pool: &Pool, request: &http::request::Parts) -> usize {
    let until = clock::now() + Duration::from_secs(10);
    let pick = pool
        .pick(clock::now(), None, &Tried::default())
        .expect("an endpoint");
    let ready = pick.ready(until).await.expect("a connection");
    let asked = ready.ask(Ask::of(request), Empty::<Bytes>::new(), until);
    let mut body = asked.await.expect("an answer").into_body();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        length += frame
            .expect("a body")
            .into_data()
            .expect("no trailers")
            .len();
    }
    length
}

/// Two for the map of the fields, and one for each of the two values. The buffer they were read into is used again, and
/// so it is once the body is gone, which is a slice of it.
const PER_EXCHANGE: u64 = 4;

// req: GW-01
#[tokio::test]
async fn an_exchange_on_a_connection_in_use_allocates_what_its_fields_are_held_in() {
    let endpoint = EndpointSpec::parse(&format!("http://{}", origin())).unwrap();
    let registry = Registry::default();
    let spec = PoolSpec::new("test", vec![endpoint]);
    let pool = Pool::new(spec, &registry, Blocking::new(&registry));
    let request = http::Request::get("/").header("host", "test.example");
    let (request, ()) = request.body(()).unwrap().into_parts();
    exchange(&pool, &request).await;
    let before = COUNT.get();
    for _ in 0..100 {
        assert_eq!(exchange(&pool, &request).await, 1024);
    }
    let count = COUNT.get() - before;
    // An answer may come in two pieces now and then.
    assert!(
        count <= 100 * PER_EXCHANGE + 20,
        "{count} for 100 exchanges"
    );
}
