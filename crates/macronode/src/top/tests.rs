use serde_json::json;

use super::*;

fn view(let_in: u64, refused: u64) -> Value {
    json!({
        "inflight": 7, "inflight_limit": 4096, "streams": 2,
        "tenants": [{
            "tenant": "noi\u{1b}sy", "class": "authed", "weight": 1, "waiting": 64, "oldest_ms": 812.4,
            "served_after_wait": let_in, "refused": { "share-full": refused, "rate-ip": 0 },
            "queues": [
                { "upstream": "a", "waiting": 4, "share": 0.9, "due": 0.9 },
                { "upstream": "b", "waiting": 60, "share": 0.251, "due": 0.25 },
            ],
        }],
        "routes": [{
            "route": "main", "requests": 100, "statuses": { "2xx": 90, "4xx": 10 },
            "inflight": null, "limit": null, "waiting": null,
        }],
        "upstreams": [{
            "upstream": "b", "limit": 8, "limit_found": true, "inflight": 8, "waiting": 64,
            "drain_per_second": 79.8, "usual_ms": 50.123,
            "endpoints": [{
                "endpoint": "http://127.0.0.1:9000", "state": "up", "breaker": "closed", "ewma_ms": 49.96,
                "inflight": 8, "idle": 0, "failures": 0,
            }],
        }],
    })
}

fn cells<'a>(page: &'a str, first: &str) -> Vec<&'a str> {
    let row = page.lines().find(|line| line.starts_with(first));
    let row = row.unwrap_or_else(|| panic!("no {first} in {page}"));
    row.split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect()
}

// req: GW-18
#[test]
fn one_look_shows_totals_and_the_share_where_most_waits() {
    let page = page(&view(10, 500), None, 20).join("\n");
    assert!(page.starts_with("7 of 4096 requests at once, 2 streams; in all\n"));
    let tenant = [
        "noi\\u{1b}sy",
        "authed",
        "1",
        "64",
        "812",
        "25 %",
        "25 %",
        "10",
        "500",
        "share-full 500",
    ];
    assert_eq!(cells(&page, "noi"), tenant);
    assert_eq!(cells(&page, "main"), ["main", "100", "90", "0", "10", "0"]);
    assert_eq!(
        cells(&page, "b "),
        ["b", "8", "8 found", "64", "80", "50.1"]
    );
    let endpoint = [
        "http://127.0.0.1:9000",
        "b",
        "up",
        "closed",
        "50.0",
        "8",
        "0",
        "0",
    ];
    assert_eq!(cells(&page, "http:"), endpoint);
}

// req: GW-18
#[test]
fn a_second_look_shows_what_happened_each_second() {
    let (first, second) = (view(10, 500), view(40, 900));
    let page = page(&second, Some((&first, 2.0)), 20).join("\n");
    assert_eq!(cells(&page, "noi")[7..], ["15", "200", "share-full 200"]);
    assert_eq!(cells(&page, "main")[1], "0");
}

#[test]
fn a_count_that_began_anew_is_not_below_zero() {
    let (first, second) = (view(1_000, 500), view(4, 6));
    let page = page(&second, Some((&first, 1.0)), 20).join("\n");
    assert_eq!(cells(&page, "noi")[7..9], ["4", "6"]);
}

#[test]
fn only_so_many_tenants_are_shown_and_an_idle_gateway_says_so() {
    let page = page(&view(1, 1), None, 0).join("\n");
    assert!(page.contains("nobody had to wait or was refused"));
}
