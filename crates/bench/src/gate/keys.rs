//! Many keys: looked up each time, and a million of them at rest.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use concurrency_gate::{Gate, GateConfig, Limit};
use dashmap::DashMap;
use tokio::sync::Semaphore;

use super::NOW;
use crate::clock::Clock;
use crate::frame::Cost;

const FEW: u64 = 1_000;
const MILLION: u64 = 1_000_000;

/// Keys in an order that no cache foresees.
fn scattered(below: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(0x9e37_79b9_u64), |state| {
        Some(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        )
    })
    .map(move |state| (state >> 33) % below)
}

fn filled(keys: u64) -> Gate<u64> {
    let config = GateConfig {
        keys_max: 2 * MILLION as usize,
        ..GateConfig::new(Limit::fixed(8))
    };
    let gate = Gate::new(config).expect("the limit makes sense");
    for key in 0..keys {
        drop(gate.try_enter(&key, NOW));
    }
    gate
}

pub(super) fn gate(operations: usize) -> Cost {
    let gate = filled(FEW);
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for key in scattered(FEW).take(operations) {
                drop(black_box(gate.try_enter(&key, NOW)));
            }
        })
    })
}

pub(super) fn dashmap(operations: usize) -> Cost {
    let map: DashMap<u64, Arc<Semaphore>> = (0..FEW)
        .map(|key| (key, Arc::new(Semaphore::new(8))))
        .collect();
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for key in scattered(FEW).take(operations) {
                let semaphore = map.get(&key).map(|semaphore| Arc::clone(&semaphore));
                let permit = semaphore.map(Semaphore::try_acquire_owned);
                drop(black_box(permit));
            }
        })
    })
}

pub(super) fn lookup(operations: usize) -> Cost {
    let mut gate = None;
    Box::new(move || {
        let gate = gate.get_or_insert_with(|| filled(MILLION));
        Clock::Wall.nanos_each(operations, || {
            for key in scattered(MILLION).take(operations) {
                drop(black_box(gate.handle(&key, NOW)));
            }
        })
    })
}

/// The same lookups in a map of the standard library, with the same hash and without a lock: what this machine's memory
/// takes for them.
pub(super) fn lookup_in_map(operations: usize) -> Cost {
    let mut map = None;
    Box::new(move || {
        let map: &mut HashMap<u64, Arc<Semaphore>> = map.get_or_insert_with(|| {
            let entry = |key| (key, Arc::new(Semaphore::new(8)));
            (0..MILLION).map(entry).collect()
        });
        Clock::Wall.nanos_each(operations, || {
            for key in scattered(MILLION).take(operations) {
                drop(black_box(map.get(&key).map(Arc::clone)));
            }
        })
    })
}

/// Bytes the allocator has handed out for a million used keys, its own overhead included.
pub(super) fn memory() -> Cost {
    Box::new(|| {
        let before = allocated_bytes();
        let gate = filled(MILLION);
        let after = allocated_bytes();
        black_box(&gate);
        (after - before) as f64 / MILLION as f64
    })
}

fn allocated_bytes() -> usize {
    // SAFETY: the call takes nothing and returns numbers.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}
