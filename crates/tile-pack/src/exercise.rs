//! The laws the fuzz targets try, and the replay of their corpora as tests.

mod directory;
mod header;
mod whole;

use model_kit::corpus::replay;

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
