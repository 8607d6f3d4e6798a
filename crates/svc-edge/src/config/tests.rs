use strict_config::{ConfigText, SourceFile, Sources, load};

use super::*;

/// The section as the whole of a config, under amnesia or not.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Whole {
    /// Nothing is written to a disk.
    amnesia: bool,
    /// The edge.
    edge: EdgeText,
}

impl ConfigText for Whole {
    const ENV_PREFIX: &'static str = "WHOLE__";

    fn contradictions(&self, report: &mut Report) {
        report.within("edge", |report| {
            self.edge.contradictions(self.amnesia, report)
        });
    }
}

fn mistakes(text: &str) -> String {
    let file = Some(SourceFile::new("edge.toml", text));
    let sources = Sources {
        file,
        ..Sources::default()
    };
    match load::<Whole>(&sources) {
        Ok(_) => String::new(),
        Err(mistakes) => mistakes.to_string(),
    }
}

// req: ED-01
#[test]
fn an_edge_with_nothing_said_is_in_order() {
    assert_eq!(mistakes("[edge]\n"), "");
    let text = EdgeText::default();
    assert!(text.listen.iter().all(|address| address.ip().is_loopback()));
}

// req: ED-09
#[test]
fn the_promised_caps_are_the_defaults() {
    let limits = LimitsText::default();
    assert_eq!((limits.inflight, limits.rps), (512, 500));
    assert_eq!((limits.body_bytes, limits.tile_bytes), (1 << 20, 10 << 20));
}

// req: ED-13
#[test]
fn amnesia_refuses_a_disk_to_write_to() {
    let store = "[edge.store]\ndir = \"/var/lib/edge\"\n";
    assert_eq!(mistakes(store), "");
    let refused = mistakes(&format!("amnesia = true\n{store}"));
    assert!(
        refused.contains("under amnesia nothing is written"),
        "{refused}"
    );
    assert_eq!(
        mistakes("amnesia = true\n[edge.store]\nbytes = 100000000\n"),
        ""
    );
}

// req: ED-03, ED-13
#[test]
fn a_bucket_is_named_whole_and_keeps_its_secrets_also_under_amnesia() {
    let good = "[edge.store.s3]\nendpoint = \"https://s3.test\"\nbucket = \"tiles\"\naccess_key = \"id\"\n\
                secret_key = \"hush\"\n";
    assert_eq!(mistakes(good), "");
    assert_eq!(mistakes(&format!("amnesia = true\n{good}")), "");
    for (from, to, said) in [
        ("https://s3.test", "s3.test", "not a URL"),
        ("https://s3.test", "https://s3.test/path", "neither path"),
        ("\"tiles\"", "\"Tiles\"", "lower-case letters"),
        ("secret_key = \"hush\"\n", "", "no credentials"),
    ] {
        let told = mistakes(&good.replace(from, to));
        assert!(told.contains(said), "{said} in {told}");
        assert!(!told.contains("hush"), "{told}");
    }
    let json = "{\"endpoint\":\"https://s3.test\",\"bucket\":\"tiles\",\"access_key\":\"id\",\"secret_key\":\"hush\"}";
    let text: S3Text = serde_json::from_str(json).unwrap();
    let (endpoint, bucket) = text.bucket().unwrap();
    assert_eq!(
        (endpoint.authority(), bucket.host()),
        ("s3.test".to_owned(), "s3.test")
    );
    let named = S3Text {
        path_style: false,
        ..text
    };
    let (endpoint, bucket) = named.bucket().unwrap();
    assert_eq!(endpoint.authority(), "tiles.s3.test");
    assert_eq!(bucket.host(), "tiles.s3.test");
    assert!(!format!("{named:?}{bucket:?}").contains("hush"));
}

// req: ED-01, ED-12
#[test]
fn every_mistake_is_said_at_once() {
    let said = mistakes("[edge]\nmax_age_s = -1\nspeed = 3\n");
    for part in ["max_age_s = -1", "edge.speed"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let said = mistakes(
        "[edge]\nlisten = []\npublic_url = \"tiles.test\"\n\
         [[edge.packs]]\nname = \"../etc\"\npath = \"a.pmtiles\"\n\
         [edge.cors]\norigins = [\"https://maps.test/\"]\n\
         [edge.store]\nbytes = 1\nobject_bytes = 2\n",
    );
    for part in [
        "has no door",
        "does not begin with http",
        "`../etc` is no name",
        "`https://maps.test/` is no origin",
        "larger than all together",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let twice = "[[edge.packs]]\nname = \"b\"\npath = \"b.pmtiles\"\n".repeat(2);
    assert!(mistakes(&twice).contains("two packs are named `b`"));
}

// attack: L-05
#[test]
fn a_name_is_one_segment_that_means_nothing_else() {
    for good in ["a", "firenze.v2", "world_10-m", "0"] {
        assert!(is_name(good), "{good}");
    }
    for bad in [
        "", ".", "..", ".a", "a/b", "a%2fb", "a b", "ä", "a\\b", "a\0b",
    ] {
        assert!(!is_name(bad), "{bad:?}");
    }
}
