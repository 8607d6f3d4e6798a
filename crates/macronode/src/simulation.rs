//! The whole node where time and network are not real: no signals, no threads, no log; everything else is as it runs.

use std::pin::Pin;
use std::sync::Arc;

use arc_swap::ArcSwap;
use kernel::Kernel;
use kernel::config::Source;
use kernel::drain::Outcome;
use strict_config::{Sources, load};

use crate::cli::BuiltIn;
use crate::compose::{Composed, Material, compose};
use crate::config::NodeText;
use crate::demo::world::World;
use crate::doors::Doors;

/// A node that lives for as long as it is polled.
pub struct Node {
    /// What its children share.
    pub kernel: Kernel,
    /// Its life, to the end.
    pub life: Pin<Box<dyn Future<Output = Outcome>>>,
}

/// Makes a node of a config that may be replaced, and then is read at a reload. The network has to be installed.
pub fn node(config: Arc<ArcSwap<String>>) -> Result<Node, String> {
    let source = Source::Told(config);
    let file = source.read().map_err(|mistakes| mistakes.to_string())?;
    let sources = Sources {
        file: Some(file),
        env: Vec::new(),
        sets: Vec::new(),
    };
    let loaded = load::<NodeText>(&sources).map_err(|mistakes| mistakes.to_string())?;
    let doors = Doors::open(&loaded.text).map_err(|error| error.to_string())?;
    let world = World::of(loaded.text.edge.as_ref()).map_err(|error| error.to_string())?;
    let (kernel, publisher) = Kernel::new();
    let material = Material {
        kernel: kernel.clone(),
        publisher,
        doors,
        world,
        exporters: Vec::new(),
        level: Arc::new(|_| Ok(Box::new(|| {}))),
    };
    let composed = compose((source, Vec::new(), BuiltIn::Kernel), loaded, material)?;
    let Composed {
        supervisor, live, ..
    } = composed;
    let life = async move { supervisor.run(|| live.load().drain).await };
    Ok(Node {
        kernel,
        life: Box::pin(life),
    })
}
