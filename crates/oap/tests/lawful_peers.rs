//! Two peers that keep the rules never find each other breaking one, lose nothing, and stay within their windows,
//! however their frames cross.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use oap::limits::WINDOW_BYTES_MIN;
use oap::{Event, Frame, Hello, Meta, Opening, Session, Unsent};
use proptest::prelude::*;

const INFLIGHT: u32 = 4;

/// What one side may do next; `which` picks among the exchanges it knows.
#[derive(Clone, Debug)]
enum Step {
    Open {
        bytes: usize,
        ends: bool,
    },
    Send {
        which: usize,
        bytes: usize,
        ends: bool,
    },
    Consume {
        which: usize,
        bytes: usize,
    },
    GiveUp {
        which: usize,
    },
    /// The other side reads so many frames.
    Read(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = 0_usize..50_000;
    prop_oneof![
        2 => (bytes.clone(), any::<bool>()).prop_map(|(bytes, ends)| Step::Open { bytes, ends }),
        6 => (0_usize..8, bytes.clone(), prop::bool::weighted(0.2))
            .prop_map(|(which, bytes, ends)| Step::Send { which, bytes, ends }),
        4 => (0_usize..8, bytes).prop_map(|(which, bytes)| Step::Consume { which, bytes }),
        1 => (0_usize..8).prop_map(|which| Step::GiveUp { which }),
        6 => (1_usize..4).prop_map(Step::Read),
    ]
}

/// One direction of one exchange, as both ends together see it.
#[derive(Debug, Default)]
struct Flow {
    sent: u64,
    received: u64,
    consumed: u64,
    streamed: bool,
    began: bool,
    ended: bool,
    end_seen: bool,
}

#[derive(Debug)]
struct Side {
    session: Session,
    /// Frames on their way to the other side.
    out: VecDeque<Frame>,
    /// What this side sends, by exchange.
    flows: BTreeMap<u64, Flow>,
    /// Exchanges that this side heard of and may answer, or opened.
    known: Vec<u64>,
    /// Exchanges that are over here.
    over: Vec<u64>,
    asks: bool,
}

impl Side {
    fn new(session: Session, asks: bool) -> Self {
        Self {
            session,
            out: VecDeque::new(),
            flows: BTreeMap::new(),
            known: Vec::new(),
            over: Vec::new(),
            asks,
        }
    }

    fn pick(&self, which: usize) -> Option<u64> {
        (!self.known.is_empty()).then(|| self.known[which % self.known.len()])
    }

    fn send(&mut self, id: u64, wish: usize, ends: bool) {
        let Some(most) = self.session.sendable(id) else {
            return;
        };
        let flow = self.flows.entry(id).or_default();
        let bytes = wish.min(most);
        if bytes == 0 && !ends {
            return;
        }
        let payload = Bytes::from(vec![0; bytes]);
        let frame = match !self.asks && !flow.began {
            true => self.session.respond(id, 200, payload, ends, false),
            false => self.session.data(id, payload, ends),
        };
        let frame = frame.expect("what was offered can be sent");
        flow.streamed |= frame.header.is_streamed();
        flow.began = true;
        flow.ended = ends;
        flow.sent += bytes as u64;
        self.out.push_back(frame);
        if ends && !self.asks {
            self.over.push(id);
        }
    }

    fn open(&mut self, wish: usize, ends: bool) {
        let opening = Opening {
            app_proto: 40,
            opcode: 1,
            ..Opening::default()
        };
        let full = self.session.in_flight() >= INFLIGHT as usize;
        match self.session.open(&opening, vec![0; wish].into(), ends) {
            Err(unsent) => assert!(full && unsent == Unsent::Full, "{unsent:?}"),
            Ok(frame) => {
                let id = frame.header.corr_id;
                let flow = Flow {
                    sent: wish as u64,
                    streamed: !ends,
                    began: true,
                    ended: ends,
                    ..Flow::default()
                };
                self.flows.insert(id, flow);
                self.known.push(id);
                self.out.push_back(frame);
            }
        }
    }

    fn give_up(&mut self, id: u64) {
        let frame = match self.asks {
            true => self.session.cancel(id),
            false => self.session.let_go(id),
        };
        self.out.extend(frame);
        self.over.push(id);
    }

