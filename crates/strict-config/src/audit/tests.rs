use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::sample::Node;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Unsound {
    /// Too large a default.
    #[schemars(range(max = 5))]
    limit: u8,
    part: Part,
}

#[derive(Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
struct Part {
    /// A size.
    size: u8,
}

impl Default for Unsound {
    fn default() -> Self {
        Self {
            limit: 9,
            part: Part { size: 4 },
        }
    }
}

impl ConfigText for Unsound {
    const ENV_PREFIX: &'static str = "X__";
}

// req: KN-13
#[test]
fn the_defaults_of_a_sound_type_pass_its_own_check() {
    assert_eq!(audit::<Node>(), Vec::<String>::new());
}

// req: KN-13
#[test]
fn an_unsound_type_is_told_why() {
    let complaints = audit::<Unsound>();
    assert_eq!(complaints.len(), 3, "{complaints:#?}");
    assert!(complaints[0].contains("limit = 9: out of range"));
    assert_eq!(
        complaints[1],
        "part.size: defaults to 4 as a whole and to 0 alone"
    );
    assert_eq!(complaints[2], "part: has no documentation");
}
