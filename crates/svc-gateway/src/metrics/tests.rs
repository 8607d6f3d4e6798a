use super::*;
use crate::labels::{ROUTES, UPSTREAMS};

fn numbered(word: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("{word}-{number}"))
        .collect()
}

/// The labels of these names, of which none was there before.
fn fresh(metrics: &Metrics, names: &[String], bound: Bound) -> Vec<Label> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    metrics.labels(&names, bound, |_| None)
}

fn rendered(registry: &Registry) -> usize {
    let text = registry.render();
    text.lines().filter(|line| !line.starts_with('#')).count()
}

// req: KN-22
#[test]
fn each_help_says_beyond_how_many_names_share_a_label() {
    let says = |spec: &MetricSpec, most: usize| {
        let beyond = format!("beyond {most} ");
        assert!(spec.help.contains(&beyond), "{}: {}", spec.name, spec.help);
    };
    says(&REQUESTS, ROUTES.counted);
    says(&BUSY, ROUTES.counted);
    says(&SECONDS_TOTAL, ROUTES.timed);
    says(&RETRIES, UPSTREAMS.counted);
    says(&LIMIT, UPSTREAMS.counted);
    says(&WAITING, UPSTREAMS.counted);
    says(&UPSTREAM_SECONDS, UPSTREAMS.timed);
}

// req: KN-22
#[test]
fn names_of_any_number_of_configs_take_no_more_series_than_those_of_one() {
    let registry = Registry::default();
    let metrics = Metrics::new(&registry);
    let without = rendered(&registry);
    let mut most = 0;
    for config in 1..20 {
        let routes = fresh(&metrics, &numbered(&format!("r{config}"), 200), ROUTES);
        let upstreams = fresh(&metrics, &numbered(&format!("u{config}"), 100), UPSTREAMS);
        for label in &routes {
            metrics.route(*label, None).answered(200, Duration::ZERO);
        }
        for label in &upstreams {
            metrics.upstream(*label).retries.inc();
        }
        metrics.show(routes.into_iter(), upstreams.into_iter());
        let text = registry.render();
        assert!(
            text.contains(&format!("route=\"r{config}-31\"")),
            "{config}"
        );
        assert!(text.contains("route=\"other\""));
        let before = format!("\"r{}-", config - 1);
        assert!(!text.contains(&before), "{config}");
        most = most.max(rendered(&registry) - without);
    }
    assert!(most <= 640, "{most} series");
}

// req: KN-22
#[test]
fn a_config_that_came_to_nothing_leaves_no_series_behind() {
    let registry = Registry::default();
    let metrics = Metrics::new(&registry);
    let before = fresh(&metrics, &numbered("kept", 3), ROUTES);
    before
        .iter()
        .for_each(|label| drop(metrics.route(*label, None)));
    for config in 0..100 {
        metrics.show(before.iter().copied(), std::iter::empty());
        let tried = fresh(&metrics, &numbered(&format!("r{config}"), 30), ROUTES);
        tried
            .iter()
            .for_each(|label| drop(metrics.route(*label, None)));
    }
    metrics.show(before.iter().copied(), std::iter::empty());
    let text = registry.render();
    assert!(text.contains("route=\"kept-2\""), "{text}");
    assert!(!text.contains("route=\"r"), "{text}");
}

// req: KN-22
#[test]
fn routes_that_share_a_label_are_counted_apart_for_the_view_and_over_reloads() {
    let registry = Registry::default();
    let metrics = Metrics::new(&registry);
    let (one, two) = (
        metrics.route(Label::SHARED, None),
        metrics.route(Label::SHARED, None),
    );
    one.answered(200, Duration::ZERO);
    let one = metrics.route(Label::SHARED, Some(&one));
    one.answered(200, Duration::ZERO);
    two.answered(200, Duration::ZERO);
    let well = |route: &RouteMetrics| route.statuses().map(|(_, count)| count).sum::<u64>();
    assert_eq!((well(&one), well(&two)), (2, 1));
    let text = registry.render();
    let all = "gateway_requests_total{route=\"other\",status=\"2xx\"} 3";
    assert!(text.contains(all), "{text}");
}

// req: KN-22
#[test]
fn gauges_that_upstreams_share_are_sums() {
    let registry = Registry::default();
    let metrics = Metrics::new(&registry);
    let own = Label {
        counts: "own",
        times: "own",
    };
    let all = [own, Label::SHARED, Label::SHARED].map(|label| metrics.upstream(label));
    for _ in 0..2 {
        UpstreamMetrics::set(all.iter().map(|one| (one, 10, 1)));
    }
    let text = registry.render();
    assert!(
        text.contains("upstream_limit{upstream=\"own\"} 10"),
        "{text}"
    );
    assert!(
        text.contains("upstream_limit{upstream=\"other\"} 20"),
        "{text}"
    );
    assert!(
        text.contains("upstream_waiting{upstream=\"other\"} 2"),
        "{text}"
    );
}
