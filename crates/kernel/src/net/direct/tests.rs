use std::future::poll_fn;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

async fn pair() -> (TcpStream, tokio::net::TcpStream) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (ours, theirs) = tokio::join!(tokio::net::TcpStream::connect(address), listener.accept());
    (ours.unwrap().into(), theirs.unwrap().0)
}

async fn read(stream: &mut TcpStream, most: usize) -> io::Result<Vec<u8>> {
    let mut room = vec![0; most];
    let mut buf = ReadBuf::new(&mut room);
    poll_fn(|cx| poll_read(stream, cx, &mut buf)).await?;
    Ok(buf.filled().to_vec())
}

// req: GW-02
#[tokio::test]
async fn what_comes_is_read_as_it_comes_and_an_end_is_an_end() {
    let (mut ours, mut theirs) = pair().await;
    for round in 0..200_u32 {
        let waits = async {
            let first = read(&mut ours, 3).await.unwrap();
            let second = read(&mut ours, 100).await.unwrap();
            [first, second].concat()
        };
        let says = async {
            if round % 2 == 0 {
                tokio::task::yield_now().await;
            }
            theirs.write_all(b"word ").await.unwrap();
        };
        let (heard, ()) = tokio::join!(waits, says);
        assert_eq!(heard, b"word ");
    }
    theirs.write_all(b"last").await.unwrap();
    drop(theirs);
    assert_eq!(read(&mut ours, 100).await.unwrap(), b"last");
    assert_eq!(read(&mut ours, 100).await.unwrap(), b"");
    assert_eq!(read(&mut ours, 100).await.unwrap(), b"");
}

// req: GW-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_written_twice_where_the_other_side_is_slow() {
    let (mut ours, mut theirs) = pair().await;
    let sent: Vec<u8> = (0..3_000_000_u32)
        .map(|number| (number % 251) as u8)
        .collect();
    let expected = sent.clone();
    let reads = async {
        let mut came = Vec::new();
        let mut room = vec![0; 300_000];
        while came.len() < expected.len() {
            let some = theirs.read(&mut room).await.unwrap();
            assert!(some > 0, "it ends early");
            came.extend_from_slice(&room[..some]);
        }
        assert!(came == expected);
        theirs.write_all(b"thanks").await.unwrap();
    };
    let writes = async {
        let mut at = 0;
        while at < sent.len() {
            let (first, second) = sent[at..].split_at((sent.len() - at).min(70_001));
            let pieces = [first, &[], second].map(IoSlice::new);
            at += match at % 2 {
                0 => poll_fn(|cx| poll_write_vectored(&mut ours, cx, &pieces)).await,
                _ => poll_fn(|cx| poll_write(&mut ours, cx, first)).await,
            }
            .unwrap();
        }
        read(&mut ours, 100).await.unwrap()
    };
    let ((), thanks) = tokio::join!(reads, writes);
    assert_eq!(thanks, b"thanks");
}

// req: GW-02
#[tokio::test]
async fn more_pieces_than_the_system_takes_at_once_leave_one_call_after_another() {
    let (mut ours, mut theirs) = pair().await;
    let mut at = 0;
    while at < 3_000 {
        let pieces = vec![IoSlice::new(b"x"); 3_000 - at];
        let write = poll_fn(|cx| poll_write_vectored(&mut ours, cx, &pieces));
        let written = tokio::time::timeout(Duration::from_secs(10), write).await;
        at += written.expect("there is room").unwrap();
    }
    let mut came = vec![0; 3_000];
    theirs.read_exact(&mut came).await.unwrap();
    assert_eq!(came, vec![b'x'; 3_000]);
}

// req: GW-02
#[tokio::test]
async fn who_writes_to_nobody_is_told() {
    let (mut ours, theirs) = pair().await;
    drop(theirs);
    let mut told = Ok(0);
    for _ in 0..50 {
        told = poll_fn(|cx| poll_write(&mut ours, cx, b"word")).await;
        if told.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(told.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}
