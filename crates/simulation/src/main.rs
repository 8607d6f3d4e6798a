//! `simulation`: a day of the node in virtual time, from a seed.

use std::process::ExitCode;

use simulation::{arguments, determinism, heap, run};

#[global_allocator]
static HEAP: heap::Heap = heap::Heap;

fn main() -> ExitCode {
    quiet_the_killed();
    let done = determinism::fix_addresses()
        .map_err(|error| error.to_string())
        .and_then(|()| arguments::plan(std::env::args().skip(1)))
        .and_then(run::run);
    match done {
        Ok(report) => {
            println!("{report}");
            ExitCode::from(u8::from(report.violations > 0))
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Workers are killed by the hundred, and each would say so.
fn quiet_the_killed() {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload().downcast_ref::<String>();
        if !said.is_some_and(|said| said.ends_with("was killed")) {
            loud(panic);
        }
    }));
}
