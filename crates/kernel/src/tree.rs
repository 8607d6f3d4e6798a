//! The static description of children, and the checks that make a set of them a tree that can live and die.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::Kernel;
use crate::drain::Phase;
use crate::readiness::ReadySignal;
use crate::tasks::TaskGroup;

/// What a child is; the reference page lists them all.
#[derive(Debug)]
pub struct ChildSpec {
    /// Its name in metrics, logs and `/readyz`.
    pub name: &'static str,
    /// One line for people.
    pub doc: &'static str,
    /// Children that must be ready before it starts.
    pub depends_on: &'static [&'static str],
    /// When it is told to end.
    pub phase: Phase,
    /// Whether it is started again.
    pub restart: Restart,
    /// Whether the node serves nothing without it.
    pub essential: bool,
}

/// What follows the end of a child while the node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Any end is a crash.
    Always,
    /// An end without error is the end of its job.
    OnFailure,
    /// It stays down, unready if it failed.
    Never,
}

impl Restart {
    /// The words used in documentation.
    pub fn words(self) -> &'static str {
        match self {
            Restart::Always => "always",
            Restart::OnFailure => "on failure",
            Restart::Never => "never",
        }
    }
}

/// Why a child ended that could not go on.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// From anything that can be said in a line.
    pub fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

/// How a child starts; called again for each restart.
pub type Start = Arc<dyn Fn(Context) -> BoxFuture<'static, Result<(), Failure>> + Send + Sync>;

/// A child: what it is and how it starts.
#[derive(Clone)]
pub struct Child {
    /// What it is.
    pub spec: &'static ChildSpec,
    /// How it starts.
    pub start: Start,
}

impl Child {
    /// A child whose life is `start`'s future.
    pub fn new<F, Life>(spec: &'static ChildSpec, start: F) -> Self
    where
        F: Fn(Context) -> Life + Send + Sync + 'static,
        Life: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        Self {
            spec,
            start: Arc::new(move |context| Box::pin(start(context))),
        }
    }
}

/// What a child is given to live with.
pub struct Context {
    /// Its description.
    pub spec: &'static ChildSpec,
    /// Its voice in `/readyz`: unready until it speaks, and again when dropped.
    pub ready: ReadySignal,
    /// Its tasks: end with it.
    pub tasks: TaskGroup,
    /// What all children share.
    pub kernel: Kernel,
}

impl Context {
    /// Waits until this child is to end: stop taking work, finish what was taken, return.
    pub async fn told_to_end(&self) {
        self.kernel.shutdown.reached(self.spec.phase.stage()).await;
    }
}

/// Why a set of children is no tree.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Two children of one name.
    #[error("two children are named `{0}`")]
    Duplicate(&'static str),
    /// A dependency that is not there.
    #[error("`{child}` depends on `{dependency}`, which is not in the tree")]
    Unknown {
        /// Who.
        child: &'static str,
        /// On what.
        dependency: &'static str,
    },
    /// A dependency that ends before who needs it.
    #[error("`{child}` depends on `{dependency}`, which ends in an earlier phase of the drain")]
    EndsTooEarly {
        /// Who.
        child: &'static str,
        /// On what.
        dependency: &'static str,
    },
    /// Children that wait for each other.
    #[error("`{0}` waits for itself through its dependencies")]
    Cycle(&'static str),
}

/// Checks that every child can start and that none outlives what it depends on.
pub fn check(specs: &[&'static ChildSpec]) -> Result<(), TreeError> {
    let mut by_name = BTreeMap::new();
    for spec in specs {
        if by_name.insert(spec.name, *spec).is_some() {
            return Err(TreeError::Duplicate(spec.name));
        }
    }
    for spec in specs {
        for dependency in spec.depends_on {
            let Some(found) = by_name.get(dependency) else {
                return Err(TreeError::Unknown {
                    child: spec.name,
                    dependency,
                });
            };
            if found.phase < spec.phase {
                return Err(TreeError::EndsTooEarly {
                    child: spec.name,
                    dependency,
                });
            }
        }
    }
    startable(specs)
}

/// Starts everything in thought, as often as something can start; what is left waits for itself.
fn startable(specs: &[&'static ChildSpec]) -> Result<(), TreeError> {
    let mut waiting: Vec<&ChildSpec> = specs.to_vec();
    let mut started: Vec<&str> = Vec::new();
    loop {
        let before = waiting.len();
        waiting.retain(|spec| {
            let can = spec
                .depends_on
                .iter()
                .all(|dependency| started.contains(dependency));
            if can {
                started.push(spec.name);
            }
            !can
        });
        match waiting.first() {
            None => return Ok(()),
            Some(stuck) if waiting.len() == before => return Err(TreeError::Cycle(stuck.name)),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn spec(
        name: &'static str,
        depends_on: &'static [&'static str],
        phase: Phase,
    ) -> ChildSpec {
        ChildSpec {
            name,
            doc: "",
            depends_on,
            phase,
            restart: Restart::Always,
            essential: true,
        }
    }

    static POOL: ChildSpec = spec("pool", &[], Phase::Work);
    static DOOR: ChildSpec = spec("door", &["pool"], Phase::Intake);
    static HENHOUSE: ChildSpec = spec("hen", &["egg"], Phase::Work);
    static EGG: ChildSpec = spec("egg", &["hen"], Phase::Work);
    static BACKWARDS: ChildSpec = spec("backwards", &["door"], Phase::Work);

    // req: KN-10
    #[test]
    fn a_tree_starts_from_its_leaves_and_ends_from_its_doors() {
        assert_eq!(check(&[&DOOR, &POOL]), Ok(()));
    }

    // req: KN-10
    #[test]
    fn what_cannot_start_or_end_in_order_is_refused_by_name() {
        assert_eq!(check(&[&POOL, &POOL]), Err(TreeError::Duplicate("pool")));
        assert_eq!(
            check(&[&DOOR]),
            Err(TreeError::Unknown {
                child: "door",
                dependency: "pool"
            })
        );
        assert_eq!(check(&[&HENHOUSE, &EGG]), Err(TreeError::Cycle("hen")));
        let early = TreeError::EndsTooEarly {
            child: "backwards",
            dependency: "door",
        };
        assert_eq!(check(&[&DOOR, &POOL, &BACKWARDS]), Err(early));
    }
}
