//! The laws the fuzz targets try, and the replay of their corpora as tests.

mod directory;
mod header;
mod whole;

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
fn the_corpus_of_headers_is_answered() {
    replay("pack_header", 5, header::exercise);
}

// req: AC-08
#[test]
fn the_corpus_of_directories_is_answered() {
    replay("pack_directory", 6, directory::exercise);
}

// req: AC-08
#[test]
fn the_corpus_of_packs_is_answered() {
    replay("pack", 6, whole::exercise);
}
