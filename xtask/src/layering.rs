//! Which of our crates may know which: dependencies point down only, and a crate without a row is refused.

use crate::Outcome;
use crate::workspace::{self, Source};

/// One crate and what of ours it may build on. Tests may use `testkit` everywhere above it.
struct Layer {
    name: &'static str,
    below: &'static [&'static str],
    below_in_tests: &'static [&'static str],
}

const LAYERS: &[Layer] = &[
    Layer {
        name: "model-kit",
        below: &[],
        below_in_tests: &[],
    },
    Layer {
        name: "bounded-ring",
        below: &[],
        below_in_tests: &["model-kit"],
    },
    // It drives the node from outside: knowing the kernel would let a test share the node's own mistake.
    Layer {
        name: "testkit",
        below: &[],
        below_in_tests: &[],
    },
    Layer {
        name: "strict-config",
        below: &[],
        below_in_tests: &[],
    },
    Layer {
        name: "fair-queue",
        below: &[],
        below_in_tests: &["model-kit", "testkit"],
    },
    Layer {
        name: "rate-quota",
        below: &[],
        below_in_tests: &["model-kit", "testkit"],
    },
    Layer {
        name: "concurrency-gate",
        below: &[],
        below_in_tests: &["model-kit", "testkit"],
    },
    Layer {
        name: "kernel",
        below: &["bounded-ring", "strict-config"],
        below_in_tests: &["testkit"],
    },
    Layer {
        name: "http1-wire",
        below: &[],
        below_in_tests: &["model-kit"],
    },
    Layer {
        name: "http2-wire",
        below: &[],
        below_in_tests: &["model-kit"],
    },
    Layer {
        name: "http-rules",
        below: &[],
        below_in_tests: &["model-kit", "testkit"],
    },
    // The decode guard is the one of HTTP bodies: a bomb is refused alike in frames and out of them.
    Layer {
        name: "oap",
        below: &["http-rules"],
        below_in_tests: &["model-kit", "testkit"],
    },
    Layer {
        name: "passport",
        below: &[],
        below_in_tests: &["model-kit", "testkit"],
    },
    Layer {
        name: "front-door",
        below: &[
            "kernel",
            "bounded-ring",
            "http-rules",
            "http1-wire",
            "http2-wire",
            "rate-quota",
        ],
        below_in_tests: &["testkit"],
    },
    Layer {
        name: "upstream",
        below: &["kernel", "concurrency-gate", "http1-wire", "http2-wire"],
        below_in_tests: &["testkit"],
    },
    Layer {
        name: "svc-gateway",
        below: &[
            "kernel",
            "strict-config",
            "bounded-ring",
            "concurrency-gate",
            "fair-queue",
            "rate-quota",
            "http-rules",
            "http1-wire",
            "passport",
            "front-door",
            "upstream",
        ],
        below_in_tests: &["testkit"],
    },
    Layer {
        name: "tile-pack",
        below: &[],
        below_in_tests: &["model-kit", "testkit"],
    },
    // Makes the demonstration pack; nothing is built on it.
    Layer {
        name: "demo-pack",
        below: &["tile-pack"],
        below_in_tests: &[],
    },
    Layer {
        name: "verified-store",
        below: &[],
        below_in_tests: &["model-kit", "testkit"],
    },
    Layer {
        name: "svc-edge",
        below: &[
            "kernel",
            "strict-config",
            "bounded-ring",
            "concurrency-gate",
            "rate-quota",
            "http-rules",
            "front-door",
            "upstream",
            "tile-pack",
            "verified-store",
        ],
        below_in_tests: &["testkit"],
    },
    Layer {
        name: "svc-transport",
        below: &[
            "kernel",
            "strict-config",
            "concurrency-gate",
            "rate-quota",
            "http-rules",
            "front-door",
            "oap",
        ],
        below_in_tests: &["testkit"],
    },
    Layer {
        name: "macronode",
        below: &[
            "kernel",
            "strict-config",
            "bounded-ring",
            "svc-gateway",
            "svc-edge",
            "svc-transport",
            "oap",
            "tile-pack",
            "passport",
            "concurrency-gate",
            "front-door",
            "http-rules",
            "rate-quota",
        ],
        below_in_tests: &["testkit"],
    },
    // Composes the node as the binary does, where time and network are not real.
    Layer {
        name: "simulation",
        below: &["kernel", "macronode", "oap"],
        below_in_tests: &[],
    },
    // Black box: the binary's behaviour, never its types.
    Layer {
        name: "e2e",
        below: &["testkit"],
        below_in_tests: &["testkit"],
    },
    Layer {
        name: "bench",
        below: &[
            "kernel",
            "strict-config",
            "bounded-ring",
            "concurrency-gate",
            "fair-queue",
            "rate-quota",
            "front-door",
            "oap",
            "passport",
            "svc-transport",
            "testkit",
            "tile-pack",
        ],
        below_in_tests: &[],
    },
    Layer {
        name: "hot-paths",
        below: &[
            "bounded-ring",
            "concurrency-gate",
            "fair-queue",
            "http-rules",
            "http1-wire",
            "http2-wire",
            "oap",
            "rate-quota",
            "tile-pack",
        ],
        below_in_tests: &[],
    },
    Layer {
        name: "xtask",
        below: &[],
        below_in_tests: &[],
    },
];

