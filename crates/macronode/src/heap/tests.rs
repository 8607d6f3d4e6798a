use super::*;

/// Sizes around every step of mimalloc's bins, and beyond them.
fn sizes() -> impl Iterator<Item = usize> {
    let steps = (4..=16).map(|power| 1usize << power);
    (1..300).chain(steps.flat_map(|step| [step - 1, step, step + 1, step + step / 2]))
}

fn is_aligned(block: *mut u8, align: usize) -> bool {
    !block.is_null() && block.addr().is_multiple_of(align)
}

#[test]
fn every_block_has_the_alignment_it_was_asked_for_and_keeps_what_is_in_it() {
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
