//! What a reload changes of the overlay: who may come, and how its doors are held.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use front_door::{DoorSettings, Timeouts};
use kernel::config::Commit;

use super::config::OverlayText;
use super::guard::Guard;

/// One config's worth of it.
pub(crate) struct Front {
    pub(crate) guard: Guard,
    pub(crate) body_bytes: u64,
    pub(crate) plain: Arc<DoorSettings>,
    pub(crate) secure: Arc<DoorSettings>,
    pub(crate) text: OverlayText,
}

/// The one in force; clones share it.
#[derive(Clone)]
pub(crate) struct LiveFront(Arc<ArcSwap<Front>>);

impl Front {
    fn new(text: &OverlayText) -> Result<Self, String> {
        let (plain, secure) = doors(text)?;
        Ok(Self {
            guard: Guard::new(text),
            body_bytes: text.limits.body_bytes,
            plain: Arc::new(plain),
            secure: Arc::new(secure),
            text: text.clone(),
        })
    }
}

impl LiveFront {
    /// By this config, or what is wrong with it. Reads certificates.
    pub(crate) fn new(text: &OverlayText) -> Result<Self, String> {
        Ok(Self(Arc::new(ArcSwap::from_pointee(Front::new(text)?))))
    }

    pub(crate) fn load(&self) -> Arc<Front> {
        self.0.load_full()
    }

    /// Makes ready for another config, which holds from the next request after the commit on.
    pub(crate) fn prepare(&self, text: &OverlayText) -> Result<Commit, String> {
        let (live, front) = (self.clone(), Arc::new(Front::new(text)?));
        Ok(Box::new(move || live.0.store(front)))
    }

    /// Reads the certificates again, and takes them over if they can be used.
    pub(crate) fn renew(&self) -> Result<(), String> {
        let text = self.load().text.clone();
        self.prepare(&text).map(|commit| commit())
    }
}

fn doors(text: &OverlayText) -> Result<(DoorSettings, DoorSettings), String> {
    let ms = Duration::from_millis;
    let plain = DoorSettings {
        max_connections: text.limits.connections,
        streams_per_connection: text.limits.streams,
        timeouts: Timeouts {
            handshake: ms(text.timeouts.handshake_ms),
            head: ms(text.timeouts.head_ms),
            body: ms(text.timeouts.body_ms),
            write: ms(text.timeouts.write_ms),
            idle: ms(text.timeouts.idle_ms),
        },
        ..DoorSettings::default()
    };
    plain
        .with_accepts_per_ip(text.limits.accepts_per_ip)?
        .plain_and_secure(text.tls.as_ref())
}

#[cfg(test)]
mod tests {
    use rate_quota::Rate;

    use super::*;

    // req: ND-07
    #[test]
    fn every_bound_of_the_config_holds_at_the_doors() {
        let mut text = OverlayText::default();
        (text.limits.connections, text.limits.streams) = (11, 12);
        text.limits.accepts_per_ip = 13;
        text.limits.body_bytes = 2048;
        let times = &mut text.timeouts;
        (times.head_ms, times.body_ms, times.write_ms) = (14, 15, 16);
        (times.idle_ms, times.handshake_ms) = (17, 18);
        let front = Front::new(&text).expect("no certificates to read");
        assert_eq!(front.body_bytes, 2048);
        for door in [&front.plain, &front.secure] {
            let ms = |time: Duration| time.as_millis();
            let times = &door.timeouts;
            assert_eq!(
                (door.max_connections, door.streams_per_connection),
                (11, 12)
            );
            assert_eq!(door.accept_rate, Rate::new(13, Duration::from_secs(1)).ok());
            assert_eq!(
                (ms(times.head), ms(times.body), ms(times.write)),
                (14, 15, 16)
            );
            assert_eq!((ms(times.idle), ms(times.handshake)), (17, 18));
        }
        text.limits.accepts_per_ip = 0;
        let front = Front::new(&text).expect("no certificates to read");
        assert_eq!(front.plain.accept_rate, None);
    }
}
