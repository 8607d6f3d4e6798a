//! What in the origins contradicts itself.

use std::collections::BTreeSet;

use http::HeaderName;
use ipnet::IpNet;
use strict_config::{Report, masked_url};
use upstream::EndpointSpec;

use super::super::check::is_name;
use super::OriginText;

/// The first segments of paths that the edge answers itself.
pub(crate) const OWN: [&str; 4] = ["tiles", "packs", "cas", "preview"];

pub(crate) fn check(origins: &[OriginText], report: &mut Report) {
    let (mut names, mut mounts) = (BTreeSet::new(), BTreeSet::new());
    for (index, origin) in origins.iter().enumerate() {
        report.within_item("origins", index, |report| {
            if !is_name(&origin.name) {
                let what = format!("`{}` is no name of an origin", origin.name);
                let remedy = "use letters, digits, `.`, `_` and `-`, not a dot first";
                report.contradiction(&["name"], what, remedy);
            }
            if !names.insert(&origin.name) {
                let what = format!("two origins are named `{}`", origin.name);
                report.contradiction(&["name"], what, "give each a name of its own");
            }
            if !mounts.insert(origin.mount.trim_end_matches('/')) {
                let what = format!("two origins are mounted at `{}`", origin.mount);
                report.contradiction(&["mount"], what, "give each a path of its own");
            }
            one(origin, report);
        });
    }
}

fn one(origin: &OriginText, report: &mut Report) {
    if !is_path(&origin.mount) {
        let what = format!("`{}` is no path to mount an origin at", origin.mount);
        report.contradiction(&["mount"], what, "write a path such as /osm");
    }
    let first = origin.mount.split('/').nth(1).unwrap_or_default();
    if OWN.contains(&first) {
        let what = format!("the edge answers /{first} itself");
        report.contradiction(&["mount"], what, "choose another path");
    }
    if !origin.path.is_empty() && !is_path(&origin.path) {
        let what = format!("`{}` is no path at an origin", origin.path);
        report.contradiction(&["path"], what, "write a path such as /v1, or leave it out");
    }
    if origin.to.is_some() != origin.hosts.is_empty() {
        let what = "an origin is one host or several, and it is said which";
        report.contradiction(&["to", "hosts"], what, "set one of the two");
    }
    for url in origin.to.iter().chain(&origin.hosts) {
        if let Err(error) = EndpointSpec::parse(url) {
            let remedy = "write https://host, with a port if it has one, and nothing after it";
            let what = format!("`{}`: {error}", masked_url(url));
            report.contradiction(&["to", "hosts"], what, remedy);
        }
    }
    for network in &origin.private_networks {
        if network.parse::<IpNet>().is_err() {
            let what = format!("`{network}` is no network");
            report.contradiction(&["private_networks"], what, "write one such as 10.1.0.0/16");
        }
    }
    headers(origin, report);
}

fn headers(origin: &OriginText, report: &mut Report) {
    let lists = [
        ("forward", &origin.forward),
        ("targets", &origin.targets),
        ("tags", &origin.tags),
    ];
    for (key, names) in lists {
        for name in names {
            let all = key == "forward" && name == "*";
            if !all && HeaderName::from_bytes(name.as_bytes()).is_err() {
                let what = format!("`{name}` is no name of a header");
                report.contradiction(&[key], what, "write one such as accept-language");
            }
        }
    }
}

/// Absolute, plain, and without steps that lead elsewhere.
fn is_path(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let steps = |part: &str| part == "." || part == "..";
    path.starts_with('/')
        && !path.contains("//")
        && path.bytes().all(plain)
        && !path.split('/').any(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use strict_config::{ConfigText, SourceFile, Sources, load};

    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    struct Whole {
        /// The origins.
        origins: Vec<OriginText>,
    }

    impl ConfigText for Whole {
        const ENV_PREFIX: &'static str = "WHOLE__";

        fn contradictions(&self, report: &mut Report) {
            check(&self.origins, report);
        }
    }

    fn mistakes(text: &str) -> String {
        let file = Some(SourceFile::new("edge.toml", text));
        let sources = Sources {
            file,
            ..Sources::default()
        };
        match load::<Whole>(&sources) {
            Ok(_) => String::new(),
            Err(mistakes) => mistakes.to_string(),
        }
    }

    // req: ED-08
    #[test]
    fn an_origin_is_a_name_a_mount_and_a_host() {
        let one = "[[origins]]\nname = \"osm\"\nmount = \"/osm\"\nto = \"https://tile.example\"\n";
        assert_eq!(mistakes(one), "");
        let hosts = "hosts = [\"https://a.example\", \"http://b.example:81\"]";
        let several = &format!("[[origins]]\nname = \"a\"\nmount = \"/\"\n{hosts}\n");
        assert_eq!(mistakes(several), "");
    }

    // req: ED-08
    // attack: F-12, F-18
    #[test]
    fn what_is_no_origin_is_said_to_be_none() {
        let one = "[[origins]]\nname = \"a\"\nmount = \"/a\"\nto = \"https://a.example\"\n";
        let cases = [
            ("name = \"a\"", "name = \"../x\"", "`../x` is no name"),
            ("mount = \"/a\"", "mount = \"a\"", "`a` is no path"),
            (
                "mount = \"/a\"",
                "mount = \"/a/../b\"",
                "`/a/../b` is no path",
            ),
            (
                "mount = \"/a\"",
                "mount = \"/tiles/x\"",
                "answers /tiles itself",
            ),
            ("to = \"https://a.example\"", "", "one host or several"),
            (
                "to =",
                "hosts = [\"https://b.example\"]\nto =",
                "one host or several",
            ),
            ("a.example", "ok@a.example", "neither path, query nor user"),
            (
                "a.example",
                "a.example/path",
                "neither path, query nor user",
            ),
            ("https:", "ftp:", "neither http nor https"),
            (
                "to =",
                "path = \"/../x\"\nto =",
                "`/../x` is no path at an origin",
            ),
            (
                "to =",
                "private_networks = [\"10/8\"]\nto =",
                "`10/8` is no network",
            ),
            (
                "to =",
                "forward = [\"a b\"]\nto =",
                "`a b` is no name of a header",
            ),
            (
                "to =",
                "targets = [\"a b\"]\nto =",
                "`a b` is no name of a header",
            ),
        ];
        for (good, bad, expected) in cases {
            let said = mistakes(&one.replace(good, bad));
            assert!(said.contains(expected), "{expected} in {said}");
        }
        let named_twice = format!("{one}{}", one.replace("/a", "/b"));
        assert!(mistakes(&named_twice).contains("two origins are named `a`"));
        let mounted_twice = format!(
            "{one}{}",
            one.replace("\"a\"", "\"b\"").replace("/a\"", "/a/\"")
        );
        assert!(mistakes(&mounted_twice).contains("two origins are mounted at `/a/`"));
    }
}
