//! Buffers nobody uses at the moment. What was put back last is taken next: it is still in the processor's cache.
//!
//! A connection needs room only while bytes pass through it. With hundreds of them, each with buffers of its own, every
//! byte would pass through memory that was last touched hundreds of requests ago.

use std::cell::RefCell;
use std::thread::LocalKey;

use bytes::BytesMut;
use http::HeaderMap;

/// Room for what is read at once where nothing is known: most heads and answers are smaller.
pub const READ_BYTES: usize = 8 * 1024;

/// Room for what is read at once where more is known to come, and for what may follow it.
pub const LARGE_BYTES: usize = 64 * 1024 + 64;

/// Kept of each kind, for each thread.
const KEPT: usize = 32;
/// The same of those that are large.
const LARGE_KEPT: usize = 4;
/// Room for what is written at once at first, and at most where it is kept.
const WRITE_BYTES: usize = 4 * 1024;
const WRITE_BYTES_MAX: usize = 32 * 1024;
/// Fields there may be room for in a map that is kept.
const FIELDS_KEPT: usize = 128;

type Shelf<T> = RefCell<Vec<T>>;

thread_local! {
    static INBOXES: Shelf<BytesMut> = const { RefCell::new(Vec::new()) };
    static LARGE: Shelf<BytesMut> = const { RefCell::new(Vec::new()) };
    static OUTBOXES: Shelf<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static FIELDS: Shelf<HeaderMap> = const { RefCell::new(Vec::new()) };
}

/// Nothing, once the thread has begun to end.
fn take<T>(shelf: &'static LocalKey<Shelf<T>>) -> Option<T> {
    shelf.try_with(|kept| kept.borrow_mut().pop()).ok()?
}

fn put<T>(shelf: &'static LocalKey<Shelf<T>>, one: T) {
    put_up_to(KEPT, shelf, one);
}

fn put_up_to<T>(most: usize, shelf: &'static LocalKey<Shelf<T>>, one: T) {
    // A thread that ends keeps nothing.
    let _kept = shelf.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if kept.len() < most {
            kept.push(one);
        }
    });
}

/// Room for [`READ_BYTES`].
pub fn take_inbox() -> BytesMut {
    let kept = take(&INBOXES);
    // One that somebody still holds a part of is left to them.
    let whole = kept.and_then(|mut inbox| inbox.try_reclaim(READ_BYTES).then_some(inbox));
    whole.unwrap_or_else(|| BytesMut::with_capacity(READ_BYTES))
}

/// Puts back one that was taken and has not been made larger. Parts of it that others still hold stay theirs.
pub fn put_inbox(mut inbox: BytesMut) {
    inbox.clear();
    put(&INBOXES, inbox);
}

/// Room for [`LARGE_BYTES`].
pub fn take_large() -> BytesMut {
    let kept = take(&LARGE);
    let whole = kept.and_then(|mut inbox| inbox.try_reclaim(LARGE_BYTES).then_some(inbox));
    whole.unwrap_or_else(|| BytesMut::with_capacity(LARGE_BYTES))
}

/// Puts back one that was taken as large and has not been made larger.
pub fn put_large(mut inbox: BytesMut) {
    inbox.clear();
    put_up_to(LARGE_KEPT, &LARGE, inbox);
}

/// Puts it back if nobody holds a part of it any more; otherwise it stays.
pub fn put_inbox_if_whole(inbox: &mut BytesMut) {
    if inbox.is_empty() && inbox.try_reclaim(READ_BYTES) {
        put(&INBOXES, std::mem::take(inbox));
    }
}

/// Puts a large one back if nobody holds a part of it any more; otherwise it stays.
pub fn put_large_if_whole(inbox: &mut BytesMut) {
    if inbox.is_empty() && inbox.try_reclaim(LARGE_BYTES) {
        put_large(std::mem::take(inbox));
    }
}

/// An empty buffer with some room.
pub fn take_outbox() -> Vec<u8> {
    take(&OUTBOXES).unwrap_or_else(|| Vec::with_capacity(WRITE_BYTES))
}

