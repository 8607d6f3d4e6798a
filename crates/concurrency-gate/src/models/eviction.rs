//! Models of a key that is forgotten and remembered.

use std::time::Duration;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::{NOW, catches, explore, gate};
use crate::bug::Bug;
use crate::{Gate, Limit};

const MUCH_LATER: Duration = Duration::from_secs(1_000_000);

fn visit(gate: &Gate<u8>, inside: &AtomicU32) {
    // The handle is looked up first, as a connection does: the entry may be swept in between.
    let handle = gate.handle(&0, NOW);
    if let Ok(lease) = handle.try_enter(NOW) {
        let others = inside.fetch_add(1, Ordering::AcqRel);
        assert_eq!(others, 0, "two entries of one key admit");
        inside.fetch_sub(1, Ordering::AcqRel);
        drop(lease);
    }
}

/// Two come, with a sweep in between, to a key that was idle for long: never are both inside.
fn two_entries_of_one_key_never_admit() {
    let gate = gate(Limit::fixed(1));
    drop(gate.handle(&0, NOW));
    let inside = Arc::new(AtomicU32::new(0));
    let visitor = {
        let (gate, inside) = (gate.clone(), Arc::clone(&inside));
        thread::spawn(move || visit(&gate, &inside))
    };
    let sweeper = {
        let gate = gate.clone();
        thread::spawn(move || gate.sweep(MUCH_LATER).evicted)
    };
    visit(&gate, &inside);
    visitor.join().unwrap();
    let evicted = sweeper.join().unwrap();
    assert!(evicted <= 1);
    assert_eq!(gate.statistics().evicted, evicted as u64);
}

// req: GT-05
// attack: H-12
#[test]
fn eviction_leaves_one_entry() {
    explore("gate evict", two_entries_of_one_key_never_admit);
}

// req: GT-05
#[test]
fn bugs_of_eviction_are_caught() {
    catches(
        Bug::EvictUnderHandle,
        "models::eviction::eviction_leaves_one_entry",
    );
}
