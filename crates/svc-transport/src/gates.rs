//! The gates of opcodes: how many requests of an opcode at once, over all connections.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use concurrency_gate::{Gate, GateConfig, GateError, KeyHandle, KeyReport, Limit, Whose};

use crate::config::GateText;
use crate::service::{Handler, Opcode};

/// What is asked of whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpcodeKey {
    /// The service.
    pub app_proto: u16,
    /// What it is asked for.
    pub opcode: u16,
    /// How many may wait, which is fixed for the life of a gate; how many may be inside is not.
    pub waiting: u32,
}

/// How many may be inside a gate of the config at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateLimit {
    /// The service.
    pub app_proto: u16,
    /// What it is asked for.
    pub opcode: u16,
    /// As the config, or the service, says.
    pub configured: u32,
    /// Until the next config is in force.
    pub now: u32,
}

/// The services of a node, by `app_proto`.
pub type Services = BTreeMap<u16, Arc<dyn Handler>>;

/// All gates; they outlive configs.
pub(crate) struct Gates(Gate<OpcodeKey>);

/// An opcode, as the config has it, and its gate.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) app_proto: u16,
    pub(crate) opcode: Opcode,
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) gate: KeyHandle<OpcodeKey>,
}

/// What can be asked, in the config that is in force.
pub(crate) struct Counter {
    spaces: BTreeMap<u16, BTreeMap<u16, Entry>>,
}

impl Counter {
    /// Who is asked for this, or what is not there.
    pub(crate) fn find(&self, app_proto: u16, opcode: u16) -> Result<&Entry, oap::Refusal> {
        let space = self.spaces.get(&app_proto);
        let space = space.ok_or(oap::Refusal::NoService)?;
        space.get(&opcode).ok_or(oap::Refusal::NoOpcode)
    }

    /// Every opcode.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.spaces.values().flat_map(BTreeMap::values)
    }

    /// Takes the limits of the config, whatever they were before.
    pub(crate) fn renew(&self) {
        for entry in self.entries() {
            if let Err(error) = entry.gate.resize(entry.opcode.inflight) {
                tracing::error!(%error, opcode = entry.opcode.name, "a gate keeps its limit");
            }
        }
    }
}

impl Entry {
    pub(crate) fn limit(&self) -> GateLimit {
        GateLimit {
            app_proto: self.app_proto,
            opcode: self.opcode.code,
            configured: self.opcode.inflight,
            now: self.gate.limit(),
        }
    }
}

impl Gates {
    pub(crate) fn new() -> Self {
        let config = GateConfig::new(Limit::fixed(1));
        Self(Gate::new(config).expect("the default limit is allowed"))
    }

    /// Every opcode of `services` with its gate, as declared or as `texts` say otherwise.
    pub(crate) fn counter(
        &self,
        services: &Services,
        texts: &[GateText],
        now: Duration,
    ) -> Result<Counter, String> {
        let mut spaces = BTreeMap::new();
        for (app_proto, handler) in services {
            let mut space = BTreeMap::new();
            for declared in handler.opcodes() {
                let said =
                    |text: &&GateText| (text.app_proto, text.opcode) == (*app_proto, declared.code);
                let opcode = match texts.iter().find(said) {
                    Some(text) => text.over(*declared),
                    None => *declared,
                };
                let gate = self.gate(*app_proto, &opcode, now)?;
                let handler = handler.clone();
                space.insert(
                    opcode.code,
                    Entry {
                        app_proto: *app_proto,
                        opcode,
                        handler,
                        gate,
                    },
                );
            }
            spaces.insert(*app_proto, space);
        }
        Ok(Counter { spaces })
    }

    fn gate(
        &self,
        app_proto: u16,
        opcode: &Opcode,
        now: Duration,
    ) -> Result<KeyHandle<OpcodeKey>, String> {
        let key = OpcodeKey {
            app_proto,
            opcode: opcode.code,
            waiting: opcode.waiting,
        };
        let limit = match key.waiting {
            0 => Limit::fixed(opcode.inflight),
            waiting => Limit::fixed(opcode.inflight).with_queue(waiting),
        };
        match self.0.register(key, limit) {
            Ok(handle) => Ok(handle),
            Err(GateError::Registered) => Ok(self.0.handle(&key, now)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The gates there have been, the hardest pressed first.
    pub(crate) fn report(&self) -> Vec<(OpcodeKey, KeyReport<OpcodeKey>)> {
        let keys = self.0.report().keys.into_iter();
        let own = keys.filter_map(|report| match report.whose {
            Whose::Key(key) => Some((key, report)),
            Whose::Shared(_) => None,
        });
        own.collect()
    }
}

#[cfg(test)]
mod tests;
