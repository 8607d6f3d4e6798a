use super::*;

fn within(prefix: &str) -> Limits {
    let mut limits = Limits::default();
    limits.within_path(prefix);
    limits
}

fn holds(prefix: &str, path: &str) -> bool {
    within(prefix).admit("GET", path, None).is_ok()
}

#[test]
fn a_prefix_holds_whole_segments() {
    assert!(holds("/a", "/a"));
    assert!(holds("/a", "/a/b"));
    assert!(!holds("/a", "/ab"));
    assert!(holds("/a/", "/a/b"));
    assert!(!holds("/a/", "/a"));
    assert!(holds("/", "/anything/.well-known/x..y/..."));
    assert!(!holds("/a", "/b/a"));
    assert!(!holds("/a", "/A"));
}

// req: GW-12
#[test]
fn a_prefix_holds_a_path_in_any_spelling_and_no_other() {
    for (prefix, path) in [
        ("/caf%C3%A9", "/caf%c3%a9/x"),
        ("/caf%c3%a9", "/café"),
        ("/%7Ejoe", "/~joe/x"),
        ("/a", "/%61"),
        ("/v1/{id}", "/v1/%7bid%7D/x"),
        ("/a%3b", "/a%3B"),
    ] {
        assert!(holds(prefix, path), "{prefix} {path}");
        assert!(holds(path, path), "{path}");
    }
    for (prefix, path) in [
        ("/a%3b", "/a;"),
        ("/a;", "/a%3B"),
        ("/a%2Fb", "/a/b"),
        ("/a/b", "/a%2Fb"),
        ("/a", "/a%2Fb"),
        ("/a%2561", "/a%61"),
        ("/a%", "/a%25"),
        ("/caf%C3%A9", "/caf%C3%A8"),
    ] {
        assert!(!holds(prefix, path), "{prefix} {path}");
    }
}

// req: GW-12
#[test]
fn no_way_of_writing_a_dot_segment_leaves_the_prefix() {
    for path in [
        "/a/..",
        "/a/../b",
        "/a/./b",
        "/a/%2e%2E/b",
        "/a/.%2e/b",
        "/a/%2e./b",
        "/a/%2e/b",
        "/a/..;x=1/b",
        "/a/b\\..\\..",
        "/a/b%5c..%5C..",
        "/a%2f..%2fb",
        "/a/b%2F..%2Fc",
        "/a/b/..",
    ] {
        assert!(!holds("/a", path), "{path}");
    }
}

#[test]
fn every_prefix_must_hold() {
    let mut limits = within("/a");
    limits.within_path("/a/b");
    assert_eq!(limits.admit("GET", "/a/b/c", None), Ok(()));
    assert_eq!(limits.admit("GET", "/a/c", None), Err(Beyond::Path));
    limits.within_path("/z");
    assert_eq!(limits.admit("GET", "/a/b/c", None), Err(Beyond::Path));
}

#[test]
fn methods_only_become_fewer() {
    let mut limits = Limits::default();
    assert_eq!(limits.admit("BREW", "/", None), Ok(()));
    limits.within_methods(Methods::of(["GET", "POST"]).unwrap());
    limits.within_methods(Methods::of(["GET", "PUT"]).unwrap());
    assert_eq!(limits.admit("GET", "/", None), Ok(()));
    for method in ["POST", "PUT", "BREW", "get"] {
        assert_eq!(limits.admit(method, "/", None), Err(Beyond::Method));
    }
    limits.within_methods(Methods::of(["PUT"]).unwrap());
    assert_eq!(limits.admit("GET", "/", None), Err(Beyond::Method));
    assert_eq!(Methods::of(["GET", "BREW"]), None);
    assert_eq!(Methods::of([]), None);
}

#[test]
fn the_smallest_body_counts() {
    let mut limits = Limits::default();
    assert!(limits.are_none());
    limits.within_body(10);
    limits.within_body(20);
    assert_eq!(limits.admit("PUT", "/", Some(10)), Ok(()));
    assert_eq!(limits.admit("PUT", "/", Some(11)), Err(Beyond::Body));
    assert_eq!(limits.admit("PUT", "/", None), Ok(()));
    assert_eq!(limits.body_bytes_max(), Some(10));
    assert!(!limits.are_none());
}