    /// Takes what the other side sent; `theirs` is the other side's account of it.
    fn receive(&mut self, frame: Frame, theirs: &mut BTreeMap<u64, Flow>) {
        let id = frame.header.corr_id;
        let event = self
            .session
            .receive(frame)
            .expect("the peer keeps the rules");
        match event {
            Event::Request {
                header, payload, ..
            }
            | Event::Response { header, payload }
            | Event::Data { header, payload } => {
                if !self.known.contains(&id) {
                    self.known.push(id);
                }
                let flow = theirs.get_mut(&id).expect("it was sent");
                flow.received += payload.len() as u64;
                assert!(flow.received <= flow.sent && !flow.end_seen);
                flow.end_seen = header.ends();
                let held = flow.received - flow.consumed;
                assert!(!flow.streamed || held <= u64::from(WINDOW_BYTES_MIN));
                if header.ends() {
                    assert_eq!(flow.received, flow.sent, "nothing is lost");
                }
                if header.ends() && self.asks {
                    self.over.push(id);
                }
            }
            // The server has one more in its books while a reset is on its way.
            Event::Refused { header, refusal } => {
                self.out.push_back(refusal.answer(&header, None));
                let flow = Flow {
                    began: true,
                    ended: true,
                    ..Flow::default()
                };
                self.flows.insert(id, flow);
                self.over.push(id);
            }
            Event::Reset { id, .. } => {
                assert_eq!(self.session.let_go(id), None);
                self.over.push(id);
            }
            Event::Credit(_) | Event::Dropped => (),
            other => panic!("nobody sent {other:?}"),
        }
        assert!(self.session.in_flight() <= INFLIGHT as usize);
    }

    fn consume(&mut self, id: u64, bytes: usize, theirs: &mut BTreeMap<u64, Flow>) {
        let Some(flow) = theirs.get_mut(&id) else {
            return;
        };
        let bytes = (bytes as u64).min(flow.received - flow.consumed);
        flow.consumed += bytes;
        self.out.extend(self.session.consumed(id, bytes as usize));
    }
}

fn greeted() -> [Side; 2] {
    let hello = || Hello {
        max_inflight: INFLIGHT,
        ..Hello::default()
    };
    let (mut client, mut server) = (Session::client(hello()), Session::server(hello()));
    let first = client.hello(&Meta::default()).expect("it is the first");
    let Ok(Event::Hello { answer, .. }) = server.receive(first) else {
        panic!("a hello is understood");
    };
    assert_eq!(client.receive(answer), Ok(Event::Greeted));
    [Side::new(client, true), Side::new(server, false)]
}

fn read(to: &mut Side, from: &mut Side, frames: usize) {
    for _ in 0..frames {
        let Some(frame) = from.out.pop_front() else {
            return;
        };
        to.receive(frame, &mut from.flows);
    }
}

/// Lets everything that is under way arrive, be consumed and be answered.
fn settle([client, server]: &mut [Side; 2]) {
    for _ in 0..200 {
        read(server, client, usize::MAX);
        read(client, server, usize::MAX);
        for id in client.known.clone() {
            client.consume(id, usize::MAX, &mut server.flows);
            server.consume(id, usize::MAX, &mut client.flows);
            client.send(id, 1, true);
            server.send(id, 1, true);
        }
        let quiet = client.out.is_empty() && server.out.is_empty();
        if quiet && client.session.in_flight() == 0 {
            return;
        }
    }
    panic!("something is stuck: {client:?} {server:?}");
}

proptest! {
    // req: TR-03, TR-06
    #[test]
    fn peers_that_keep_the_rules_get_along(steps in prop::collection::vec((any::<bool>(), step()), 0..120)) {
        let mut sides = greeted();
        for (is_client, step) in steps {
            let [client, server] = &mut sides;
            let (one, other) = if is_client { (client, server) } else { (server, client) };
            match step {
                Step::Open { bytes, ends } if one.asks => one.open(bytes, ends),
                Step::Open { .. } => (),
                Step::Send { which, bytes, ends } => {
                    one.pick(which).into_iter().for_each(|id| one.send(id, bytes, ends));
                }
                Step::Consume { which, bytes } => {
                    one.pick(which).into_iter().for_each(|id| one.consume(id, bytes, &mut other.flows));
                }
                Step::GiveUp { which } => one.pick(which).into_iter().for_each(|id| one.give_up(id)),
                Step::Read(frames) => read(other, one, frames),
            }
        }
        settle(&mut sides);
        let [client, server] = &sides;
        prop_assert_eq!((client.session.in_flight(), server.session.in_flight()), (0, 0));
        for id in &client.known {
            prop_assert!(client.over.contains(id), "{} has neither an answer nor an end", id);
        }
    }
}
