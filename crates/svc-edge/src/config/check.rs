//! What in the `[edge]` section contradicts itself.

use std::collections::BTreeSet;

use http::HeaderValue;
use strict_config::Report;

use super::{EdgeText, TlsText};
use crate::tilejson::Base;

pub(super) fn check(text: &EdgeText, amnesia: bool, report: &mut Report) {
    doors(text, report);
    packs(text, report);
    super::origins::check(&text.origins, report);
    if let Some(url) = &text.public_url
        && let Err(what) = Base::parse(url)
    {
        let remedy = "write http://host or https://host, with a path if it has one";
        report.contradiction(&["public_url"], what, remedy);
    }
    report.within("cors", |report| cors(text, report));
    report.within("store", |report| store(text, amnesia, report));
}

fn doors(text: &EdgeText, report: &mut Report) {
    let secure = text.tls.iter().flat_map(|tls| &tls.listen);
    let mut all: Vec<_> = text.listen.iter().chain(secure).collect();
    if all.is_empty() {
        let remedy = "set listen, or an [edge.tls] section";
        report.contradiction(&["listen"], "the edge has no door", remedy);
    }
    all.sort();
    // Port 0 is a different one each time.
    let twice = all
        .windows(2)
        .find(|two| two[0] == two[1] && two[0].port() != 0);
    if let Some(twice) = twice {
        let what = format!("{} is listened on twice", twice[0]);
        report.contradiction(&["listen", "tls.listen"], what, "remove one of them");
    }
    report.within("tls", |report| {
        for error in text.tls.iter().flat_map(TlsText::faults) {
            report.contradiction(&["certificates"], error.to_string(), "mend the files named");
        }
    });
}

fn packs(text: &EdgeText, report: &mut Report) {
    let mut names = BTreeSet::new();
    for (index, pack) in text.packs.iter().enumerate() {
        report.within_item("packs", index, |report| {
            if !is_name(&pack.name) {
                let what = format!("`{}` is no name of a pack", pack.name);
                let remedy = "use letters, digits, `.`, `_` and `-`, not a dot first";
                report.contradiction(&["name"], what, remedy);
            }
            if !names.insert(&pack.name) {
                let what = format!("two packs are named `{}`", pack.name);
                report.contradiction(&["name"], what, "give each a name of its own");
            }
        });
    }
}

fn cors(text: &EdgeText, report: &mut Report) {
    for origin in &text.cors.origins {
        let of_a_page = origin.starts_with("http://") || origin.starts_with("https://");
        let bare = !origin.ends_with('/') && HeaderValue::from_str(origin).is_ok();
        if origin != "*" && !(of_a_page && bare) {
            let what = format!("`{origin}` is no origin of a page");
            let remedy = "write https://host, with a port if it has one, and no slash at its end";
            report.contradiction(&["origins"], what, remedy);
        }
    }
}

fn store(text: &EdgeText, amnesia: bool, report: &mut Report) {
    let Some(store) = &text.store else { return };
    if amnesia && store.dir.is_some() {
        let what = "under amnesia nothing is written to a disk";
        report.contradiction(&["dir"], what, "remove it: objects are kept in memory then");
    }
    if store.object_bytes > store.bytes {
        let what = "one object may not be larger than all together";
        let remedy = "lower object_bytes, or raise bytes";
        report.contradiction(&["object_bytes", "bytes"], what, remedy);
    }
    if let Some(s3) = &store.s3 {
        report.within("s3", |report| super::s3::check(s3, report));
    }
}

/// Whether a pack may be called that: its name is one segment of an address, and means nothing else there.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=128).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(plain)
}
