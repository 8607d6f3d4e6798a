//! Who is under way: one fetch for each thing that is wanted.

use std::sync::Arc;

use hashbrown::HashMap;
use http_rules::cache::Variant;
use kernel::lock::{Lock, LockSpec};

use super::{Flight, Room};

/// Guards the fetches under way.
pub(crate) static FLIGHTS: LockSpec = LockSpec {
    name: "edge_flights",
    level: 71,
    doc: "the fetches under way by what they fetch; asked once by a request that finds nothing",
};

/// What is fetched: for which address, and for whom, where that is known to matter.
pub(crate) type Course = (Arc<str>, Option<Variant>);

/// The fetches under way.
pub(crate) struct Board {
    room: Arc<Room>,
    flights: Lock<HashMap<Course, Arc<Flight>>>,
}

impl Board {
    /// For fetches that hold no more than so many bytes together.
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            room: Arc::new(Room::new(bytes)),
            flights: Lock::new(&FLIGHTS, HashMap::new()),
        }
    }

    /// The flight on this course; true if it is a new one, which the caller has to see off.
    pub(crate) fn join(&self, course: &Course) -> (Arc<Flight>, bool) {
        let mut flights = self.flights.lock();
        if let Some(flight) = flights.get(course) {
            return (flight.clone(), false);
        }
        let flight = Flight::new(&self.room);
        flights.insert(course.clone(), flight.clone());
        (flight, true)
    }

    /// Takes a flight off: whoever comes from now on needs another.
    pub(crate) fn leave(&self, course: &Course, flight: &Arc<Flight>) {
        let mut flights = self.flights.lock();
        if flights
            .get(course)
            .is_some_and(|known| Arc::ptr_eq(known, flight))
        {
            flights.remove(course);
        }
    }

    /// What these bring is not kept, and nobody joins them any more.
    pub(crate) fn make_void(&self, gone: impl Fn(&str) -> bool) {
        self.flights.lock().retain(|(key, _), flight| {
            let gone = gone(key);
            if gone {
                flight.make_void();
            }
            !gone
        });
    }

    /// Bytes that fetches hold now.
    pub(crate) fn bytes(&self) -> u64 {
        self.room.held()
    }

    pub(crate) fn count(&self) -> usize {
        self.flights.lock().len()
    }
}