/// An edge of the dependency graph, as a manifest declares it.
#[derive(Debug, PartialEq, Eq)]
struct Edge {
    to: String,
    in_tests: bool,
}

pub(crate) fn check() -> Outcome {
    let faults = faults(&workspace::manifests()?);
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("\n"))
    }
}

fn faults(manifests: &[Source]) -> Vec<String> {
    let names: Vec<String> = manifests
        .iter()
        .map(|manifest| package_name(&manifest.text))
        .collect();
    manifests
        .iter()
        .zip(&names)
        .flat_map(|(manifest, name)| crate_faults(name, &manifest.text, &names))
        .collect()
}

fn crate_faults(name: &str, manifest: &str, ours: &[String]) -> Vec<String> {
    let Some(layer) = LAYERS.iter().find(|layer| layer.name == name) else {
        return vec![format!(
            "{name} has no row in the layering table; say there what it may depend on"
        )];
    };
    let allowed = |edge: &Edge| {
        let to = edge.to.as_str();
        layer.below.contains(&to) || (edge.in_tests && layer.below_in_tests.contains(&to))
    };
    edges(manifest)
        .iter()
        .filter(|edge| ours.contains(&edge.to) && !allowed(edge))
        .map(|edge| {
            format!(
                "{name} may not depend on {}{}",
                edge.to,
                if edge.in_tests { " in tests" } else { "" }
            )
        })
        .collect()
}

/// The dependency edges of a manifest, read line by line: our manifests hold one dependency a line.
fn edges(manifest: &str) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut section = "";
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            // The long form, `[dependencies.kernel]`, names the crate in its header.
            if let Some((table, name)) = section.rsplit_once('.')
                && let Some(in_tests) = dependency_table(table)
            {
                edges.push(Edge {
                    to: name.to_owned(),
                    in_tests,
                });
            }
            continue;
        }
        if let (Some(in_tests), Some(to)) = (dependency_table(section), dependency(line)) {
            edges.push(Edge { to, in_tests });
        }
    }
    edges
}

/// `Some(in_tests)` for a table that holds dependencies, also under a target.
fn dependency_table(section: &str) -> Option<bool> {
    match section.rsplit('.').next()? {
        "dependencies" | "build-dependencies" => Some(false),
        "dev-dependencies" => Some(true),
        _ => None,
    }
}

/// The crate a line asks for; a renamed one by its real name.
fn dependency(line: &str) -> Option<String> {
    let (key, value) = line.split_once('=')?;
    if let Some((_, rest)) = value.split_once("package") {
        return rest.split('"').nth(1).map(str::to_owned);
    }
    let key = key.trim().split('.').next()?.trim_matches('"');
    (!key.is_empty() && !key.starts_with('#')).then(|| key.to_owned())
}

fn package_name(manifest: &str) -> String {
    let line = manifest
        .lines()
        .find(|line| line.trim_start().starts_with("name"));
    line.and_then(|line| line.split('"').nth(1))
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests;
