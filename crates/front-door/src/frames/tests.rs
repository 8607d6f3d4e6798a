use super::*;

fn frame(kind: u8, flags: u8, stream: u32, payload: usize) -> Vec<u8> {
    let length = u32::try_from(payload).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.resize(HEAD + payload, 0xff);
    bytes
}

#[test]
fn frames_are_seen_once_wherever_the_bytes_are_split() {
    let bytes = [
        PREFACE.to_vec(),
        frame(SETTINGS, 0, 0, 6),
        frame(HEADERS, END_HEADERS | END_STREAM, 1, 20),
        frame(PING, 0, 0, 8),
        frame(DATA, END_STREAM, 3, 300),
        frame(PRIORITY, 0, 5, 5),
        frame(RST_STREAM, 0, 3, 4),
        frame(RST_STREAM, 0, 3, 6),
        frame(WINDOW_UPDATE, 0, 0, 4),
    ]
    .concat();
    for cut in 0..=bytes.len() {
        let (mut walker, mut seen) = (Walker::incoming(), Vec::new());
        walker.walk(&bytes[..cut], |frame, _| seen.push(frame));
        walker.walk(&bytes[cut..], |frame, _| seen.push(frame));
        let kinds: Vec<_> = seen
            .iter()
            .map(|frame| (frame.kind, frame.length, frame.stream))
            .collect();
        let expected = [
            (SETTINGS, 6, 0),
            (HEADERS, 20, 1),
            (PING, 8, 0),
            (DATA, 300, 3),
            (PRIORITY, 5, 5),
            (RST_STREAM, 4, 3),
            (RST_STREAM, 6, 3),
            (WINDOW_UPDATE, 4, 0),
        ];
        assert_eq!(kinds, expected, "cut at {cut}");
        assert_eq!(walker.unfinished(), Unfinished::Nothing);
        assert!(seen[1].ends_stream() && !seen[4].ends_stream());
        let words: Vec<u32> = seen.iter().map(|frame| frame.word).collect();
        assert_eq!(
            words,
            [0, 0, 0, 0, u32::MAX, u32::MAX, 0, u32::MAX],
            "cut at {cut}"
        );
    }
}

#[test]
fn the_walker_knows_what_is_left_open() {
    let mut walker = Walker::incoming();
    walker.walk(&PREFACE[..3], |_, _| {});
    assert_eq!(walker.unfinished(), Unfinished::Other);
    walker.walk(&PREFACE[3..], |_, _| {});
    assert_eq!(walker.unfinished(), Unfinished::Nothing);
    walker.walk(&frame(HEADERS, 0, 1, 4), |_, _| {});
    assert_eq!(
        walker.unfinished(),
        Unfinished::Other,
        "a block without an end"
    );
    walker.walk(&frame(CONTINUATION, END_HEADERS, 1, 4), |_, _| {});
    assert_eq!(walker.unfinished(), Unfinished::Nothing);
    walker.walk(&frame(DATA, 0, 1, 4)[..11], |_, _| {});
    assert_eq!(walker.unfinished(), Unfinished::Data);
}

// attack: B-03
#[test]
fn the_walker_knows_with_how_much_a_window_begins() {
    let entries = [[0, 3, 0, 0, 0, 9], [0, 4, 0, 0, 0, 7], [0, 5, 0, 0, 0, 8]];
    let mut settings = frame(SETTINGS, 0, 0, 18);
    settings.truncate(9);
    let (before, after) = (frame(PING, 0, 0, 8), frame(PING, 0, 0, 8));
    let bytes = [PREFACE, &before, &settings, &entries.concat(), &after].concat();
    for cut in 0..=bytes.len() {
        let (mut walker, mut windows) = (Walker::incoming(), Vec::new());
        walker.walk(&bytes[..cut], |_, window| windows.push(window));
        walker.walk(&bytes[cut..], |_, window| windows.push(window));
        assert_eq!(windows, [65_535, 65_535, 7], "cut at {cut}");
    }
}
