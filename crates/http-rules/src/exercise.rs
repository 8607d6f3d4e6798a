//! The laws the fuzz targets try, and the replay of their corpora as tests.

mod cache;
mod conditional;
mod decode;
mod framing;
mod range;

use model_kit::corpus::replay;

// req: AC-08
#[test]
fn the_corpus_of_heads_is_answered() {
    replay("framing", 10, framing::exercise);
}

// req: AC-08
#[test]
fn the_corpus_of_ranges_is_answered() {
    replay("range", 8, range::exercise);
}

// req: AC-08
#[test]
fn the_corpus_of_conditions_is_answered() {
    replay("conditional", 8, conditional::exercise);
}

// req: AC-08
#[test]
fn the_corpus_of_coded_bodies_is_answered() {
    replay("decode", 10, decode::exercise);
}

// req: AC-08
#[test]
fn the_corpus_of_answers_to_keep_is_answered() {
    replay("cache", 10, cache::exercise);
}
