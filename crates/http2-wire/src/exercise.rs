//! The laws of what comes, the replay of the corpora that try them, and both against whatever can be made up.

mod hpack;

use model_kit::corpus::replay;
use proptest::prelude::*;

#[test]
fn the_corpus_of_packed_heads_is_unpacked() {
    replay("hpack", 10, hpack::exercise);
}

proptest! {
    #[test]
    fn blocks_without_any_meaning_break_nothing(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        hpack::exercise(&bytes);
    }
}
