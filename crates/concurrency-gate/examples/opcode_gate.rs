//! A server's opcodes, each with its own limit: some wait, some do not, and refused peers are told,
//! but not too often.
#![expect(
    clippy::disallowed_methods,
    reason = "an example is the one who tells the time"
)]

use std::time::{Duration, Instant};

use concurrency_gate::{Gate, GateConfig, Limit, Notices};

const UPLOAD: u16 = 0x10;
const PING: u16 = 0x01;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let gate = Gate::new(GateConfig::new(Limit::fixed(16)))?;
    // Four at once, six may wait; everything else by the default, without waiting.
    gate.register(UPLOAD, Limit::fixed(4).with_queue(6))?;
    let notices = Notices::new(1_024);

    let upload = async |peer: u32| {
        let handle = gate.handle(&UPLOAD, start.elapsed());
        match handle.enter(start.elapsed(), None).await {
            Ok(lease) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                lease.success(start.elapsed());
            }
            Err(rejection) => {
                let notice = notices.notice(&peer, UPLOAD, rejection, start.elapsed());
                println!(
                    "peer {peer} is refused: {rejection}; told: {}",
                    notice.is_some()
                );
            }
        }
    };
    // Twelve uploads of two peers: four run, six wait, two are refused.
    tokio::join!(
        upload(1),
        upload(1),
        upload(1),
        upload(1),
        upload(1),
        upload(1),
        upload(2),
        upload(2),
        upload(2),
        upload(2),
        upload(2),
        upload(2),
    );
    gate.try_enter(&PING, start.elapsed())?
        .success(start.elapsed());

    println!("{}", gate.report());
    let counts = gate.statistics();
    assert_eq!(
        (counts.acquired, counts.queued, counts.rejected.total()),
        (11, 6, 2)
    );
    Ok(())
}
