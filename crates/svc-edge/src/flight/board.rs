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
    flights: Lock<Flights>,
}

#[derive(Default)]
struct Flights {
    /// Those that can be joined.
    under_way: HashMap<Course, Arc<Flight>>,
    /// Those that have landed, while what they brought is being written down: it may be forgotten meanwhile.
    landed: Vec<(Arc<str>, Arc<Flight>)>,
}

impl Flights {
    fn take_off(&mut self, course: &Course, flight: &Arc<Flight>) {
        let known = self.under_way.get(course);
        if known.is_some_and(|known| Arc::ptr_eq(known, flight)) {
            self.under_way.remove(course);
        }
    }
}

impl Board {
    /// For fetches that hold no more than so many bytes together.
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            room: Arc::new(Room::new(bytes)),
            flights: Lock::new(&FLIGHTS, Flights::default()),
        }
    }

    /// The flight on this course; true if it is a new one, which the caller has to see off.
    pub(crate) fn join(&self, course: &Course) -> (Arc<Flight>, bool) {
        let under_way = &mut self.flights.lock().under_way;
        if let Some(flight) = under_way.get(course) {
            return (flight.clone(), false);
        }
        let flight = Flight::new(&self.room);
        under_way.insert(course.clone(), flight.clone());
        (flight, true)
    }

    /// Notes that a flight has landed: whoever comes from now on needs another, if not what it brought.
    pub(crate) fn land(&self, course: &Course, flight: &Arc<Flight>) {
        let mut flights = self.flights.lock();
        flights.take_off(course, flight);
        flights.landed.push((course.0.clone(), flight.clone()));
    }

    /// Takes a flight off whose work is over.
    pub(crate) fn leave(&self, course: &Course, flight: &Arc<Flight>) {
        let mut flights = self.flights.lock();
        flights.take_off(course, flight);
        flights
            .landed
            .retain(|(_, landed)| !Arc::ptr_eq(landed, flight));
    }

    /// What these bring is not kept, and nobody joins them any more.
    pub(crate) fn make_void(&self, gone: impl Fn(&str) -> bool) {
        let mut flights = self.flights.lock();
        let landed = flights.landed.iter();
        landed
            .filter(|(key, _)| gone(key))
            .for_each(|(_, flight)| flight.make_void());
        flights.under_way.retain(|(key, _), flight| {
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
        self.flights.lock().under_way.len()
    }
}
