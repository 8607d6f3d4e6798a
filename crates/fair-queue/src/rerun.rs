//! Shows that a model would notice: runs it again with a bug in place.

use crate::bug::{self, Bug};

/// Runs the named test again with the bug in place, which must make it fail.
pub(crate) fn catches(seed: Bug, test: &str) {
    model_kit::catches(bug::SWITCH, seed, test);
}
