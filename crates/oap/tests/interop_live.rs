//! Both implementations on one connection, each in turn as the server.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test plays the outside world: its servers are tasks of their own, and a surprise ends it"
)]

#[expect(dead_code, reason = "the server can do more than is asked of it here")]
#[path = "client/server.rs"]
mod server;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use oap::client::{Ask, Client, Settings, Tcp};
use oap::{Codec, limits};
use server::{ECHO, SPACE, Server};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

/// Nothing when there is no Python; that is said loudly.
fn check(arguments: &[&str]) -> Option<Command> {
    if std::process::Command::new("python3")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!(
            "\nNOT TESTED: python3 is missing, so no connection was made to the second implementation\n"
        );
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/check.py");
    let mut command = Command::new("python3");
    command.arg("-B").arg(script).args(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    Some(command)
}

// req: TR-01, TR-04, TR-08
#[tokio::test]
async fn our_client_is_served_by_the_other_implementation() {
    let Some(mut python) = check(&["echo"]) else {
        return;
    };
    let mut python = python.spawn().unwrap();
    let mut port = String::new();
    let stdout = python.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut port).await.unwrap();
    let settings = Settings {
        timeout: Duration::from_secs(30),
        hello_timeout: Duration::from_secs(30),
        ..Settings::default()
    };
    let client = Client::new(Tcp(format!("127.0.0.1:{}", port.trim())), settings);
    assert_eq!(client.ready().await.unwrap().codec, Some(Codec::Gzip));
    let payload = Bytes::from("to and fro ".repeat(5_000));
    for compress in [false, true] {
        let ask = Ask {
            app_proto: SPACE,
            opcode: ECHO,
            tenant: 7,
            token: Some("key".into()),
            compress,
            ..Ask::default()
        };
        let answer = client.call(&ask, payload.clone()).await.unwrap();
        assert_eq!((answer.status(), answer.header().tenant), (200, 7));
        let most = limits::FRAME_BYTES_MAX as usize;
        assert_eq!(answer.collect(most).await.unwrap(), payload);
    }
    client.shutdown().await;
}

// req: TR-01
#[tokio::test]
async fn our_frames_serve_the_other_implementations_client() {
    let server = Server::start().await;
    let Some(mut python) = check(&["call", &server.address.port().to_string()]) else {
        return;
    };
    let mut python = python.spawn().unwrap();
    let payload = b"asked from afar ".repeat(1_000);
    let mut stdin = python.stdin.take().unwrap();
    stdin.write_all(&payload).await.unwrap();
    drop(stdin);
    let output = python.wait_with_output().await.unwrap();
    assert!(output.status.success(), "its complaint is above");
    assert_eq!(output.stdout, payload);
}
