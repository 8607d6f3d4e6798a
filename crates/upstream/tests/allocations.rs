//! Choosing an endpoint allocates nothing, whatever the balancer.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use kernel::blocking::Blocking;
use kernel::clock;
use kernel::metrics::Registry;
use upstream::{Balance, EndpointSpec, Pool, PoolSpec, Tried};

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
