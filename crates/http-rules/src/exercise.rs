//! The laws the fuzz targets try, and the replay of their corpora as tests.

mod cache;
mod conditional;
mod decode;
mod framing;
mod range;

use std::path::Path;

/// Puts every kept seed of a target to its law.
fn replay(target: &str, least: usize, law: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let seeds = std::fs::read_dir(corpus.join(target)).unwrap();
    let kept: Vec<_> = seeds
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "seed")
        })
        .collect();
    assert!(kept.len() >= least, "the corpus of {target} is gone");
    for seed in kept {
        law(&std::fs::read(&seed).unwrap());
    }
}

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
