//! An adaptive limit in front of a fragile service: it finds what the service can do, backs off when
//! the service slows down, and comes back as soon as it sees that fewer at once are no quicker.
//!
//! The service and its time are simulated, so this ends at once.

use std::time::Duration;

use concurrency_gate::{Bounds, Gate, GateConfig, Lease, Limit};

/// Does 40 things at once in 10 ms each; beyond that everything takes longer.
fn hold_time(inside: u32, slow_down: u32) -> Duration {
    let crowding = f64::from(inside) / 40.0;
    Duration::from_millis(10).mul_f64(crowding.max(1.0)) * slow_down
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bounds = Bounds { min: 2, max: 200 };
    let gate = Gate::new(GateConfig::new(Limit::adaptive(5, bounds)))?;
    let mut now = Duration::ZERO;
    let service = gate.handle(&"fragile", now);
    let mut shown = 0;
    let mut extremes = (u32::MAX, 0);

    while now < Duration::from_secs(90) {
        let slow_down = if (30..36).contains(&now.as_secs()) {
            8
        } else {
            1
        };
        // More want in than ever fit.
        let inside: Vec<Lease<'_, _>> =
            std::iter::from_fn(|| service.try_enter(now).ok()).collect();
        now += hold_time(inside.len() as u32, slow_down);
        inside.into_iter().for_each(|lease| lease.success(now));

        if (30..36).contains(&now.as_secs()) {
            extremes.0 = extremes.0.min(service.limit());
        }
        extremes.1 = extremes.1.max(service.limit());
        if now.as_secs() >= shown {
            shown += 3;
            let limit = service.limit();
            println!(
                "{:>3} s {limit:>4} {}",
                now.as_secs(),
                "#".repeat(limit as usize)
            );
        }
    }
    let (lowest, highest) = extremes;
    assert!(lowest < 30 && (30..=80).contains(&highest) && service.limit() >= 30);
    println!(
        "lowest while slow {lowest}, highest {highest}, at the end {}",
        service.limit()
    );
    Ok(())
}
