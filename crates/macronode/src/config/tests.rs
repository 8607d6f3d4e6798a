use strict_config::{SourceFile, audit, reference};

use super::*;

fn from(text: &str) -> Result<Loaded<NodeText>, Mistakes> {
    load(&Sources {
        file: Some(SourceFile::new("node.toml", text)),
        ..Sources::default()
    })
}

// req: KN-13
#[test]
fn the_types_keep_their_own_rules_and_document_every_key() {
    assert_eq!(audit::<NodeText>(), Vec::<String>::new());
    // Items and entries without keys of their own are what their list or section says.
    let item = |path: &str| path.ends_with("[]") || path.ends_with("<name>");
    for key in reference::<NodeText>() {
        assert!(item(&key.path) || !key.doc.is_empty(), "{}", key.path);
    }
}

// req: KN-13
#[test]
fn contradictions_name_both_place_and_remedy() {
    let mistakes = from("[admin]\nlisten = '0.0.0.0:9600'\n[log]\nlevel = 'loud'\n")
        .unwrap_err()
        .to_string();
    assert!(
        mistakes.contains("node.toml:2") && mistakes.contains("admin.token"),
        "{mistakes}"
    );
    assert!(
        mistakes.contains("node.toml:4") && mistakes.contains("loud"),
        "{mistakes}"
    );
}

// req: KN-13
#[test]
fn the_token_is_shown_nowhere() {
    let loaded = from("[admin]\ntoken = 'hunter2'\n").unwrap();
    let settings = Settings::from(&loaded.text);
    assert_eq!(settings.token.as_ref().map(Secret::expose), Some("hunter2"));
    let shown = format!("{:?} {settings:?} {}", loaded.text, loaded.document());
    assert!(!shown.contains("hunter2"), "{shown}");
}

// req: KN-14
#[test]
fn a_secret_that_is_not_set_is_the_same_as_an_empty_one() {
    let (empty, absent) = (from("[admin]\ntoken = ''\n").unwrap(), from("").unwrap());
    assert_eq!((absent.diff(&empty), empty.diff(&absent)), (vec![], vec![]));
}

// req: KN-13
#[test]
fn what_urls_hide_is_shown_nowhere() {
    let good = "[traces]\nendpoint = 'http://c/v1?k=hush'\n\
                [gateway]\nlisten = ['127.0.0.1:0']\n\
                upstreams.m = { endpoints = ['http://h:1'], health = { path = '/ok?k=hush' } }\n\
                [gateway.identity.jwt]\nissuer = 'i'\naudience = 'a'\njwks_url = 'https://h/keys?k=hush'\n\
                [[gateway.routes]]\npath = '/a'\nrewrite = '/x?k=hush'\nupstream = 'm'\n\
                [[gateway.routes]]\npath = '/b'\nredirect = 'https://h/x?k=hush'\n";
    let loaded = from(good).unwrap();
    let shown = loaded.document().to_string();
    assert!(!shown.contains("hush"), "{shown}");
    assert_eq!(shown.matches("?***").count(), 5, "{shown}");
    let other = from(&good.replace("hush", "lush")).unwrap();
    let changes = loaded.diff(&other);
    assert_eq!(changes.len(), 5);
    for change in changes {
        assert!(change.to_string().ends_with(": changed"), "{change}");
    }

    let bad = "[traces]\nendpoint = 'http://u:hush@c/v1'\n\
               [gateway]\nlisten = ['127.0.0.1:0']\nto = 'http://u:hush@h'\n\
               upstreams.m.endpoints = ['http://u:hush@h:1']\n\
               [gateway.identity.jwt]\nissuer = 'i'\naudience = 'a'\njwks_url = 'https://u:hush@h/keys'\n\
               [edge]\nlisten = []\npublic_url = 'http://u:hush@h'\n\
               [[edge.origins]]\nname = 'o'\nmount = '/o'\nto = 'http://u:hush@h'\n";
    let mistakes = from(bad).unwrap_err().to_string();
    assert!(!mistakes.contains("hush"), "{mistakes}");
    for key in [
        "traces.endpoint",
        "gateway.to",
        "endpoints",
        "jwks_url",
        "public_url",
        "origins[0].to",
    ] {
        assert!(mistakes.contains(key), "{key}: {mistakes}");
    }
}

