use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use super::*;
use crate::{GateConfig, Limit, Reason};

const NOW: Duration = Duration::from_secs(100);

/// Key `n` of 60 has `n` of 100 slots in use; "door" is crowded.
fn busy() -> (Gate<String>, Vec<crate::Lease<'static, String>>) {
    let gate = Gate::new(GateConfig::new(Limit::fixed(100))).expect("a good limit");
    let mut leases = Vec::new();
    for n in 0..60 {
        let handle = gate.handle(&format!("key {n}"), NOW);
        leases.extend((0..n).map(|_| handle.try_enter_owned(NOW).expect("free")));
    }
    (gate, leases)
}

// req: GT-09
#[test]
fn a_report_shows_the_fifty_keys_under_the_most_pressure_first() {
    let (gate, leases) = busy();
    let report = gate.report();
    assert_eq!(report.keys.len(), TOP);
    let shown: Vec<_> = report.keys.iter().map(|key| key.in_use).collect();
    assert_eq!(shown, (10..60).rev().collect::<Vec<u32>>());
    assert_eq!(report.keys[0].whose, Whose::Key("key 59".to_owned()));
    assert_eq!(
        (report.keys[0].capacity, report.keys[0].available),
        (100, 41)
    );
    assert_eq!(report.keys[0].last_used, NOW);
    assert_eq!(report.statistics.acquired, leases.len() as u64);
    drop(leases);
    assert!(gate.report().keys.iter().all(|key| key.idle));
}

// req: GT-09
#[test]
fn wait_and_hold_times_are_told_as_quantiles() {
    let gate = Gate::new(GateConfig::new(Limit::fixed(1).with_queue(4))).unwrap();
    let handle = gate.handle(&"door", NOW);
    let held = handle.try_enter(NOW).unwrap();
    let mut wait = pin!(handle.wait(NOW, None));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(wait.as_mut().poll(&mut cx).is_pending());
    let crowded = &gate.report().keys[0];
    assert_eq!(
        (crowded.queued, crowded.queue_max, crowded.idle),
        (1, 4, false)
    );
    assert_eq!(crowded.pressure(), 2.0);
    held.success(NOW + Duration::from_millis(10));
    let report = &gate.report().keys[0];
    assert_eq!((report.wait.samples, report.hold.samples), (1, 1));
    for quantile in [report.wait.p99, report.hold.p50] {
        assert!(quantile >= Duration::from_millis(10) && quantile < Duration::from_millis(13));
    }
}

// req: GT-09
#[test]
fn the_json_of_a_report_is_json_whatever_the_keys_are() {
    let gate = Gate::new(GateConfig::new(Limit::fixed(1))).unwrap();
    let nasty = "quote \" back \\ line \n bell \u{7}".to_owned();
    let _held = gate.try_enter(&nasty, NOW).unwrap();
    gate.try_enter(&nasty, NOW).unwrap_err();
    let text = gate.report().to_json();
    let json: serde_json::Value = serde_json::from_str(&text).expect(&text);
    assert_eq!(json["keys"][0]["key"], nasty);
    assert_eq!(json["keys"][0]["in_use"], 1);
    assert_eq!(json["keys"][0]["breaker"], serde_json::Value::Null);
    assert_eq!(json["rejected"]["saturated"], 1);
    assert_eq!(json["keys_tracked"], 1);
}

// req: GT-09
#[test]
fn the_table_has_a_line_per_key_and_no_control_characters() {
    let gate = Gate::new(GateConfig::new(Limit::fixed(2))).unwrap();
    let _held = gate.try_enter(&"red \u{1b}[31m", NOW).unwrap();
    let text = gate.report().to_string();
    let rows: Vec<_> = text.lines().collect();
    assert_eq!(rows.len(), 4, "{text}");
    assert!(rows[3].starts_with("red ?[31m "), "{text}");
    assert!(!text.contains('\u{1b}'));
}

// req: GT-09
#[test]
fn counts_never_go_back_not_even_when_keys_are_forgotten() {
    let gate = Gate::new(GateConfig::new(Limit::fixed(1))).unwrap();
    for key in 0..100 {
        let lease = gate.try_enter(&key, NOW).unwrap();
        assert_eq!(
            gate.try_enter(&key, NOW).unwrap_err().reason(),
            Reason::Saturated
        );
        drop(lease);
    }
    let before = gate.statistics();
    assert_eq!(
        (before.acquired, before.rejected.total(), before.keys),
        (100, 100, 100)
    );
    assert_eq!(gate.sweep(NOW + Duration::from_secs(3_600)).evicted, 100);
    let after = gate.statistics();
    assert_eq!((after.acquired, after.evicted, after.keys), (100, 100, 0));
}
