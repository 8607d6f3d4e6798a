use super::*;

fn secret() -> Secret {
    Secret::from("hunter2".to_owned())
}

// req: KN-13
#[test]
fn no_way_of_printing_shows_it() {
    let shown = [
        format!("{:?}", secret()),
        format!("{:#?}", Some(secret())),
        secret().to_string(),
        serde_json::to_string(&secret()).unwrap(),
    ];
    for text in shown {
        assert!(text.contains(MASK) && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn it_is_had_only_by_exposing_it() {
    let read: Secret = serde_json::from_value("hunter2".into()).unwrap();
    assert_eq!(read.expose(), "hunter2");
}

#[test]
fn an_unset_one_looks_unset() {
    assert_eq!(Secret::default().to_string(), "");
    assert!(Secret::default().is_empty() && !secret().is_empty());
}

#[test]
fn equal_means_every_byte() {
    assert_eq!(secret(), secret());
    for other in ["", "hunter", "hunter22", "Hunter2", "hunter3"] {
        assert_ne!(secret(), Secret::from(other.to_owned()));
    }
}

#[test]
fn its_buffer_is_taken_over_not_copied() {
    let text = String::from("a buffer of its own");
    let before = text.as_ptr();
    let read = Secret::deserialize(serde_json::Value::String(text)).unwrap();
    assert_eq!(read.expose().as_ptr(), before);
}
