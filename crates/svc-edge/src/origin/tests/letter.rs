//! What the headers of answers say, to the letter: each row is one answer, and whether it is given out again.

use super::*;

type Lines<'a> = Vec<(&'a str, &'a str)>;

/// An answer, and whether it is still given out without asking five seconds later.
struct Row<'a> {
    status: u16,
    lines: Lines<'a>,
    kept: bool,
}

fn row<'a>(kept: bool, lines: &[(&'a str, &'a str)]) -> Row<'a> {
    Row {
        status: 200,
        lines: lines.to_vec(),
        kept,
    }
}

/// A date so many seconds from now.
fn at(site: &Site, seconds: i64) -> String {
    let now = site.origins.desk.clock.now_ms() / 1000;
    let date = http_rules::date::value(now.checked_add_signed(seconds).unwrap());
    date.to_str().unwrap().to_owned()
}

async fn check(site: &Site, rows: &[Row<'_>]) {
    for (number, row) in rows.iter().enumerate() {
        let path = format!("/{number}");
        let answer = row.lines.iter();
        let answer = answer.fold(Reply::status(row.status).body("x"), |answer, line| {
            answer.header(line.0, line.1)
        });
        site.origin.set(&path, answer);
        let first = site.get(&format!("/o{path}")).await;
        assert_eq!(first.status, row.status, "{:?}", row.lines);
    }
    site.later(5);
    for (number, row) in rows.iter().enumerate() {
        let again = site.get(&format!("/o/{number}")).await;
        let (status, lines) = (row.status, &row.lines);
        assert_eq!(again.is_hit(), row.kept, "{status} {lines:?}");
    }
}

// req: ED-05
#[tokio::test]
async fn directives_are_read_across_lines_and_outside_quotes_and_doubt_means_stale() {
    let site = Site::start().await;
    let control = |kept, lines: &[&'static str]| {
        let lines = lines.iter().map(|line| ("cache-control", *line));
        row(kept, &lines.collect::<Lines<'_>>())
    };
    let rows = [
        control(true, &["max-age=60"]),
        control(true, &["public", "foo, max-age=60"]),
        control(true, &["MAX-AGE=60"]),
        control(true, &["max-age=\"60\""]),
        control(true, &["max-age=0060"]),
        control(true, &["max-age=60, max-age=60"]),
        control(true, &["max-age=99999999999999999999999"]),
        control(true, &["max-age=1, s-maxage=60"]),
        control(true, &["max-age=60, immutable, foo=\"bar, no-store\""]),
        control(true, &[",, ,max-age=60,"]),
        control(true, &["no-cache=\"set-cookie\", max-age=60"]),
        control(true, &["private=\"x-user, x-name\", max-age=60"]),
        control(false, &["max-age=1"]),
        control(false, &["max-age=60, max-age=1"]),
        control(false, &["max-age=60", "max-age=50"]),
        control(false, &["s-maxage=1, max-age=60"]),
        control(false, &["max-age=60", "s-maxage=1"]),
        control(false, &["max-age"]),
        control(false, &["max-age="]),
        control(false, &["max-age=-60"]),
        control(false, &["max-age=60.0"]),
        control(false, &["max-age=60s"]),
        control(false, &["max-age='60'"]),
        control(false, &["max-age =60"]),
        control(false, &["max-age= 60"]),
        control(false, &["x=\"max-age=60\", max-age=1"]),
        control(false, &["x=\"open, max-age=60"]),
        control(false, &["max-age=60, No-Store"]),
        control(false, &["max-age=60", "no-store"]),
        control(false, &["max-age=60, no-store=1"]),
        control(false, &["max-age=60, no-cache"]),
        control(false, &["max-age=60, no-cache=\"\""]),
        control(false, &["max-age=60, no-cache=\"x\", no-cache"]),
        control(false, &["max-age=60, PRIVATE"]),
        control(false, &["max-age=60, private=\"x y\""]),
    ];
    check(&site, &rows).await;
}

// req: ED-05
#[tokio::test]
async fn dates_count_where_no_number_does_and_those_that_cannot_be_read_are_past() {
    let site = Site::start().await;
    let (now, soon, past) = (at(&site, 0), at(&site, 60), at(&site, -60));
    let (fast, slow) = (at(&site, 1000), at(&site, -30));
    let (faster, small) = (at(&site, 1060), soon.to_ascii_lowercase());
    let odd = soon.replace("GMT", "UTC");
    let rows = [
        row(true, &[("expires", &soon), ("date", &now)]),
        row(true, &[("expires", &soon)]),
        row(true, &[("expires", &small)]),
        row(true, &[("expires", &soon), ("date", "yesterday")]),
        row(true, &[("expires", &faster), ("date", &fast)]),
        row(true, &[("expires", &past), ("cache-control", "max-age=60")]),
        row(true, &[("expires", "0"), ("cache-control", "max-age=60")]),
        row(true, &[("expires", "Thu, 18 Aug 2050 02:01:18 GMT")]),
        row(true, &[("expires", "Thu Aug 18 02:01:18 2050")]),
        row(true, &[("expires", "Thursday, 18-Aug-50 02:01:18 GMT")]),
        row(true, &[("expires", "Mon, 18 AUG 2050 02:01:18 gmt")]),
        row(false, &[("expires", &soon), ("cache-control", "max-age=1")]),
        row(false, &[("expires", &soon), ("cache-control", "max-age=x")]),
        row(false, &[("expires", &now)]),
        row(false, &[("expires", &past)]),
        row(false, &[("expires", &odd)]),
        row(false, &[("expires", "0")]),
        row(false, &[("expires", "-1")]),
        row(false, &[("expires", &soon), ("expires", &soon)]),
        row(false, &[("expires", &soon), ("date", &fast)]),
        row(false, &[("expires", &soon), ("date", &slow), ("age", "90")]),
        row(false, &[("cache-control", "max-age=20"), ("date", &slow)]),
    ];
    check(&site, &rows).await;
}

// req: ED-05
#[tokio::test]
async fn of_several_ages_the_first_counts_and_what_is_no_number_is_none() {
    let site = Site::start().await;
    let aged = |kept, ages: &[&'static str]| {
        let ages = ages.iter().map(|age| ("age", *age));
        let lines = ages.chain([("cache-control", "max-age=60")]);
        row(kept, &lines.collect::<Lines<'_>>())
    };
    let rows = [
        aged(true, &["0"]),
        aged(true, &["50"]),
        aged(true, &["0, 90"]),
        aged(true, &["0", "90"]),
        aged(true, &["old"]),
        aged(true, &["-90"]),
        aged(true, &["90.0"]),
        aged(true, &["90;a=b"]),
        aged(true, &[""]),
        aged(false, &["56"]),
        aged(false, &["90"]),
        aged(false, &["90, 0"]),
        aged(false, &["90", "0"]),
        aged(false, &["2147483647"]),
        aged(false, &["2147483648"]),
        aged(false, &["18446744073709551615"]),
        aged(false, &["99999999999999999999999999"]),
    ];
    check(&site, &rows).await;
    let oldest = [("age", "99999999999999999999999999")];
    site.origin.set("/oldest", reply("x", &oldest));
    let wish = [("cache-control", "max-age=99999999999")];
    let oldest = site.get_with("/o/oldest", &wish).await;
    assert_eq!((oldest.status, oldest.text()), (200, "x"));
}

// req: ED-05
#[tokio::test]
async fn what_nothing_is_said_about_is_kept_by_its_status_and_when_it_changed() {
    let site = Site::with(|text| text.lifetimes.clear()).await;
    let (changed, just, ahead) = (at(&site, -1000), at(&site, -20), at(&site, 1000));
    let kept = [200, 203, 204, 300, 404, 405, 410, 414, 501];
    let not = [201, 202, 302, 303, 307, 400, 403, 500, 599];
    let mut rows = Vec::new();
    for (statuses, kept) in [(&kept, true), (&not, false)] {
        rows.extend(statuses.iter().map(|status| Row {
            status: *status,
            lines: vec![("last-modified", &changed)],
            kept,
        }));
        rows.extend(statuses.iter().map(|status| Row {
            status: *status,
            lines: vec![("last-modified", &changed), ("cache-control", "public")],
            kept: true,
        }));
        rows.extend(statuses.iter().map(|status| Row {
            status: *status,
            lines: vec![("cache-control", "max-age=60")],
            kept: true,
        }));
        rows.extend(statuses.iter().map(|status| Row {
            status: *status,
            lines: vec![("cache-control", "max-age=60, no-store, must-understand")],
            kept: !matches!(status, 201 | 202 | 599),
        }));
    }
    rows.extend([
        row(false, &[("last-modified", &just)]),
        row(false, &[("last-modified", &ahead)]),
        row(false, &[("last-modified", "long ago")]),
        row(false, &[("last-modified", &changed), ("expires", "0")]),
        row(false, &[]),
        row(true, &[("last-modified", &changed), ("pragma", "no-cache")]),
    ]);
    check(&site, &rows).await;
}

// req: ED-05
#[tokio::test]
async fn a_targeted_header_speaks_alone_if_every_byte_of_it_is_right() {
    let site = Site::start().await;
    let both = |kept, cdn: &'static str, control: &'static str| {
        row(
            kept,
            &[("cdn-cache-control", cdn), ("cache-control", control)],
        )
    };
    let rows = [
        both(true, "max-age=60", "no-store"),
        both(true, "max-age=60, foo=(a \"b\";c 1.5);d=?0", "private"),
        both(true, "max-age=60;x=1", "max-age=1"),
        both(true, "no-store=?0, max-age=60", "max-age=1"),
        both(true, "max-age=1, max-age=60", "max-age=1"),
        both(true, "max-age=60, private=\"x-user\"", "no-store"),
        both(true, "", "max-age=60"),
        both(true, "max-age=60, ", "max-age=60"),
        both(true, "Max-Age=1", "max-age=60"),
        both(true, "max-age=\"1\"", "max-age=60"),
        both(true, "max-age=1.0", "max-age=60"),
        both(true, "max-age", "max-age=60"),
        both(true, "max-age= 1", "max-age=60"),
        both(true, "no-store, &", "max-age=60"),
        both(true, "max-age=1000000000000000", "max-age=60"),
        both(false, "max-age=1", "max-age=60"),
        both(false, "max-age=0", "max-age=60"),
        both(false, "max-age=-5", "max-age=60"),
        both(false, "public", "max-age=60"),
        both(false, "no-store", "max-age=60"),
        both(false, "private", "max-age=60"),
        both(false, "no-cache", "max-age=60"),
        both(false, "max-age=60, ", "no-store"),
        both(false, "max-age=60 no-store", "no-store"),
        both(false, "max-age=60, a=\"", "no-store"),
        both(false, "max-age=60, a=1e3", "no-store"),
        row(
            true,
            &[
                ("cdn-cache-control", "max-age=1"),
                ("cdn-cache-control", "max-age=60"),
            ],
        ),
        row(
            true,
            &[("cdn-cache-control", "max-age=60"), ("expires", "0")],
        ),
        row(false, &[("cdn-cache-control", "max-age=60"), ("age", "90")]),
        row(
            false,
            &[
                ("surrogate-control", "max-age=60"),
                ("cache-control", "max-age=1"),
            ],
        ),
    ];
    check(&site, &rows).await;
}