// req: GW-18
#[test]
fn every_build_takes_traces() {
    assert!(from("[traces]\n").is_ok());
    let mistakes = from("[traces]\nendpoint = \"https://c/\"\n").unwrap_err();
    assert!(mistakes.to_string().contains("only http://"), "{mistakes}");
}

#[test]
fn without_a_config_the_demonstration_is_on_and_with_one_it_is_not() {
    assert!(
        load_config(&ConfigArgs::default())
            .unwrap()
            .text
            .demo
            .is_some()
    );
    assert!(from("").unwrap().text.demo.is_none());
}

// req: KN-13
#[test]
fn an_address_is_listened_on_once_by_whomever() {
    let gateway =
        |listen: &str| format!("[gateway]\nto = 'http://127.0.0.1:1'\nlisten = ['{listen}']\n");
    for (text, expected) in [
        (gateway("127.0.0.1:9600"), "admin.listen"),
        (gateway("0.0.0.0:9600"), "admin.listen"),
        (gateway("[::]:9600"), "admin.listen"),
        (gateway("127.0.0.1:8640") + "[edge]\n", "edge.listen"),
        (
            gateway("127.0.0.1:8650") + "[transport]\n",
            "transport.listen",
        ),
        (gateway("127.0.0.1:8660") + "[overlay]\n", "overlay.listen"),
        (gateway("127.0.0.1:8600") + "[demo]\n", "demo.listen"),
        (
            gateway("127.0.0.1:8620") + "[demo]\n[demo.crowd]\n",
            "crowd.origin",
        ),
        (
            "[demo]\nlisten = '127.0.0.1:8620'\n[demo.crowd]\n".to_owned(),
            "crowd.origin",
        ),
    ] {
        let said = from(&text).unwrap_err().to_string();
        let one = said.contains("are one place to listen") && said.contains(expected);
        assert!(one && said.contains("node.toml:"), "{text}\nsays: {said}");
    }
    for fine in [
        "127.0.0.1:0",
        "[::1]:9600",
        "127.0.0.2:9600",
        "127.0.0.1:9601",
    ] {
        let text = format!("{}[admin]\nlisten = '127.0.0.1:9600'\n", gateway(fine));
        assert!(from(&text).is_ok(), "{fine}");
    }
}

// req: KN-13
#[test]
fn addresses_of_one_service_that_cannot_be_had_together_are_refused() {
    let gateway =
        |listen: &str| format!("[gateway]\nto = 'http://127.0.0.1:1'\nlisten = {listen}\n");
    for listen in [
        "['127.0.0.1:8080', '0.0.0.0:8080']",
        "['0.0.0.0:8080', '127.0.0.1:8080']",
        "['[::]:8080', '[::1]:8080']",
        // What listens on all of IPv6 takes IPv4 too, as it is bound here.
        "['[::]:8080', '127.0.0.1:8080']",
    ] {
        let said = from(&gateway(listen)).expect_err(listen).to_string();
        assert_eq!(said.matches("are one place to listen").count(), 1, "{said}");
        assert!(
            said.contains("node.toml:3") && said.contains("gateway.listen"),
            "{said}"
        );
    }
    for listen in [
        "['127.0.0.1:8080', '0.0.0.0:8081']",
        "['127.0.0.1:0', '0.0.0.0:0']",
        "['0.0.0.0:8080', '[::1]:8080']",
    ] {
        assert!(from(&gateway(listen)).is_ok(), "{listen}");
    }
    let twice = from(&gateway("['127.0.0.1:8080', '127.0.0.1:8080']"));
    let said = twice.expect_err("the same twice").to_string();
    assert!(
        !said.contains("are one place to listen"),
        "told once: {said}"
    );
}

// req: KN-13
#[test]
fn a_name_where_an_address_has_to_be_is_told_what_one_looks_like() {
    for text in [
        "[gateway]\nto = 'http://127.0.0.1:1'\nlisten = ['localhost:8080']\n",
        "[edge]\nlisten = ['localhost:8080']\n",
        "[transport]\nlisten = ['localhost:8080']\n",
    ] {
        let said = from(text).expect_err(text).to_string();
        assert!(
            said.contains("allowed: IP:PORT, such as 127.0.0.1:8080"),
            "{said}"
        );
    }
}