/// Puts one back that is not needed any more.
pub fn put_outbox(mut outbox: Vec<u8>) {
    outbox.clear();
    if (WRITE_BYTES..=WRITE_BYTES_MAX).contains(&outbox.capacity()) {
        put(&OUTBOXES, outbox);
    }
}

/// An empty map, with room if there is one.
pub fn take_fields() -> HeaderMap {
    take(&FIELDS).unwrap_or_default()
}

/// Puts one back that is not needed any more.
pub fn put_fields(mut fields: HeaderMap) {
    fields.clear();
    if (1..=FIELDS_KEPT).contains(&fields.capacity()) {
        put(&FIELDS, fields);
    }
}

/// Frees all that this thread keeps: for a thread that lives on after its last connection, and is to remember none.
pub fn forget() {
    fn empty<T>(shelf: &'static LocalKey<Shelf<T>>) {
        let _freed = shelf.try_with(RefCell::take);
    }
    empty(&INBOXES);
    empty(&LARGE);
    empty(&OUTBOXES);
    empty(&FIELDS);
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-02
    #[test]
    fn what_was_put_back_last_is_taken_next_with_all_its_room() {
        let mut inbox = take_inbox();
        let at = inbox.as_ptr();
        inbox.extend_from_slice(b"head");
        let head = inbox.split_to(4).freeze();
        drop(head);
        put_inbox(inbox);
        let again = take_inbox();
        assert_eq!((again.as_ptr(), again.len()), (at, 0));
        assert!(again.capacity() >= READ_BYTES);
    }

    // req: GW-02
    #[test]
    fn few_large_ones_are_kept_and_only_what_nobody_holds_is_used_again() {
        let mut large = take_large();
        let at = large.as_ptr();
        large.extend_from_slice(&[b'x'; LARGE_BYTES]);
        let held = large.split_to(LARGE_BYTES).freeze();
        put_large(large);
        let mut other = take_large();
        assert_ne!(other.as_ptr(), at);
        other.extend_from_slice(&[b'y'; LARGE_BYTES]);
        assert!(held.iter().all(|byte| *byte == b'x'));
        let free = other.as_ptr();
        put_large(other);
        assert_eq!(take_large().as_ptr(), free);
        for _ in 0..2 * LARGE_KEPT {
            put_large(BytesMut::with_capacity(LARGE_BYTES));
        }
        assert_eq!(LARGE.with_borrow(Vec::len), LARGE_KEPT);
    }

    // req: GW-02
    #[test]
    fn what_somebody_still_holds_is_never_written_over() {
        let mut inbox = take_inbox();
        inbox.extend_from_slice(b"mine");
        let held = inbox.split_to(4).freeze();
        put_inbox_if_whole(&mut inbox);
        assert!(inbox.capacity() > 0, "it stays with who has it");
        put_inbox(inbox);
        let mut other = take_inbox();
        other.extend_from_slice(&[b'x'; READ_BYTES]);
        assert_eq!(held, "mine");
        drop(held);
    }

    // req: GW-02
    #[test]
    fn a_map_is_given_out_empty_and_a_large_buffer_is_not_kept() {
        let mut fields = HeaderMap::new();
        fields.insert("a", "b".parse().unwrap());
        put_fields(fields);
        let fields = take_fields();
        assert!(fields.is_empty() && fields.capacity() > 0);
        while take(&OUTBOXES).is_some() {}
        put_outbox(Vec::with_capacity(WRITE_BYTES_MAX + 1));
        assert!(take(&OUTBOXES).is_none());
        for _ in 0..2 * KEPT {
            put_outbox(Vec::with_capacity(WRITE_BYTES));
        }
        assert_eq!(OUTBOXES.with_borrow(Vec::len), KEPT);
    }

    // req: ND-05
    #[test]
    fn a_thread_that_is_to_forget_keeps_nothing_that_was_read_or_written() {
        let mut inbox = take_inbox();
        inbox.extend_from_slice(b"secret");
        put_inbox(inbox);
        put_outbox(Vec::with_capacity(WRITE_BYTES));
        put_fields(HeaderMap::with_capacity(8));
        forget();
        assert!(take(&INBOXES).is_none() && take(&OUTBOXES).is_none() && take(&FIELDS).is_none());
    }
}
