//! Broken configs by the dozen: whatever a text holds, `check` answers it and shows no secret.

use std::time::Duration;

use e2e::command::{macronode, ran};
use testkit::sim;

const CONFIG: i32 = 3;
const AT_ONCE: Duration = Duration::from_secs(2);

/// A config with everything a mutation may hit: sections, numbers, text, comments, a secret.
const VALID: &str = "\
# a node\n[runtime]\nkind = \"multi\"\nthreads = 2\n\n[log]\nformat = \"json\"\nlevel = \"info,kernel=debug\"\n
[admin]\nlisten = \"127.0.0.1:0\"\ntoken = \"mutated-7f3a9c\"\nmax_connections = 64\n
[drain]\ndeadline_ms = 3_000 # three seconds\naccept_grace_ms = 0\n
[demo]\nlisten = \"[::1]:8600\"\nworkers = 4\nunits_per_worker = 16\nrate = 0x10\n";
const SECRET: &str = "mutated-7f3a9c";

fn mutate(text: &mut Vec<u8>, rng: &mut sim::Rng) {
    let at = rng.usize(..text.len());
    match rng.u8(..5) {
        0 => text[at] ^= 1 << rng.u8(..8),
        1 => text[at] = rng.u8(..),
        2 => text.truncate(at.max(1)),
        3 => {
            let special = b"\"'[]{}=.#\n\r\t\\,-_0e\0\xff";
            text.insert(at, special[rng.usize(..special.len())]);
        }
        _ => {
            let end = rng.usize(at..text.len());
            let piece: Vec<u8> = text[at..=end].to_vec();
            let copies = rng.usize(1..50);
            for _ in 0..copies {
                text.extend_from_slice(&piece);
            }
        }
    }
}

// req: KN-13
// attack: I-01, I-04
#[test]
fn no_mutation_of_a_valid_config_crashes_check_or_shows_a_secret() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("node.toml");
    let check = |text: &[u8]| {
        std::fs::write(&path, text).unwrap();
        ran(macronode(["check", "--config"]).arg(&path))
    };
    let checked = check(VALID.as_bytes());
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let mut refusals = 0;
    sim::run("mutations of a config", 60, |rng| {
        let mut text = VALID.as_bytes().to_vec();
        for _ in 0..rng.u8(1..5) {
            mutate(&mut text, rng);
        }
        let said = check(&text);
        let text = String::from_utf8_lossy(&text);
        assert!(matches!(said.code, Some(0 | CONFIG)), "{said:?} of {text}");
        assert!(said.took < AT_ONCE, "{said:?} of {text}");
        assert_eq!(
            said.code == Some(0),
            said.stderr.is_empty(),
            "{said:?} of {text}"
        );
        assert!(!said.printed().contains(SECRET), "{said:?} of {text}");
        refusals += u32::from(said.code == Some(CONFIG));
    });
    assert!(
        refusals > 0,
        "no mutation was ever refused: nothing was tried"
    );
}
