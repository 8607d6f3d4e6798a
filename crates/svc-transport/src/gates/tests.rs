use futures_util::future::BoxFuture;

use super::*;
use crate::reject::Refusal;
use crate::service::{Ask, Reply};

static OPCODES: [Opcode; 2] = [opcode(1, 8), opcode(2, 9)];

const fn opcode(code: u16, inflight: u32) -> Opcode {
    Opcode {
        code,
        name: "test",
        inflight,
        waiting: 0,
        deadline: Duration::from_secs(1),
        idempotent: true,
    }
}

struct Nobody;

impl Handler for Nobody {
    fn opcodes(&self) -> &'static [Opcode] {
        &OPCODES
    }

    fn handle<'a>(&'a self, _ask: &'a Ask) -> BoxFuture<'a, Result<Reply, Refusal>> {
        Box::pin(std::future::pending())
    }
}

fn services() -> Services {
    let nobody: Arc<dyn Handler> = Arc::new(Nobody);
    [(40, nobody.clone()), (41, nobody)].into()
}

fn text(app_proto: u16, opcode: u16) -> GateText {
    GateText {
        app_proto,
        opcode,
        inflight: Some(3),
        waiting: Some(4),
        deadline_ms: Some(50),
    }
}

// req: TR-05
#[test]
fn an_opcode_has_the_limits_that_are_declared_unless_the_config_says_otherwise() {
    let gates = Gates::new();
    let counter = gates.counter(&services(), &[text(40, 2)], Duration::ZERO);
    let counter = counter.expect("good limits");
    let said = counter.find(40, 2).map(|entry| entry.opcode).unwrap();
    assert_eq!((said.inflight, said.waiting), (3, 4));
    assert_eq!(said.deadline, Duration::from_millis(50));
    assert!(said.idempotent, "that is the service's to say");
    for (app_proto, code, inflight) in [(40, 1, 8), (41, 2, 9)] {
        let entry = counter.find(app_proto, code).unwrap();
        assert_eq!(
            (entry.opcode.inflight, entry.gate.limit()),
            (inflight, inflight)
        );
    }
}

// req: TR-03
#[test]
fn what_is_not_there_is_told_apart() {
    let counter = Gates::new().counter(&services(), &[], Duration::ZERO);
    let counter = counter.expect("good limits");
    let missing = |app_proto, code| counter.find(app_proto, code).err();
    assert_eq!(missing(42, 1), Some(oap::Refusal::NoService));
    assert_eq!(missing(40, 3), Some(oap::Refusal::NoOpcode));
}

// req: TR-05
#[test]
fn a_gate_that_a_new_config_names_keeps_its_count_and_takes_the_new_limit() {
    let gates = Gates::new();
    let before = gates.counter(&services(), &[], Duration::ZERO).unwrap();
    let inside = before.find(40, 1).unwrap().gate.try_enter(Duration::ZERO);
    let wider = GateText {
        inflight: Some(20),
        waiting: None,
        ..text(40, 1)
    };
    let after = gates
        .counter(&services(), &[wider], Duration::ZERO)
        .unwrap();
    let gate = &after.find(40, 1).unwrap().gate;
    assert_eq!((gate.in_flight(), gate.limit()), (1, 8));
    after.renew();
    assert_eq!((gate.in_flight(), gate.limit()), (1, 20));
    drop(inside);
    assert_eq!(gate.in_flight(), 0);
}
