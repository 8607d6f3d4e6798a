use super::*;

#[test]
fn positions_count_characters_from_one() {
    let lines = Lines::of("é = 1\r\n\nb = 2");
    assert_eq!(lines.position(0), (1, 1));
    assert_eq!(lines.position(3), (1, 3));
    assert_eq!(lines.position(9), (3, 1));
    assert_eq!(lines.position(14), (3, 6));
}

#[test]
fn the_mark_stands_under_the_span() {
    let lines = Lines::of("a = 1\nkey = -5 # why\n");
    let excerpt = lines.excerpt(12..14, &[]);
    assert_eq!(
        excerpt,
        Excerpt {
            text: "key = -5 # why".into(),
            mark: 6,
            width: 2
        }
    );
}

#[test]
fn hidden_parts_show_neither_text_nor_length() {
    let text = "a = { token = \"hunter2\", ttl = -5 }";
    let span = text.find("-5").map(|at| at..at + 2).unwrap();
    let secret = text.find("\"hunter2\"").map(|at| at..at + 9).unwrap();
    let excerpt = Lines::of(text).excerpt(span, &[secret]);
    assert_eq!(
        excerpt,
        Excerpt {
            text: "a = { token = ***, ttl = -5 }".into(),
            mark: 25,
            width: 2
        }
    );
}

#[test]
fn a_hidden_part_that_began_lines_ago_stays_hidden() {
    let text = "k = \"\"\"\nhunter2\n\"\"\" x";
    let excerpt = Lines::of(text).excerpt(20..21, std::slice::from_ref(&(4..19)));
    assert_eq!(excerpt.text, "*** x");
}

#[test]
fn a_line_as_long_as_the_file_is_cut_around_the_span() {
    let text = format!("{}-5{}", "é".repeat(5_000), "x".repeat(5_000));
    let excerpt = Lines::of(&text).excerpt(10_000..10_002, &[]);
    assert_eq!(excerpt.text.chars().count(), WIDEST);
    let marked: String = excerpt
        .text
        .chars()
        .skip(excerpt.mark)
        .take(excerpt.width)
        .collect();
    assert_eq!(marked, "-5");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let excerpt = Lines::of("a = \u{1b}[2J\t1").excerpt(4..5, &[]);
    assert_eq!(excerpt.text, "a =  [2J 1");
}

#[test]
fn a_broken_line_shows_its_key_only_if_it_is_one() {
    let lines = Lines::of("token = hunter2\nhunter2==\n[admin\n# hunter2\n");
    let known = |name: &str| ["token", "admin"].contains(&name);
    let head = |offset| {
        lines
            .head(offset, known)
            .map(|excerpt| (excerpt.text, excerpt.mark))
    };
    assert_eq!(head(8), Some(("token = …".into(), 8)));
    assert_eq!(head(16), None);
    assert_eq!(head(27), Some(("[admin".into(), 1)));
    assert_eq!(head(33), None);
}
