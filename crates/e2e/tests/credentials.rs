//! Credentials made at the command line open the gateway, and no more of it than they say.

use std::io::Write;
use std::process::Stdio;

use e2e::command::{Ran, macronode, ran};
use e2e::gateway::{Gateway, assert_refusal, to};
use testkit::http::Response;
use testkit::upstream::Upstream;

const ROOT_KEY: &str =
    "root_key = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"\n";

fn said(args: &[&str]) -> Ran {
    ran(&mut macronode(args))
}

/// The command with this on its standard input.
fn fed(args: &[&str], input: &str) -> String {
    let mut child = macronode(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("a reader");
    drop(stdin);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(0), "{args:?}");
    String::from_utf8(output.stdout).expect("text")
}

async fn shown(gateway: &Gateway, path: &str, token: &str) -> Response {
    let bearer = format!("Bearer {}", token.trim());
    gateway.get_with(path, &[("authorization", &bearer)]).await
}

// req: GW-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_key_opens_a_gateway_that_knows_its_hash() {
    let made = said(&["key", "new", "--tenant", "acme"]).stdout;
    let (key, lines) = made.split_once("\n\n").expect("a key and lines");
    let other = said(&["key", "new"]).stdout;
    let other = other.lines().next().expect("a key");
    let origin = Upstream::start().await.expect("an origin");
    let section = format!("identity.required = true\n{}{lines}", to(origin.addr(), ""));
    let gateway = Gateway::start(&section).await;
    let opened = gateway.get_with("/", &[("x-api-key", key)]).await;
    assert_eq!(opened.status, 200);
    let refused = gateway.get_with("/", &[("x-api-key", other)]).await;
    assert_refusal(&refused, 401, "identity-refused");
    assert_eq!(origin.received(), 1);
}

// req: GW-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_passport_opens_what_is_left_of_it_and_nothing_else() {
    let origin = Upstream::start().await.expect("an origin");
    let section = format!(
        "identity.required = true\n{}[gateway.identity.passport]\n{ROOT_KEY}",
        to(origin.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    let config = gateway.process.dir().join("macronode.toml");
    let config = config.to_str().expect("a plain path");
    let mint = ["passport", "mint", "--config", config, "--tenant", "acme"];
    let whole = said(&mint).stdout;
    assert_eq!(shown(&gateway, "/anything", &whole).await.status, 200);

    let narrow = ["passport", "attenuate", "--path", "/v1", "--methods", "GET"];
    let narrow = fed(&narrow, &whole);
    assert_eq!(shown(&gateway, "/v1/maps", &narrow).await.status, 200);
    let beyond = shown(&gateway, "/v2", &narrow).await;
    assert_refusal(&beyond, 403, "beyond-credential");

    let page = fed(&["passport", "inspect", "--config", config], &narrow);
    assert!(page.contains("verdict   good now"), "{page}");
    assert!(page.contains("path=/v1  methods=GET"), "{page}");

    let mut forged = whole.trim().to_owned();
    let place = forged.len() - 8..forged.len() - 7;
    let other = if &forged[place.clone()] == "A" {
        "E"
    } else {
        "A"
    };
    forged.replace_range(place, other);
    let refused = shown(&gateway, "/anything", &forged).await;
    assert_refusal(&refused, 401, "identity-refused");
    let page = said(&["passport", "inspect", "--config", config, &forged]);
    assert_eq!(page.code, Some(8), "{page:?}");
}

#[test]
fn what_makes_no_sense_is_a_mistake_of_the_command_line_or_the_config() {
    for (args, code) in [
        (&["key", "new", "--tenant", "a b"][..], 2),
        (&["passport", "mint", "--tenant", "acme"], 3),
        (
            &["passport", "mint", "--tenant", "acme", "--for", "never"],
            2,
        ),
        (&["passport", "inspect", "mp1_nonsense"], 2),
        (&["passport", "attenuate", "mp1_nonsense", "--path", "/"], 2),
    ] {
        let said = said(args);
        assert_eq!(said.code, Some(code), "{args:?}: {said:?}");
        assert!(said.stderr.contains("error"), "{said:?}");
    }
}
