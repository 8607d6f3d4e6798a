use super::*;

static HITS: MetricSpec = MetricSpec {
    name: "hits_total",
    kind: Kind::Counter,
    labels: &["door"],
    help: "Hits by door",
};
static DEPTH: MetricSpec = MetricSpec {
    name: "depth",
    kind: Kind::Gauge,
    labels: &[],
    help: "Depth",
};
static TOOK: MetricSpec = MetricSpec {
    name: "took_seconds",
    kind: Kind::Histogram(&[0.1, 1.0]),
    labels: &[],
    help: "Time",
};

// req: KN-22
#[test]
fn rendered_text_is_openmetrics_with_the_names_as_declared() {
    let registry = Registry::default();
    registry.counter(&HITS, &["front"]).inc_by(3);
    registry.gauge(&DEPTH, &[]).set(7);
    registry.histogram(&TOOK, &[]).observe(0.5);
    let text = registry.render();
    assert!(text.contains("hits_total{door=\"front\"} 3"), "{text}");
    assert!(text.contains("depth{} 7"), "{text}");
    assert!(text.contains("took_seconds_bucket{le=\"1.0\"} 1"), "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert!(!text.contains("_total_total"), "{text}");
}

#[test]
fn handles_of_one_series_share_one_value() {
    let registry = Registry::default();
    registry.counter(&HITS, &["front"]).inc();
    registry.clone().counter(&HITS, &["front"]).inc();
    assert!(registry.render().contains("hits_total{door=\"front\"} 2"));
}

// req: KN-22
#[test]
fn a_series_that_is_forgotten_is_gone_and_begins_anew_when_asked_for_again() {
    let registry = Registry::default();
    let held = registry.counter(&HITS, &["front"]);
    registry.counter(&HITS, &["back"]).inc();
    registry.gauge(&DEPTH, &[]).set(7);
    registry.histogram(&TOOK, &[]).observe(0.5);
    registry.forget(&HITS, &["front"]);
    registry.forget(&DEPTH, &[]);
    registry.forget(&TOOK, &[]);
    held.inc();
    let text = registry.render();
    let series: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(series, ["hits_total{door=\"back\"} 1"]);
    assert_eq!(registry.counted(&HITS), [["back"]]);
    registry.counter(&HITS, &["front"]).inc();
    assert!(registry.render().contains("hits_total{door=\"front\"} 1"));
}

#[test]
fn sampled_values_are_read_when_rendered() {
    let registry = Registry::default();
    let gauge = registry.gauge(&DEPTH, &[]);
    registry.sampled(move || {
        gauge.inc();
        Sampling::Continue
    });
    assert!(registry.render().contains("depth{} 1"));
    assert!(registry.render().contains("depth{} 2"));
}

#[test]
fn samplers_whose_source_has_gone_are_forgotten_even_when_nobody_scrapes() {
    let registry = Registry::default();
    for _ in 0..10_000 {
        let source = std::sync::Arc::downgrade(&std::sync::Arc::new(()));
        registry.sampled(move || match source.upgrade() {
            Some(_) => Sampling::Continue,
            None => Sampling::Over,
        });
    }
    assert!(registry.inner.lock().samplers.len() <= 64);
}
