//! What must hold for any input: the body of the fuzz target, also run over its corpus by the tests.

use strict_config::{Comments, Loaded, SourceFile, Sources, load, to_toml};

use super::sample::Node;

/// Puts input to the loader and checks what must hold whatever it is.
pub fn exercise(data: &[u8]) {
    let Ok(input) = std::str::from_utf8(data) else {
        return;
    };
    let sources = sources(input);
    match (load::<Node>(&sources), load::<Node>(&sources)) {
        (Ok(first), Ok(second)) => accepted(&first, &second),
        (Err(first), Err(second)) => {
            assert_eq!(first, second, "the same input has the same mistakes");
            assert!(!first.to_string().is_empty());
        }
        _ => panic!("the same input is accepted and refused"),
    }
}

fn accepted(first: &Loaded<Node>, second: &Loaded<Node>) {
    assert_eq!(first.diff(second), [], "the same input is no change");
    let printed = to_toml::<Node>(first.document(), Comments::With);
    if printed.contains("***") {
        return;
    }
    let file = Some(SourceFile::new("printed", printed));
    let again = load::<Node>(&Sources {
        file,
        ..Sources::default()
    });
    let again = again.expect("a printed configuration without secrets is accepted");
    assert_eq!(
        again.text, first.text,
        "what is printed is what is in force"
    );
}

/// A file; after a line of `%%`, one flag a line; after another, one variable a line.
fn sources(input: &str) -> Sources {
    let mut parts = input.splitn(3, "\n%%\n");
    let file = parts.next().unwrap_or_default();
    let sets = parts.next().unwrap_or_default().lines().map(Into::into);
    let env = parts.next().unwrap_or_default().lines();
    let env = env.filter_map(|line| line.split_once('='));
    Sources {
        file: Some(SourceFile::new("node.toml", file)),
        sets: sets.collect(),
        env: env
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    }
}
