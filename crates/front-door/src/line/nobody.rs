//! A line with nobody at its other end, for tests of what hangs on one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use http_rules::forward::Forwarding;
use kernel::metrics::{Counter, Registry};

use super::{Desk, Line, Patience, TimeoutCounters};
use crate::pulse::{Clockwork, Stance};
use crate::reminder::Reminder;
use crate::service::{Protocol, Visit};
use crate::settings::DoorSettings;
use crate::taken::Taken;

/// Its clock stands still.
pub(crate) fn line() -> Arc<Line> {
    let desk = Desk {
        clock: Arc::new(Clockwork::new()),
        timeouts: TimeoutCounters::new(&Registry::default()),
        floods: Counter::default(),
    };
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    Arc::new(Line {
        pulse: desk.clock.watch(Stance::Fresh),
        desk: Arc::new(desk),
        patience: Patience::new(&DoorSettings::default()),
        visit: Visit {
            peer: nobody,
            hop: nobody,
            local: nobody,
            tls: None,
            protocol: Protocol::H2,
            forwarding: Forwarding::new(nobody.ip(), false),
            reminder: Reminder::none(),
        },
        taken: Taken::default(),
        waited: 0.into(),
    })
}

/// Counts how often it was woken.
#[derive(Default)]
pub(crate) struct Sleeper(AtomicUsize);

impl Sleeper {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let sleeper = Arc::new(Self::default());
        (sleeper.clone(), sleeper.into())
    }

    /// Since it was asked last.
    pub(crate) fn woken(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
