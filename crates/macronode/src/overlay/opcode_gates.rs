//! The gates of the transport's opcodes by name, as operators see and set them.

use svc_gateway::Override;
use svc_transport::GateLimit;

use super::desk::Desk;

const PREFIX: &str = "transport:";

/// What the gate of an opcode is called.
pub(super) fn name(app_proto: u16, opcode: u16) -> String {
    format!("{PREFIX}{app_proto}:{opcode}")
}

/// Whose gate is called so.
fn parse(name: &str) -> Option<(u16, u16)> {
    let (app_proto, opcode) = name.strip_prefix(PREFIX)?.split_once(':')?;
    Some((app_proto.parse().ok()?, opcode.parse().ok()?))
}

fn shown(limit: GateLimit) -> Override {
    Override {
        what: "gate-limit",
        name: name(limit.app_proto, limit.opcode),
        configured: limit.configured,
        now: limit.now,
    }
}

impl Desk {
    /// Gives the gate of an opcode another limit; nothing where no gate is called so.
    pub(super) fn set_opcode_limit(&self, name: &str, limit: u32) -> Option<Override> {
        let (app_proto, opcode) = parse(name)?;
        let transport = self.transport.as_ref()?;
        let set = transport.set_gate_limit(app_proto, opcode, limit)?;
        Some(shown(set))
    }

    /// Limits of opcodes that are not as the config says.
    pub(super) fn limits_set(&self) -> impl Iterator<Item = Override> {
        let transport = self.transport.as_ref();
        let set = transport.map_or_else(Vec::new, |transport| transport.limits_set());
        set.into_iter().map(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: ND-09
    #[test]
    fn an_opcode_is_found_by_the_name_that_is_shown_and_by_no_other() {
        assert_eq!(parse(&name(2, 1)), Some((2, 1)));
        for odd in [
            "2:1",
            "transport:2",
            "transport:2:x",
            "transport:70000:1",
            "api",
        ] {
            assert_eq!(parse(odd), None, "{odd}");
        }
    }
}
