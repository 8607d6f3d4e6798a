//! Samples of an OpenMetrics page.

use std::collections::BTreeMap;
use std::str::Chars;

/// One scrape.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    samples: Vec<Sample>,
}

#[derive(Debug, Clone, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Metrics {
    /// Reads a page; the error names the line that is none.
    pub fn parse(page: &str) -> Result<Self, String> {
        let lines = page
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let samples =
            lines.map(|line| Sample::parse(line).ok_or_else(|| format!("not a sample: {line}")));
        Ok(Self {
            samples: samples.collect::<Result<_, _>>()?,
        })
    }

    /// The sample with exactly these labels.
    #[must_use]
    pub fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.matching(name, labels)
            .find(|sample| sample.labels.len() == labels.len())
            .map(|s| s.value)
    }

    /// The sum of all samples that carry at least these labels.
    #[must_use]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.matching(name, labels).map(|sample| sample.value).sum()
    }

    /// Every value of a label that a metric has.
    pub fn label_values<'a>(
        &'a self,
        name: &'a str,
        label: &'a str,
    ) -> impl Iterator<Item = &'a str> {
        self.matching(name, &[])
            .filter_map(move |sample| sample.labels.get(label))
            .map(String::as_str)
    }

    fn matching<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = &'a Sample> {
        let carries = |sample: &Sample, label: &(&str, &str)| {
            sample
                .labels
                .get(label.0)
                .is_some_and(|value| value == label.1)
        };
        let same = move |sample: &&Sample| {
            sample.name == name && labels.iter().all(|l| carries(sample, l))
        };
        self.samples.iter().filter(same)
    }
}

impl Sample {
    fn parse(line: &str) -> Option<Self> {
        let end = line.find(['{', ' '])?;
        let (name, rest) = line.split_at(end);
        let mut rest = rest.chars();
        let labels = if rest.as_str().starts_with('{') {
            labels(&mut rest)?
        } else {
            BTreeMap::new()
        };
        // A timestamp or an exemplar may follow the value.
        let value = rest.as_str().split_whitespace().next()?.parse().ok()?;
        (!name.is_empty()).then(|| Self {
            name: name.to_owned(),
            labels,
            value,
        })
    }
}

/// `{name="value",…}`, leaving what follows.
fn labels(rest: &mut Chars<'_>) -> Option<BTreeMap<String, String>> {
    rest.next();
    let mut labels = BTreeMap::new();
    loop {
        let name: String = rest
            .by_ref()
            .take_while(|c| !matches!(c, '=' | '}'))
            .collect();
        let name = name.trim_start_matches(',');
        if name.is_empty() {
            return Some(labels);
        }
        labels.insert(name.to_owned(), quoted(rest)?);
    }
}

fn quoted(rest: &mut Chars<'_>) -> Option<String> {
    let mut value = String::new();
    rest.next().filter(|c| *c == '"')?;
    loop {
        match rest.next()? {
            '"' => return Some(value),
            '\\' => value.push(match rest.next()? {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
}
