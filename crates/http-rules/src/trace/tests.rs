use super::*;

const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// req: GW-14
#[test]
fn what_is_given_is_continued() {
    let mut headers = HeaderMap::new();
    headers.insert(TRACEPARENT, HeaderValue::from_static(GIVEN));
    let given = TraceContext::given(&headers).unwrap();
    assert_eq!(given.trace_id, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
    assert_eq!(given.span_id, 0x00f0_67aa_0ba9_02b7);
    assert!(given.sampled);
    assert_eq!(given.value(), GIVEN);
    let child = given.child(7);
    assert_eq!(
        child.value(),
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000007-01"
    );
}

// req: GW-14
#[test]
fn what_is_odd_is_not_believed() {
    let odd = [
        "",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
    ];
    for text in odd {
        assert_eq!(TraceContext::parse(text.as_bytes()), None, "{text}");
    }
    let mut headers = HeaderMap::new();
    headers.append(TRACEPARENT, HeaderValue::from_static(GIVEN));
    headers.append(TRACEPARENT, HeaderValue::from_static(GIVEN));
    assert_eq!(TraceContext::given(&headers), None);
}

#[test]
fn a_later_version_is_read_as_far_as_it_is_known() {
    let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-more";
    let read = TraceContext::parse(later.as_bytes()).unwrap();
    assert!(!read.sampled);
    assert!(read.value().to_str().unwrap().starts_with("00-4bf9"));
}

#[test]
fn a_new_trace_is_never_zero() {
    let begun = TraceContext::begin([0, 0], 0, true);
    assert_eq!(TraceContext::parse(begun.value().as_bytes()), Some(begun));
}

// req: GW-14
#[test]
fn a_number_is_written_in_lower_case_digits_of_four_bits_each() {
    for number in [0, 1, 0x0123_4567_89ab_cdef, 0x99aa_00ff_90a9_0f0a, u64::MAX] {
        let trace = u128::from(number) << 64 | u128::from(!number);
        let text = digits_of(trace);
        assert_eq!(str::from_utf8(&text).unwrap(), format!("{trace:032x}"));
        let context = TraceContext {
            trace_id: trace,
            span_id: number,
            sampled: number & 1 == 1,
        };
        let flags = u8::from(context.sampled);
        assert_eq!(
            context.value(),
            format!("00-{trace:032x}-{number:016x}-{flags:02x}")
        );
    }
}
