//! The seeds that fuzzing has kept, put to the laws that the fuzz targets try.

use std::path::Path;

/// Puts every kept seed of a target to its law.
///
/// # Panics
/// If there are fewer than `least`: a corpus that went missing tries nothing.
pub fn replay(target: &str, least: usize, law: fn(&[u8])) {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let seeds = std::fs::read_dir(corpora.join(target)).expect("there is a corpus");
    let kept: Vec<_> = seeds
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "seed")
        })
        .collect();
    assert!(kept.len() >= least, "the corpus of {target} is gone");
    for seed in kept {
        law(&std::fs::read(&seed).expect("a seed can be read"));
    }
}
