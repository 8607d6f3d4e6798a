use strict_config::{Loaded, Mistakes, SourceFile, Sources, load};

use super::*;
use crate::config::NodeText;

const TOKEN: &str = "[overlay.tokens.ci]\nsecret = 'a-token-of-enough-bytes'\n";

fn from(text: &str) -> Result<Loaded<NodeText>, Mistakes> {
    load(&Sources {
        file: Some(SourceFile::new("node.toml", text)),
        ..Sources::default()
    })
}

fn mistakes(text: &str) -> String {
    let refused = from(text).err();
    refused.map_or_else(String::new, |mistakes| mistakes.to_string())
}

// req: ND-09
#[test]
fn it_is_off_unless_asked_for_and_on_loopback_then() {
    let off = from("").expect("a good config");
    assert!(off.text.overlay.is_none());
    let on = from("[overlay]\n").expect("a good config");
    let (plain, secure) = on.text.overlay.expect("an overlay").addresses();
    assert!(plain.iter().all(|door| door.ip().is_loopback()));
    assert_eq!((plain.len(), secure.len()), (1, 0));
}

// req: ND-09
#[test]
fn beyond_loopback_a_token_or_a_client_certificate_is_needed() {
    let open = "[overlay]\nlisten = ['0.0.0.0:8660']\n";
    assert!(mistakes(open).contains("open to the network without a token"));
    assert_eq!(mistakes(&format!("{open}{TOKEN}")), "");
    let tls = "[overlay]\nlisten = []\n[overlay.tls]\nlisten = ['0.0.0.0:8661']\n\
               certificates = [{ cert = 'c.pem', key = 'k.pem' }]\n";
    assert!(mistakes(tls).contains("without token or client certificate"));
    let listed = "client_certificates = 'required'\nclient_ca = 'ca.pem'\n\
                  [overlay.certificates]\n'ops.example' = 'operate'\n";
    let told = mistakes(&format!("{tls}{listed}"));
    assert!(!told.contains("open to the network"), "{told}");
    assert!(told.contains("c.pem"), "its files are read: {told}");
}

// req: ND-09
#[test]
fn tokens_are_long_and_each_has_one_holder() {
    let short = "[overlay.tokens.ci]\nsecret = 'short'\n";
    let told = mistakes(short);
    assert!(
        told.contains("guessed") && !told.contains("'short'"),
        "{told}"
    );
    let twice = format!("{TOKEN}[overlay.tokens.me]\nsecret = 'a-token-of-enough-bytes'\n");
    let told = mistakes(&twice);
    assert!(told.contains("the same token"), "{told}");
    assert!(!told.contains("a-token-of"), "{told}");
}

#[test]
fn a_list_of_certificates_that_nobody_is_asked_for_is_a_mistake() {
    let told = mistakes("[overlay.certificates]\n'ops.example' = 'read'\n");
    assert!(told.contains("no client is asked"), "{told}");
    assert!(mistakes("[overlay]\nlisten = []\n").contains("no door"));
}

// req: ND-07
#[test]
fn no_body_may_be_longer_than_four_mebibytes() {
    assert_eq!(OverlayText::default().limits.body_bytes, 4 * 1024 * 1024);
    let told = mistakes("[overlay.limits]\nbody_bytes = 4194305\n");
    assert!(told.contains("1024 to 4194304"), "{told}");
}
