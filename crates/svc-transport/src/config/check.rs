//! What in a `[transport]` section contradicts itself, or names what is not there.

use front_door::text::{ClientCertificates, TlsText};
use strict_config::Report;

use super::{GateText, TransportText};
use crate::service::Opcode;

pub(super) fn check(
    text: &TransportText,
    has_gateway: bool,
    opcodes: &[(u16, &'static [Opcode])],
    report: &mut Report,
) {
    doors(text, report);
    if text.bridge && !has_gateway {
        let what = "the bridge leads to the gateway, which is off";
        report.contradiction(&["bridge"], what, "add [gateway], or set bridge = false");
    }
    if let Some(tls) = &text.tls {
        report.within("tls", |report| secure(tls, report));
    }
    for (index, gate) in text.gates.iter().enumerate() {
        let before = &text.gates[..index];
        report.within_item("gates", index, |report| {
            check_gate(gate, before, text.bridge, opcodes, report);
        });
    }
}

fn doors(text: &TransportText, report: &mut Report) {
    let (plain, secure) = text.addresses();
    let mut all: Vec<_> = plain.into_iter().chain(secure).collect();
    if all.is_empty() {
        let remedy = "set listen, or a [transport.tls] section";
        report.contradiction(&["listen"], "the transport has no door", remedy);
    }
    all.sort();
    // Port 0 is a different one each time.
    let twice = all
        .windows(2)
        .find(|two| two[0] == two[1] && two[0].port() != 0);
    if let Some(twice) = twice {
        let what = format!("{} is listened on twice", twice[0]);
        report.contradiction(&["listen", "tls.listen"], what, "remove one of them");
    }
}

fn secure(tls: &TlsText, report: &mut Report) {
    if tls.client_certificates != ClientCertificates::Off && tls.client_ca.is_none() {
        let what = "client certificates are asked for, and nobody may sign them";
        report.contradiction(&["client_certificates", "client_ca"], what, "set client_ca");
    }
    for error in tls.faults() {
        report.contradiction(&["certificates"], error.to_string(), "mend the files named");
    }
}

fn check_gate(
    gate: &GateText,
    before: &[GateText],
    bridge: bool,
    opcodes: &[(u16, &'static [Opcode])],
    report: &mut Report,
) {
    let same = |other: &&GateText| (other.app_proto, other.opcode) == (gate.app_proto, gate.opcode);
    if before.iter().any(|other| same(&other)) {
        let what = "this opcode has a gate above";
        report.contradiction(&["opcode"], what, "write one [[transport.gates]] for it");
    }
    if gate.app_proto == oap::app_proto::HTTP && !bridge {
        let what = "app_proto 1 is the bridge, which is off";
        report.contradiction(
            &["app_proto"],
            what,
            "set bridge = true, or remove this gate",
        );
        return;
    }
    let space = opcodes
        .iter()
        .find(|(app_proto, _)| *app_proto == gate.app_proto);
    let Some((_, known)) = space else {
        let known: Vec<_> = opcodes
            .iter()
            .map(|(app_proto, _)| app_proto.to_string())
            .collect();
        let what = format!("no service has app_proto {}", gate.app_proto);
        report.contradiction(
            &["app_proto"],
            what,
            format!("use one of {}", known.join(", ")),
        );
        return;
    };
    if !known.iter().any(|opcode| opcode.code == gate.opcode) {
        let names: Vec<_> = known
            .iter()
            .map(|opcode| format!("{} ({})", opcode.code, opcode.name))
            .collect();
        let what = format!("app_proto {} has no opcode {}", gate.app_proto, gate.opcode);
        report.contradiction(
            &["opcode"],
            what,
            format!("use one of {}", names.join(", ")),
        );
    }
}
