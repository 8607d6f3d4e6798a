use super::*;

fn read(bytes: &[u8]) -> Result<(Vec<u8>, bool), Fault> {
    let (mut chunks, mut inbox) = (Chunks::new(), BytesMut::from(bytes));
    let mut body = Vec::new();
    loop {
        match chunks.next(&mut inbox)? {
            Step::Data(data) => body.extend_from_slice(&data),
            Step::Trailers(_) => {}
            Step::Wait => return Ok((body, false)),
            Step::End => return Ok((body, true)),
        }
    }
}

fn is_garbage(bytes: &[u8]) {
    let read = read(bytes);
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
    assert!(
        matches!(read, Err(Fault::Garbage(_))),
        "{shown:?}: {read:?}"
    );
}

// req: GW-01
#[test]
fn chunks_are_joined_and_end_with_the_empty_one() {
    let body = b"5\r\nhello\r\n006;a=b\r\n world\r\n0\r\n\r\n";
    assert_eq!(read(body), Ok((b"hello world".to_vec(), true)));
    assert_eq!(read(b"5 \t;x\r\nhello\r\n"), Ok((b"hello".to_vec(), false)));
    assert_eq!(read(b"0\r\nx: y\r\n\r\n"), Ok((Vec::new(), true)));
}

// attack
#[test]
fn a_size_that_can_be_read_in_two_ways_is_refused() {
    let sizes: [&[u8]; 16] = [
        b"0x1\r\n",
        b"+1\r\n",
        b"-1\r\n",
        b"0_1\r\n",
        b" 1\r\n",
        b"\r\n",
        b"\n",
        b";x\r\n",
        b"10000000000000000\r\n",
        b"00000000000000001\r\n",
        b"1\nx",
        b"1 1\r\n",
        b"1;a\nb\r\n",
        b"1;a\rb\r\n",
        b"1;\0\r\n",
        b"1\r\nxy\r\n",
    ];
    for size in sizes {
        is_garbage(size);
    }
    is_garbage(b"1\r\nx\n0\r\n\r\n");
    is_garbage(b"0\r\nx: y\n\r\n");
    is_garbage(b"0\r\nno colon\r\n\r\n");
}

// attack: A-32
#[test]
fn extensions_are_bounded_in_one_chunk_and_in_all() {
    is_garbage(format!("1;{}", "x".repeat(LINE_BYTES)).as_bytes());
    is_garbage(format!("1;{}\r\nx\r\n", "x".repeat(LINE_BYTES)).as_bytes());
    let chunk = format!("1;{}\r\nx\r\n", "x".repeat(1022));
    assert!(read(chunk.repeat(16).as_bytes()).is_ok());
    is_garbage(chunk.repeat(17).as_bytes());
}

// attack: K-15
#[test]
fn trailers_are_bounded() {
    let endless = format!("0\r\nx: {}", "y".repeat(TRAILER_BYTES));
    assert!(matches!(read(endless.as_bytes()), Err(Fault::Oversized(_))));
    let many = format!("0\r\n{}\r\n", "x: y\r\n".repeat(101));
    assert!(matches!(read(many.as_bytes()), Err(Fault::Oversized(_))));
}
