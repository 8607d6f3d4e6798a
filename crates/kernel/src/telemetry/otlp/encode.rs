//! A batch of spans as an `ExportTraceServiceRequest` in the protocol's JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::span::Span;

/// The number is that of the protocol's enumeration.
const STATUS_ERROR: u8 = 2;

pub(super) fn request(service: &str, spans: &[Span]) -> Vec<u8> {
    let resource = json!({"key": "service.name", "value": {"stringValue": service}});
    let spans: Vec<Value> = spans.iter().map(span).collect();
    let request = json!({
        "resourceSpans": [{
            "resource": {"attributes": [resource]},
            "scopeSpans": [{"scope": {"name": "kernel"}, "spans": spans}],
        }],
    });
    request.to_string().into_bytes()
}

fn span(span: &Span) -> Value {
    let attributes: Vec<Value> = span
        .attributes
        .list()
        .iter()
        .map(|(key, value)| json!({"key": key, "value": value}))
        .collect();
    let mut made = json!({
        "traceId": span.place.trace.to_string(),
        "spanId": span.place.span.to_string(),
        "name": span.name,
        "kind": span.kind as u8,
        "startTimeUnixNano": nanos(span.start),
        "endTimeUnixNano": nanos(span.end),
        "attributes": attributes,
        "droppedAttributesCount": span.attributes.left_out(),
    });
    if let Some(parent) = span.parent {
        made["parentSpanId"] = parent.to_string().into();
    }
    if let Some(error) = &span.error {
        made["status"] = json!({"code": STATUS_ERROR, "message": error});
    }
    made
}

fn nanos(time: Duration) -> String {
    time.as_nanos().to_string()
}
