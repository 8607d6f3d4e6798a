//! Whatever a client sends, a server says of it what a model of a few lines says.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use oap::limits::{CHUNK_BYTES_MAX, WINDOW_BYTES_MIN};
use oap::{Control, Event, Flags, Frame, Header, Hello, Meta, Refusal, Reset, Session, Violation};
use proptest::prelude::*;

const INFLIGHT: usize = 3;

/// Ids that are always wrong; others are told from the highest so far, so that most steps are lawful.
const ZERO: u64 = 97;
const NEVER: u64 = 98;
const USED: u64 = 99;

/// The id of an exchange that may be open, `back` requests ago.
fn known(highest: u64, back: u64) -> u64 {
    match back {
        ZERO => 0,
        NEVER => highest + 5,
        _ => (highest + 2).saturating_sub(back),
    }
}

/// The id of a new exchange, with or without a gap.
fn next(highest: u64, gap: u64) -> u64 {
    match gap {
        ZERO => 0,
        USED => highest,
        _ => highest + 1 + gap,
    }
}

#[derive(Clone, Debug)]
enum Step {
    Open {
        id: u64,
        starts: bool,
        bytes: usize,
    },
    Data {
        id: u64,
        ends: bool,
        bytes: usize,
    },
    Credit {
        id: u64,
        bytes: u32,
    },
    Reset {
        id: u64,
    },
    /// The server's own.
    Answer {
        id: u64,
    },
    Consume {
        id: u64,
        bytes: usize,
    },
    LetGo {
        id: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let id = prop_oneof![60 => 2_u64..6, 1 => Just(ZERO), 1 => Just(NEVER)];
    let new_id = prop_oneof![60 => 0_u64..2, 1 => Just(ZERO), 1 => Just(USED)];
    let bytes = prop_oneof![
        50 => 1_usize..20_000,
        5 => Just(CHUNK_BYTES_MAX),
        1 => Just(CHUNK_BYTES_MAX + 1),
        1 => Just(0),
    ];
    let credit = prop_oneof![1 => Just(0), 20 => 1_u32..100, 1 => Just(i32::MAX as u32)];
    prop_oneof![
        6 => (new_id, any::<bool>(), bytes.clone())
            .prop_map(|(id, starts, bytes)| Step::Open { id, starts, bytes }),
        8 => (id.clone(), prop::bool::weighted(0.1), bytes.clone())
            .prop_map(|(id, ends, bytes)| Step::Data { id, ends, bytes }),
        1 => (id.clone(), credit).prop_map(|(id, bytes)| Step::Credit { id, bytes }),
        1 => id.clone().prop_map(|id| Step::Reset { id }),
        2 => id.clone().prop_map(|id| Step::Answer { id }),
        2 => (id.clone(), bytes).prop_map(|(id, bytes)| Step::Consume { id, bytes }),
        1 => id.prop_map(|id| Step::LetGo { id }),
    ]
}

/// What is said of a frame, in short.
#[derive(Debug, PartialEq)]
enum Said {
    Request,
    Busy,
    Data,
    Credit,
    Reset,
    Dropped,
}

/// The rules once more, as sets and sums rather than as states.
#[derive(Default)]
struct Model {
    highest: u64,
    in_flight: BTreeSet<u64>,
    reset: BTreeSet<u64>,
    /// Requests of which more may come, and how much of it.
    open: BTreeMap<u64, i64>,
    unconsumed: BTreeMap<u64, i64>,
    granted: BTreeMap<u64, i64>,
}

impl Model {
    fn forget(&mut self, id: u64) {
        self.in_flight.remove(&id);
        self.reset.remove(&id);
        self.open.remove(&id);
    }

    fn admit(&mut self, id: u64, starts: bool, bytes: usize) -> Result<Said, Violation> {
        match () {
            () if id == 0 => return Err(Violation::IdZero),
            () if id <= self.highest => return Err(Violation::IdUsed),
            () if starts && bytes > CHUNK_BYTES_MAX => return Err(Violation::ChunkOver),
            () => self.highest = id,
        }
        if self.in_flight.len() == INFLIGHT {
            return Ok(Said::Busy);
        }
        self.in_flight.insert(id);
        self.granted.insert(id, i64::from(WINDOW_BYTES_MIN));
        if starts {
            self.open
                .insert(id, i64::from(WINDOW_BYTES_MIN) - bytes as i64);
            self.unconsumed.insert(id, 0);
        }
        Ok(Said::Request)
    }

    fn data(&mut self, id: u64, ends: bool, bytes: usize) -> Result<Said, Violation> {
        match () {
            () if id == 0 => return Err(Violation::IdZero),
            () if id > self.highest => return Err(Violation::IdUnknown),
            () if !self.in_flight.contains(&id) || self.reset.contains(&id) => {
                return Ok(Said::Dropped);
            }
            () => (),
        }
        let left = self.open.get_mut(&id).ok_or(Violation::Sequence)?;
        match () {
            () if bytes > CHUNK_BYTES_MAX => return Err(Violation::ChunkOver),
            () if bytes == 0 && !ends => return Err(Violation::DataEmpty),
            () if bytes as i64 > *left => return Err(Violation::WindowOver),
            () => *left -= bytes as i64,
        }
        if ends {
            self.open.remove(&id);
        }
        Ok(Said::Data)
    }

