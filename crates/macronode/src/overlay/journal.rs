//! The last events of the node under their numbers: who comes back is told what it missed, or that it missed too much.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::bus::{Event, Notice, Snapshot};
use kernel::lock::{Lock, LockSpec};
use kernel::queue::{self, OnFull, QueueSpec};
use serde_json::{Value, json};
use tokio::sync::watch;

/// Events that are kept for who comes back.
pub(crate) const KEPT: usize = 256;

/// Guards the events.
pub(crate) static JOURNAL: LockSpec = LockSpec {
    name: "overlay_journal",
    level: 80,
    doc: "the last events and what all of them add up to; taken to write one down, and by each stream to read on",
};
/// Wakes streams.
pub(crate) static LATEST: QueueSpec = QueueSpec {
    name: "overlay_latest",
    capacity: 1,
    on_full: OnFull::LastWriteWins,
    doc: "number of the last event: overlay.events → every stream of events",
};

/// The last events.
pub(crate) struct Journal {
    /// Tells the numbers of this process from those of another.
    era: u64,
    book: Lock<Book>,
    latest: watch::Sender<u64>,
}

#[derive(Default)]
struct Book {
    /// The number of the last event; the first is 1.
    last: u64,
    kept: VecDeque<Arc<Entry>>,
    state: Snapshot,
}

/// An event that was written down.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) kind: &'static str,
    pub(crate) data: Value,
}

/// What a reader finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// These came since, in order; none: it has read everything.
    Entries(Vec<Arc<Entry>>),
    /// So many came that they are not kept; this is what they add up to, up to this number.
    Lagged {
        missed: u64,
        number: u64,
        state: Box<Snapshot>,
    },
}

impl Journal {
    pub(crate) fn new(era: u64) -> Self {
        Self {
            era,
            book: Lock::new(&JOURNAL, Book::default()),
            latest: queue::latest(&LATEST, 0).0,
        }
    }

    /// Writes down what the bus says.
    pub(crate) fn note(&self, notice: Notice) {
        let mut book = self.book.lock();
        let (kind, data) = match notice {
            Notice::Event(event) => {
                book.state.apply(&event);
                told(&event)
            }
            Notice::Reconcile(state) => {
                book.state = state;
                ("snapshot", json!(book.state))
            }
        };
        book.last += 1;
        let number = book.last;
        book.kept.push_back(Arc::new(Entry { number, kind, data }));
        if book.kept.len() > KEPT {
            book.kept.pop_front();
        }
        drop(book);
        self.latest.send_replace(number);
    }

    /// Where a stream begins that takes up nothing: everything so far, added up.
    pub(crate) fn begin(&self) -> (u64, Snapshot) {
        let book = self.book.lock();
        (book.last, book.state.clone())
    }

    /// What came after this number.
    pub(crate) fn after(&self, number: u64) -> Reading {
        let book = self.book.lock();
        let missing = book.last.saturating_sub(number);
        if missing > book.kept.len() as u64 {
            return Reading::Lagged {
                missed: missing,
                number: book.last,
                state: Box::new(book.state.clone()),
            };
        }
        let read = book.kept.len() - missing as usize;
        Reading::Entries(book.kept.range(read..).cloned().collect())
    }

    /// Told the number of each new event.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }

    /// A number as clients know it.
    pub(crate) fn id(&self, number: u64) -> String {
        format!("{:x}-{number}", self.era)
    }

    /// The number behind an id, if this process gave it out.
    pub(crate) fn number(&self, id: &str) -> Option<u64> {
        let (era, number) = id.split_once('-')?;
        let number = number.parse().ok()?;
        let ours = u64::from_str_radix(era, 16).ok()? == self.era;
        (ours && number <= self.book.lock().last).then_some(number)
    }
}

fn told(event: &Event) -> (&'static str, Value) {
    match event {
        Event::Health { service, state } => {
            ("health", json!({ "service": service, "state": state }))
        }
        Event::ConfigUpdated { generation } => ("config", json!({ "generation": generation })),
        Event::Crashed { service, reason } => {
            ("crashed", json!({ "service": service, "reason": **reason }))
        }
        Event::Shutdown { stage } => ("shutdown", json!({ "stage": stage })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(generation: u64) -> Notice {
        Notice::Event(Event::ConfigUpdated { generation })
    }

    fn numbers(reading: Reading) -> Vec<u64> {
        match reading {
            Reading::Entries(entries) => entries.iter().map(|entry| entry.number).collect(),
            Reading::Lagged { .. } => panic!("lagged"),
        }
    }

    // req: ND-09, KN-12
    #[test]
    fn who_comes_back_in_time_reads_on_where_it_stopped() {
        let journal = Journal::new(0xabc);
        for generation in 1..=5 {
            journal.note(config(generation));
        }
        assert_eq!(numbers(journal.after(3)), [4, 5]);
        assert_eq!(numbers(journal.after(5)), [0; 0]);
        assert_eq!(journal.number(&journal.id(3)), Some(3));
        for foreign in ["abd-3", "abc-6", "abc", "3", "abc--3", ""] {
            assert_eq!(journal.number(foreign), None, "{foreign}");
        }
    }

    // req: ND-09, KN-12
    #[test]
    fn who_fell_behind_is_told_by_how_much_and_what_is_true_now() {
        let journal = Journal::new(1);
        let events = KEPT as u64 + 10;
        for generation in 1..=events {
            journal.note(config(generation));
        }
        assert_eq!(numbers(journal.after(10)).len(), KEPT);
        let Reading::Lagged {
            missed,
            number,
            state,
        } = journal.after(9)
        else {
            panic!("nothing was missed");
        };
        assert_eq!((missed, number), (events - 9, events));
        assert_eq!(state.config_generation, events);
        assert_eq!(journal.begin().0, events);
        assert_eq!(journal.book.lock().kept.len(), KEPT, "it never grows");
    }

    // req: KN-12
    #[test]
    fn what_the_overlay_itself_missed_is_a_snapshot_for_everybody() {
        let journal = Journal::new(1);
        let truth = Snapshot {
            config_generation: 7,
            ..Snapshot::default()
        };
        journal.note(Notice::Reconcile(truth));
        let Reading::Entries(entries) = journal.after(0) else {
            panic!("lagged");
        };
        assert_eq!(entries[0].kind, "snapshot");
        assert_eq!(entries[0].data["config_generation"], 7);
    }
}
