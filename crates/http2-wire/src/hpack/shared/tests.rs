use super::*;

#[test]
fn a_copy_is_what_it_was_made_of_and_so_are_its_own() {
    let text: Vec<u8> = (0..=u8::MAX).cycle().take(400).collect();
    for length in 0..text.len() {
        let copy = copy(&text[..length]);
        let other = copy.clone();
        assert_eq!(copy, text[..length]);
        drop(copy);
        assert_eq!(other.slice(length / 2..), text[length / 2..length]);
    }
}

#[test]
fn what_is_beside_the_bytes_fills_a_class_of_the_allocator() {
    let counted = 2 * size_of::<usize>();
    assert_eq!(counted + size_of::<Inline<SMALL>>(), 32);
    assert_eq!(counted + size_of::<Inline<MIDDLE>>(), 64);
    assert_eq!(counted + size_of::<Inline<LARGE>>(), 128);
}
