use super::*;
use http::HeaderValue;

const ALL: [Coding; 3] = [Coding::Zstd, Coding::Brotli, Coding::Gzip];

fn choice(lines: &[&str], available: &[Coding], identity: bool) -> Choice {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(
            header::ACCEPT_ENCODING,
            HeaderValue::from_str(line).unwrap(),
        );
    }
    encoding(&headers, available, identity)
}

fn all(line: &str) -> Choice {
    choice(&[line], &ALL, true)
}

// req: ED-07
#[test]
fn the_heaviest_wins_and_then_our_order() {
    assert_eq!(all("gzip, deflate, br, zstd"), Choice::Coded(Coding::Zstd));
    assert_eq!(all("gzip, br"), Choice::Coded(Coding::Brotli));
    assert_eq!(all("gzip;q=1.0, br;q=0.9"), Choice::Coded(Coding::Gzip));
    assert_eq!(all("br;q=0.001"), Choice::Coded(Coding::Brotli));
    assert_eq!(all("GZIP ; q=0.5"), Choice::Coded(Coding::Gzip));
    assert_eq!(all("x-gzip"), Choice::Coded(Coding::Gzip));
    assert_eq!(
        choice(&["gzip", "br"], &ALL, true),
        Choice::Coded(Coding::Brotli)
    );
}

// req: ED-07
#[test]
fn nothing_is_coded_that_was_not_asked_for() {
    assert_eq!(choice(&[], &ALL, true), Choice::Identity);
    assert_eq!(all(""), Choice::Identity);
    assert_eq!(all("deflate"), Choice::Identity);
    assert_eq!(all("gzip;q=0"), Choice::Identity);
    assert_eq!(all("identity, gzip;q=0.5"), Choice::Identity);
    assert_eq!(all("gzip;q=0, *"), Choice::Coded(Coding::Zstd));
    assert_eq!(
        all("zstd;q=0, br;q=0, *;q=0.5"),
        Choice::Coded(Coding::Gzip)
    );
}

// req: ED-07
#[test]
fn the_plain_form_can_be_excluded() {
    assert_eq!(choice(&["identity;q=0"], &[], true), Choice::Nothing);
    assert_eq!(choice(&["*;q=0"], &ALL, true), Choice::Nothing);
    assert_eq!(
        choice(&["*;q=0, identity;q=0.1"], &ALL, true),
        Choice::Identity
    );
    assert_eq!(
        choice(&["*;q=0, gzip"], &ALL, true),
        Choice::Coded(Coding::Gzip)
    );
    assert_eq!(choice(&["br"], &[Coding::Gzip], false), Choice::Nothing);
    assert_eq!(choice(&[], &[Coding::Gzip], false), Choice::Nothing);
}

#[test]
fn a_weight_that_cannot_be_read_is_no_wish() {
    for odd in [
        "gzip;q=2",
        "gzip;q=1.1",
        "gzip;q=0.1234",
        "gzip;q=-1",
        "gzip;q=",
        "gzip;q=.5",
        "gzip;x=1",
        "gzip;q=0.a",
    ] {
        assert_eq!(all(odd), Choice::Identity, "{odd}");
    }
    assert_eq!(all("gzip, gzip;q=0"), Choice::Identity, "the lesser counts");
}