    fn control(&mut self, id: u64) -> Result<bool, Violation> {
        match () {
            () if id == 0 => Err(Violation::IdZero),
            () if id > self.highest => Err(Violation::IdUnknown),
            () => Ok(self.in_flight.contains(&id) && !self.reset.contains(&id)),
        }
    }

    fn credit(&mut self, id: u64, bytes: u32) -> Result<Said, Violation> {
        if bytes == 0 {
            return Err(Violation::CreditBad);
        }
        if !self.control(id)? {
            return Ok(Said::Dropped);
        }
        let granted = self.granted.get_mut(&id).expect("it is in flight");
        *granted += i64::from(bytes);
        match *granted <= i64::from(i32::MAX) {
            true => Ok(Said::Credit),
            false => Err(Violation::CreditBad),
        }
    }

    fn consume(&mut self, id: u64, bytes: usize) -> bool {
        if self.reset.contains(&id) {
            return false;
        }
        let Some(left) = self.open.get_mut(&id) else {
            return false;
        };
        let owed = self.unconsumed.entry(id).or_default();
        *owed = (*owed + bytes as i64).min(i64::from(WINDOW_BYTES_MIN) - *left);
        let grants = *owed >= i64::from(WINDOW_BYTES_MIN) / 2;
        if grants {
            *left += std::mem::take(owed);
        }
        grants
    }
}

fn frame(flags: Flags, code: u16, corr_id: u64, bytes: usize) -> Frame {
    let header = Header {
        flags,
        code,
        app_proto: 40,
        tenant: 0,
        corr_id,
    };
    Frame {
        header,
        cap: Bytes::new(),
        payload: Bytes::from(vec![0; bytes]),
    }
}

fn said(event: Event) -> Said {
    match event {
        Event::Request { .. } => Said::Request,
        Event::Refused {
            refusal: Refusal::Busy,
            ..
        } => Said::Busy,
        Event::Data { .. } => Said::Data,
        Event::Credit(_) => Said::Credit,
        Event::Reset { .. } => Said::Reset,
        Event::Dropped => Said::Dropped,
        other => panic!("nobody sent {other:?}"),
    }
}

fn greeted() -> Session {
    let hello = Hello {
        max_inflight: INFLIGHT as u32,
        ..Hello::default()
    };
    let first = Session::client(hello.clone()).hello(&Meta::default());
    let mut server = Session::server(hello);
    let event = server.receive(first.expect("it is the first"));
    assert!(matches!(event, Ok(Event::Hello { .. })));
    server
}

fn check(server: &mut Session, model: &mut Model, step: Step) -> Result<(), Violation> {
    let highest = model.highest;
    let (frame, expected) = match step {
        Step::Open { id, starts, bytes } => {
            let id = next(highest, id);
            let flags = Flags::REQ.with_if(starts, Flags::START);
            (frame(flags, 5, id, bytes), model.admit(id, starts, bytes))
        }
        Step::Data { id, ends, bytes } => {
            let id = known(highest, id);
            let flags = Flags::REQ.with_if(ends, Flags::END);
            (frame(flags, 0, id, bytes), model.data(id, ends, bytes))
        }
        Step::Credit { id, bytes } => {
            let id = known(highest, id);
            (Control::Credit(bytes).encode(id), model.credit(id, bytes))
        }
        Step::Reset { id } => {
            let id = known(highest, id);
            let news = model.control(id);
            if news == Ok(true) {
                model.reset.insert(id);
            }
            let reset = Reset {
                status: 499,
                reason: Bytes::new(),
            };
            let said = |news| if news { Said::Reset } else { Said::Dropped };
            (Control::Reset(reset).encode(id), news.map(said))
        }
        Step::Answer { id } => {
            let id = known(highest, id);
            let open = model.in_flight.contains(&id) && !model.reset.contains(&id);
            let sent = server.respond(id, 200, Bytes::new(), true, false);
            assert_eq!(sent.is_ok(), open);
            if open {
                model.forget(id);
            }
            return Ok(());
        }
        Step::Consume { id, bytes } => {
            let id = known(highest, id);
            let grant = server.consumed(id, bytes);
            assert_eq!(grant.is_some(), model.consume(id, bytes));
            return Ok(());
        }
        Step::LetGo { id } => {
            let id = known(highest, id);
            let untold = model.in_flight.contains(&id) && !model.reset.contains(&id);
            assert_eq!(server.let_go(id).is_some(), untold);
            model.forget(id);
            return Ok(());
        }
    };
    let verdict = server.receive(frame).map(said);
    assert_eq!(verdict, expected);
    verdict.map(|_| ())
}

proptest! {
    // req: TR-03, TR-06
    // attack: G-12
    #[test]
    fn a_server_says_what_the_model_says(steps in prop::collection::vec(step(), 0..60)) {
        let (mut server, mut model) = (greeted(), Model { highest: 1, ..Model::default() });
        for step in steps {
            // The first violation is the last thing that is said.
            if check(&mut server, &mut model, step).is_err() {
                break;
            }
            prop_assert_eq!(server.in_flight(), model.in_flight.len());
        }
    }
}
