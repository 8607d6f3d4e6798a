//! The other implementation, in Python: it reads the same vectors, and whatever else can be made up, alike.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bytes::{Bytes, BytesMut};
use oap::{Decoder, Flags, Frame, Header, Violation};
use serde_json::{Value, json};

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn check(arguments: &[&str]) -> Command {
    let mut command = Command::new("python3");
    // Nothing is left behind in the tree.
    command
        .arg("-B")
        .arg(file("interop/check.py"))
        .args(arguments);
    command
}

/// Says loudly when there is nobody to talk to.
fn is_missing() -> bool {
    let missing = Command::new("python3").arg("--version").output().is_err();
    if missing {
        eprintln!(
            "\nNOT TESTED: python3 is missing, so nothing was exchanged with the second implementation\n"
        );
    }
    missing
}

/// What it says to so many lines.
fn told(arguments: &[&str], input: Vec<u8>) -> Vec<u8> {
    let mut child = check(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(&input));
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "its complaint is above");
    output.stdout
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn described(frame: &Frame) -> Value {
    let header = &frame.header;
    json!({
        "flags": header.flags.bits(),
        "code": header.code,
        "app_proto": header.app_proto,
        "tenant": format!("{:032x}", header.tenant),
        "corr_id": header.corr_id,
        "cap": hex(&frame.cap),
        "payload": hex(&frame.payload),
    })
}

/// What this implementation sees in bytes.
fn seen(bytes: &[u8]) -> Value {
    let (mut inbox, mut frames) = (BytesMut::from(bytes), Vec::new());
    let fault: Option<Violation> = loop {
        match Decoder::default().decode(&mut inbox) {
            Ok(Some(frame)) => frames.push(described(&frame)),
            Ok(None) => break None,
            Err(violation) => break Some(violation),
        }
    };
    match fault {
        Some(violation) => json!({"frames": frames, "reason": violation.reason()}),
        None => json!({"frames": frames, "rest": inbox.len()}),
    }
}

/// A frame of any kind, most of them lawful; the same ones each time.
fn frame(seed: &mut fastrand::Rng) -> Frame {
    let control = seed.u8(..4) == 0;
    let kind = [Flags::REQ, Flags::RESP, Flags::EVENT][seed.usize(..if control { 3 } else { 2 })];
    let stream = [0, 8, 16, 24][seed.usize(..if control { 1 } else { 4 })];
    let flags = Flags::from_bits(kind.bits() | stream | (seed.u16(..2) * 32));
    let code = match stream == 16 || seed.u8(..8) == 0 {
        true => 0,
        false => seed.u16(200..600),
    };
    let bytes = |seed: &mut fastrand::Rng, most: usize| {
        let length = seed.usize(..most);
        Bytes::from_iter(std::iter::repeat_with(|| seed.u8(..)).take(length))
    };
    Frame {
        header: Header {
            flags,
            code,
            app_proto: if control { 0 } else { seed.u16(1..) },
            tenant: seed.u128(..),
            corr_id: seed.u64(..),
        },
        cap: bytes(seed, 30),
        payload: bytes(seed, 60),
    }
}

fn wire(frame: &Frame) -> Vec<u8> {
    let mut out = BytesMut::new();
    frame.encode(&mut out).unwrap();
    out.to_vec()
}

// req: TR-01
#[test]
fn the_second_implementation_reads_and_writes_the_vectors() {
    if is_missing() {
        return;
    }
    let vectors = file("crates/oap/vectors/oap-1.json");
    let said = told(&["vectors", &vectors.to_string_lossy()], Vec::new());
    let said = String::from_utf8(said).unwrap();
    assert!(said.ends_with("vectors hold\n"), "{said}");
    let count: usize = said.split(' ').next().unwrap().parse().unwrap();
    assert!(count > 40, "only {count}");
}

// req: TR-01, TR-02
// attack: G-16
#[test]
fn both_implementations_see_the_same_in_any_bytes_however_they_are_cut() {
    if is_missing() {
        return;
    }
    let mut seed = fastrand::Rng::with_seed(1);
    let mut streams: Vec<Vec<u8>> = Vec::new();
    for round in 0..1_500 {
        let frames = (0..seed.usize(1..4)).map(|_| frame(&mut seed));
        let mut bytes: Vec<u8> = frames.flat_map(|frame| wire(&frame)).collect();
        if round % 3 == 1 {
            let at = seed.usize(..bytes.len().min(38));
            bytes[at] = seed.u8(..);
        }
        if round % 3 == 2 {
            bytes.truncate(seed.usize(..bytes.len()));
        }
        streams.push(bytes);
    }
    let lines: String = streams.iter().map(|bytes| hex(bytes) + "\n").collect();
    let said = String::from_utf8(told(&["decode"], lines.into_bytes())).unwrap();
    assert_eq!(said.lines().count(), streams.len());
    let mut refused = 0;
    for (line, bytes) in said.lines().zip(&streams) {
        let theirs: Value = serde_json::from_str(line).unwrap();
        assert_eq!(theirs, seen(bytes), "{}", hex(bytes));
        refused += usize::from(theirs.get("reason").is_some());
    }
    assert!(
        (100..1_400).contains(&refused),
        "{refused} of 1,500 refused"
    );
}

// req: TR-01
#[test]
fn what_the_second_implementation_writes_is_what_this_one_writes() {
    if is_missing() {
        return;
    }
    let mut seed = fastrand::Rng::with_seed(2);
    let frames: Vec<Frame> = (0..1_000).map(|_| frame(&mut seed)).collect();
    let lines: String = frames
        .iter()
        .map(|frame| described(frame).to_string() + "\n")
        .collect();
    let said = String::from_utf8(told(&["encode"], lines.into_bytes())).unwrap();
    assert_eq!(said.lines().count(), frames.len());
    for (line, frame) in said.lines().zip(&frames) {
        assert_eq!(line, hex(&wire(frame)));
    }
}
