use super::*;

/// Sizes around every step of mimalloc's bins, and beyond them.
fn sizes() -> impl Iterator<Item = usize> {
    let steps = (4..=16).map(|power| 1usize << power);
    (1..300).chain(steps.flat_map(|step| [step - 1, step, step + 1, step + step / 2]))
}

fn is_aligned(block: *mut u8, align: usize) -> bool {
    !block.is_null() && block.addr().is_multiple_of(align)
}

/// Whoever changes what all blocks go through does so alone.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn every_block_has_the_alignment_it_was_asked_for_and_keeps_what_is_in_it() {
    let _turn = TURN.lock().unwrap();
    for wiped in [true, false] {
        wipe_what_is_freed(wiped);
        blocks_are_aligned_and_keep_what_is_in_them();
    }
}

fn blocks_are_aligned_and_keep_what_is_in_them() {
    for align in [1, 2, 4, 8, 16, 32, 64, 4096] {
        let mut held = Vec::new();
        for size in sizes() {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the layout is not empty; the block is written within its size and given back below.
            let block = unsafe {
                let block = Heap.alloc(layout);
                block.write_bytes(0xa5, size);
                block
            };
            assert!(is_aligned(block, align), "{size} at {align}");
            held.push((block, layout));
        }
        for (block, layout) in held {
            let larger = layout.size() * 2 + 1;
            // SAFETY: the block came from above with this layout; after growing it is read within its old size.
            let kept = unsafe {
                let grown = Heap.realloc(block, layout, larger);
                assert!(is_aligned(grown, align), "{larger} at {align}");
                let kept = (0..layout.size()).all(|at| *grown.add(at) == 0xa5);
                Heap.dealloc(grown, Layout::from_size_align_unchecked(larger, align));
                kept
            };
            assert!(kept, "{layout:?}");
        }
    }
}

#[test]
fn a_block_that_is_to_be_empty_is_zero_throughout() {
    for align in [1, 8, 16, 64] {
        for size in sizes() {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the layout is not empty; the block is read within its size and given back once.
            let empty = unsafe {
                let dirty = Heap.alloc(layout);
                dirty.write_bytes(0xff, size);
                Heap.dealloc(dirty, layout);
                let block = Heap.alloc_zeroed(layout);
                let empty = is_aligned(block, align) && (0..size).all(|at| *block.add(at) == 0);
                Heap.dealloc(block, layout);
                empty
            };
            assert!(empty, "{layout:?}");
        }
    }
}

// req: ND-05
#[test]
fn what_is_freed_or_left_behind_is_wiped_if_that_is_asked_for() {
    let _turn = TURN.lock().unwrap();
    // The allocator writes a link into the first bytes of a free block; the others stay as they were left.
    const LINK: usize = 16;
    let layout = Layout::from_size_align(4096, 8).unwrap();
    let remains = |freed: fn(*mut u8, Layout)| {
        // SAFETY: the layout is not empty; the pages of a small block stay mapped while others of its size live, and
        // what is read of it, raw, is nobody's.
        unsafe {
            let neighbours: Vec<_> = (0..8).map(|_| Heap.alloc(layout)).collect();
            let block = neighbours[3];
            block.write_bytes(0xa5, layout.size());
            freed(block, layout);
            let left = (LINK..layout.size()).filter(|at| block.add(*at).read_volatile() == 0xa5);
            let left = left.count();
            for (nth, neighbour) in neighbours.into_iter().enumerate() {
                if nth != 3 {
                    Heap.dealloc(neighbour, layout);
                }
            }
            left
        }
    };
    // SAFETY: each gives the block back once.
    let given_back = |block, layout| unsafe { Heap.dealloc(block, layout) };
    let grown = |block, layout: Layout| {
        // SAFETY: as above.
        unsafe {
            let larger = Heap.realloc(block, layout, 100_000);
            assert!(larger != block && *larger.add(4095) == 0xa5);
            Heap.dealloc(
                larger,
                Layout::from_size_align_unchecked(100_000, layout.align()),
            );
        }
    };
    wipe_what_is_freed(true);
    assert_eq!((remains(given_back), remains(grown)), (0, 0));
    wipe_what_is_freed(false);
    let all = layout.size() - LINK;
    assert_eq!((remains(given_back), remains(grown)), (all, all));
}
