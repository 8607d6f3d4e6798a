use schemars::JsonSchema;
use strict_config::{ConfigText, SourceFile, Sources, load};

use super::*;

/// A config with nothing but a transport.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(deny_unknown_fields, default)]
struct Text {
    transport: TransportText,
}

static OPCODES: [Opcode; 1] = [Opcode {
    code: 1,
    name: "echo",
    inflight: 1,
    waiting: 0,
    deadline: Duration::from_secs(1),
    idempotent: true,
}];

impl ConfigText for Text {
    const ENV_PREFIX: &'static str = "TRANSPORT_TEST__";

    fn contradictions(&self, report: &mut Report) {
        report.within("transport", |report| {
            self.transport
                .contradictions(false, &[(2, &OPCODES)], report);
        });
    }
}

/// What is said of a config.
fn said(text: &str) -> Result<TransportText, String> {
    let sources = Sources {
        file: Some(SourceFile::new("node.toml", text)),
        ..Sources::default()
    };
    let loaded = load::<Text>(&sources);
    loaded
        .map(|loaded| loaded.text.transport)
        .map_err(|mistakes| mistakes.to_string())
}

// req: KN-13
#[test]
fn a_section_of_one_line_is_enough() {
    let text = said("[transport]\nlisten = [\"127.0.0.1:7000\"]\n").unwrap();
    assert_eq!(
        (text.limits.inflight, text.limits.frame_bytes),
        (64, 1 << 20)
    );
    assert_eq!(
        (text.timeouts.handshake_ms, text.timeouts.read_ms),
        (2_000, 5_000)
    );
    assert_eq!(
        (text.timeouts.write_ms, text.timeouts.idle_ms),
        (5_000, 60_000)
    );
}

// req: KN-13
#[test]
fn what_cannot_be_is_refused_with_its_place_and_what_to_do() {
    let tries = [
        ("listen = []", "the transport has no door", "set listen"),
        (
            "listen = [\"127.0.0.1:7000\", \"127.0.0.1:7000\"]",
            "is listened on twice",
            "remove one of them",
        ),
        ("bridge = true", "which is off", "add [gateway]"),
        (
            "gates = [{ app_proto = 9, opcode = 1 }]",
            "no service has app_proto 9",
            "use one of 2",
        ),
        (
            "gates = [{ app_proto = 2, opcode = 7 }]",
            "has no opcode 7",
            "1 (echo)",
        ),
        (
            "gates = [{ app_proto = 1, opcode = 1 }]",
            "the bridge, which is off",
            "set bridge = true",
        ),
        (
            "gates = [{ app_proto = 2, opcode = 1 }, { app_proto = 2, opcode = 1 }]",
            "has a gate above",
            "write one",
        ),
        (
            "tls = { listen = [\"127.0.0.1:0\"], certificates = [{ cert = \"/no\", key = \"/no\" }] }",
            "/no",
            "mend",
        ),
        ("workers = 0", "workers", "1"),
        ("workers = 65", "workers", "64"),
        ("limits = { frame_bytes = 100 }", "frame_bytes", "8192"),
        ("limits = { frames = 1 }", "frames", "frame_bytes"),
    ];
    for (line, what, remedy) in tries {
        let said = said(&format!("[transport]\n{line}\n")).expect_err(line);
        assert!(
            said.contains(what) && said.contains(remedy),
            "{line}: {said}"
        );
        assert!(said.contains("node.toml:2"), "{line}: {said}");
    }
}

// req: KN-13
#[test]
fn the_bounds_of_the_config_are_those_of_the_protocol_and_the_pool() {
    use crate::queues::{UNITS_MAX, WORKERS_MAX};
    let schema = strict_config::schema::<TransportText>();
    let most = |pointer: &str| schema.pointer(pointer).and_then(|most| most.as_u64());
    let workers = most("/properties/workers/maximum").unwrap();
    let units = most("/properties/units_per_worker/maximum").unwrap();
    assert_eq!((workers as usize, units as usize), (WORKERS_MAX, UNITS_MAX));
}
