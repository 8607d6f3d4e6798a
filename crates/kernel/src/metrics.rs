//! A metrics registry that is passed down, with one static description per metric.
//!
//! Label values are `&'static str`: they are written in code, so no client can invent a time series.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge;
use prometheus_client::metrics::histogram;
use prometheus_client::registry;

use crate::lock::{self, Lock};

/// A counter handle: one relaxed atomic addition per increment.
pub type Counter = counter::Counter;
/// A gauge handle.
pub type Gauge = gauge::Gauge;
/// A histogram handle.
pub type Histogram = histogram::Histogram;

/// Whether a sampler is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Its source is still there.
    Continue,
    /// Its source has gone; forget the sampler.
    Over,
}

type Labels = Vec<(&'static str, &'static str)>;

/// What a metric is; the reference page is made from these.
#[derive(Debug)]
pub struct MetricSpec {
    /// Full name as scraped (counters end in `_total`).
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// Label names, in order.
    pub labels: &'static [&'static str],
    /// One line for people.
    pub help: &'static str,
}

/// The kinds of metric.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Only ever grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Distribution over these upper bounds.
    Histogram(&'static [f64]),
}

impl Kind {
    /// The word used in documentation.
    pub fn word(&self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        }
    }
}

#[derive(Clone)]
struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

#[derive(Clone)]
enum AnyFamily {
    Counter(Family<Labels, Counter>),
    Gauge(Family<Labels, Gauge>),
    Histogram(Family<Labels, Histogram, Buckets>),
}

type Sampler = Box<dyn Fn() -> Sampling + Send + Sync>;

#[derive(Default)]
struct Inner {
    registry: registry::Registry,
    families: HashMap<&'static str, AnyFamily>,
    /// The label values of each counter that was asked for, by its name.
    counted: HashMap<&'static str, BTreeSet<Vec<&'static str>>>,
    samplers: Vec<Sampler>,
    /// When to forget samplers whose source has gone.
    prune_at: usize,
}

/// Where metrics are made and rendered. Cheap to clone; there is no global one.
#[derive(Clone)]
pub struct Registry {
    inner: Arc<Lock<Inner>>,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            inner: Arc::new(Lock::new(&lock::METRICS, Inner::default())),
        }
    }
}

impl Registry {
    /// The counter of `spec` with these label values. Resolve once and hold: this takes a lock.
    ///
    /// # Panics
    /// If `spec` is not a counter or the values do not match its labels, which is a mistake in code.
    pub fn counter(&self, spec: &'static MetricSpec, values: &[&'static str]) -> Counter {
        match self.family(spec) {
            AnyFamily::Counter(family) => {
                let counter = family.get_or_create_owned(&labels(spec, values));
                let mut inner = self.inner.lock();
                let counted = inner.counted.entry(spec.name).or_default();
                counted.insert(values.to_vec());
                counter
            }
            _ => panic!("{} is not a counter", spec.name),
        }
    }

    /// The label values with which the counter `spec` was asked for so far, in order.
    pub fn counted(&self, spec: &'static MetricSpec) -> Vec<Vec<&'static str>> {
        let inner = self.inner.lock();
        let counted = inner.counted.get(spec.name);
        counted.into_iter().flatten().cloned().collect()
    }

    /// The gauge of `spec` with these label values.
    ///
    /// # Panics
    /// As [`Registry::counter`].
    pub fn gauge(&self, spec: &'static MetricSpec, values: &[&'static str]) -> Gauge {
        match self.family(spec) {
            AnyFamily::Gauge(family) => family.get_or_create_owned(&labels(spec, values)),
            _ => panic!("{} is not a gauge", spec.name),
        }
    }

    /// The histogram of `spec` with these label values.
    ///
    /// # Panics
    /// As [`Registry::counter`].
    pub fn histogram(&self, spec: &'static MetricSpec, values: &[&'static str]) -> Histogram {
        match self.family(spec) {
            AnyFamily::Histogram(family) => family.get_or_create_owned(&labels(spec, values)),
            _ => panic!("{} is not a histogram", spec.name),
        }
    }

    /// Renders the series of `spec` with these label values no more. Who still has its handle counts for nobody; who
    /// asks for it again gets one that begins anew.
    ///
    /// # Panics
    /// If the values do not match its labels, which is a mistake in code.
    pub fn forget(&self, spec: &'static MetricSpec, values: &[&'static str]) {
        let labels = labels(spec, values);
        match self.family(spec) {
            AnyFamily::Counter(family) => {
                family.remove(&labels);
                if let Some(counted) = self.inner.lock().counted.get_mut(spec.name) {
                    counted.remove(values);
                }
            }
            AnyFamily::Gauge(family) => {
                family.remove(&labels);
            }
            AnyFamily::Histogram(family) => {
                family.remove(&labels);
            }
        }
    }

    /// Runs `sample` before each rendering, for values that are cheaper to read than to maintain.
    pub fn sampled(&self, sample: impl Fn() -> Sampling + Send + Sync + 'static) {
        let mut inner = self.inner.lock();
        inner.samplers.push(Box::new(sample));
        // Sources come and go even when nobody scrapes.
        if inner.samplers.len() >= inner.prune_at.max(64) {
            inner.sample();
            inner.prune_at = inner.samplers.len() * 2;
        }
    }

    /// Brings sampled values up to date, for who reads a handle rather than the rendering.
    pub fn sample(&self) {
        self.inner.lock().sample();
    }

    /// Renders everything as OpenMetrics text.
    pub fn render(&self) -> String {
        let mut inner = self.inner.lock();
        inner.sample();
        let mut text = String::with_capacity(8 * 1024);
        text::encode(&mut text, &inner.registry).expect("writing to a String does not fail");
        text
    }

    fn family(&self, spec: &'static MetricSpec) -> AnyFamily {
        let mut inner = self.inner.lock();
        if let Some(known) = inner.families.get(spec.name) {
            return known.clone();
        }
        let made = inner.register(spec);
        inner.families.insert(spec.name, made.clone());
        made
    }
}

impl Inner {
    fn sample(&mut self) {
        self.samplers
            .retain(|sample| sample() == Sampling::Continue);
    }

    fn register(&mut self, spec: &'static MetricSpec) -> AnyFamily {
        match spec.kind {
            Kind::Counter => {
                let family = Family::<Labels, Counter>::default();
                // The encoder appends `_total` itself.
                let name = spec
                    .name
                    .strip_suffix("_total")
                    .expect("counter names end in _total");
                self.registry.register(name, spec.help, family.clone());
                AnyFamily::Counter(family)
            }
            Kind::Gauge => {
                let family = Family::<Labels, Gauge>::default();
                self.registry.register(spec.name, spec.help, family.clone());
                AnyFamily::Gauge(family)
            }
            Kind::Histogram(bounds) => {
                let family = Family::new_with_constructor(Buckets(bounds));
                self.registry.register(spec.name, spec.help, family.clone());
                AnyFamily::Histogram(family)
            }
        }
    }
}

fn labels(spec: &MetricSpec, values: &[&'static str]) -> Labels {
    assert_eq!(
        spec.labels.len(),
        values.len(),
        "{} takes the labels {:?}",
        spec.name,
        spec.labels
    );
    spec.labels
        .iter()
        .copied()
        .zip(values.iter().copied())
        .collect()
}

#[cfg(test)]
mod tests;
