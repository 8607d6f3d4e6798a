//! Examples as JSON and as a table: read with the implementation under test, so that what is told is what it does.

use bytes::{Bytes, BytesMut};
use oap::bridge::RequestHead;
use oap::{Decoder, Frame, Meta, Refusal};
use serde_json::{Value, json};

use crate::examples::Examples;

pub(crate) fn json(examples: &Examples) -> Value {
    fn each<T>(list: &[(&str, T)], tell: fn(&str, &T) -> Value) -> Value {
        list.iter().map(|(name, one)| tell(name, one)).collect()
    }
    json!({
        "frames": each(&examples.frames, frame),
        "refused": each(&examples.refused, refused),
        "caps": each(&examples.caps, cap),
        "heads": each(&examples.heads, head),
        "tenants": examples.tenants.iter().map(|name| tenant(name)).collect::<Value>(),
    })
}

/// The frames, for people.
pub(crate) fn table(examples: &Examples) -> String {
    let row = |(name, frame): &(&str, Frame)| {
        let lines = hex(&wire(frame));
        let lines: Vec<&str> = lines
            .as_bytes()
            .chunks(96)
            .map(|line| std::str::from_utf8(line).expect("it is ASCII"))
            .collect();
        format!(
            "{name} ({:?})\n    {}\n",
            frame.header.flags,
            lines.join("\n    ")
        )
    };
    let rows: String = examples.frames.iter().map(row).collect();
    format!("```text\n{rows}```\n")
}

fn tenant(name: &str) -> Value {
    json!({ "name": name, "tenant": format!("{:032x}", oap::tenant_id(name)) })
}

fn frame(name: &str, one: &Frame) -> Value {
    let bytes = wire(one);
    let mut inbox = BytesMut::from(&bytes[..]);
    let read = Decoder::default().decode(&mut inbox);
    assert_eq!(read, Ok(Some(one.clone())), "{name}");
    json!({
        "name": name,
        "hex": hex(&bytes),
        "flags": one.header.flags.bits(),
        "code": one.header.code,
        "app_proto": one.header.app_proto,
        "tenant": format!("{:032x}", one.header.tenant),
        "corr_id": one.header.corr_id,
        "cap": hex(&one.cap),
        "payload": hex(&one.payload),
    })
}

fn refused(name: &str, bytes: &Bytes) -> Value {
    let mut inbox = BytesMut::from(&bytes[..]);
    let violation = Decoder::default()
        .decode(&mut inbox)
        .expect_err("an example of what is refused is refused");
    json!({"name": name, "hex": hex(bytes), "reason": violation.reason()})
}

fn cap(name: &str, bytes: &Bytes) -> Value {
    match Meta::decode(bytes.clone()) {
        Err(bad) => {
            json!({"name": name, "hex": hex(bytes), "reason": Refusal::from(bad).reason()})
        }
        Ok(meta) => json!({
            "name": name,
            "hex": hex(bytes),
            "token": meta.token.as_deref().map(hex),
            "deadline_ms": meta.deadline_ms,
            "trace": meta.trace.as_deref().map(hex),
        }),
    }
}

fn head(name: &str, bytes: &Bytes) -> Value {
    let mut payload = bytes.clone();
    match RequestHead::take(&mut payload) {
        Err(refusal) => json!({"name": name, "hex": hex(bytes), "reason": refusal.reason()}),
        Ok(head) => {
            let fields = head.headers.iter();
            let fields: Vec<[String; 2]> = fields
                .map(|(name, value)| [name.to_string(), hex(value.as_bytes())])
                .collect();
            json!({
                "name": name,
                "hex": hex(bytes),
                "method": head.method.as_str(),
                "target": head.target.as_str(),
                "authority": head.authority.as_str(),
                "fields": fields,
                "body": hex(&payload),
            })
        }
    }
}

fn wire(frame: &Frame) -> Vec<u8> {
    let mut out = BytesMut::new();
    frame.encode(&mut out).expect("examples are small");
    out.to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
