//! The reference pages, made from the same tables the code runs on.

use std::fmt::Write as _;
use std::path::Path;

use kernel::admin::ROUTES;
use kernel::metrics::Kind;
use kernel::reference::{KERNEL, Tables};
use kernel::reject::Reject;
use strict_config::{reference as config_keys, schema};
use svc_gateway::tree as gateway;

use crate::config::NodeText;
use crate::exit::Exit;
use crate::{demo, overlay, tree};

/// What every crate brings into the node.
pub(crate) static TABLES: [&Tables; 9] = [
    &KERNEL,
    &gateway::TABLES,
    &gateway::DOOR_TABLES,
    &gateway::UPSTREAM_TABLES,
    &svc_edge::tree::TABLES,
    &svc_edge::tree::ORIGIN_TABLES,
    &svc_transport::tree::TABLES,
    &overlay::tree::TABLES,
    &demo::TABLES,
];

/// Writes every page into `directory`.
pub(crate) fn write(directory: &Path) -> Exit {
    write_all(directory, pages())
}

/// Writes files into `directory`, by name.
pub(crate) fn write_all(
    directory: &Path,
    files: impl IntoIterator<Item = (&'static str, String)>,
) -> Exit {
    for (name, text) in files {
        if let Err(error) = std::fs::write(directory.join(name), text) {
            eprintln!(
                "error: cannot write {} into {}: {error}",
                name,
                directory.display()
            );
            return Exit::Internal;
        }
    }
    Exit::Ok
}

fn pages() -> [(&'static str, String); 10] {
    [
        ("config.md", config()),
        (
            "config.schema.json",
            format!("{:#}\n", schema::<NodeText>()),
        ),
        ("queues.md", queues()),
        ("tasks.md", tasks()),
        ("locks.md", locks()),
        ("metrics.md", metrics()),
        ("exit-codes.md", exit_codes()),
        ("reasons.md", reasons()),
        ("overlay.md", overlay::reference::overlay()),
        (
            "openapi.json",
            format!("{:#}\n", overlay::openapi::document()),
        ),
    ]
}

/// A Markdown page with one table.
pub(crate) fn page(title: &str, about: &str, head: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut text = format!("# {title}\n\n{about} Made from the code by `cargo xtask docs`.\n\n");
    push_table(&mut text, head, rows);
    text
}

pub(crate) fn push_table(text: &mut String, head: &[&str], rows: Vec<Vec<String>>) {
    let mut line = |cells: Vec<String>| {
        writeln!(text, "| {} |", cells.join(" | ")).expect("writing to a String does not fail");
    };
    line(head.iter().map(|cell| (*cell).to_owned()).collect());
    line(head.iter().map(|_| "---".to_owned()).collect());
    for row in rows {
        line(
            row.into_iter()
                .map(|cell| cell.replace('|', "\\|").replace('\n', " "))
                .collect(),
        );
    }
}

pub(crate) fn code(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("`{text}`")
    }
}

fn config() -> String {
    let about = "Every key of the config file. Defaults < file < environment < `--set KEY=VALUE`. \
                 A key marked *restart* is refused by a reload.";
    let rows = config_keys::<NodeText>()
        .into_iter()
        .map(|key| {
            let takes_effect = key.reload.to_string();
            let default = key.default.as_deref().map(code).unwrap_or_default();
            let env = key.env.as_deref().map(code).unwrap_or_default();
            vec![
                code(&key.path),
                key.ty.to_owned(),
                default,
                key.allowed,
                takes_effect,
                env,
                key.doc,
            ]
        })
        .collect();
    page(
        "Config keys",
        about,
        &[
            "key",
            "type",
            "default",
            "allowed",
            "takes effect by",
            "environment",
            "meaning",
        ],
        rows,
    )
}

fn queues() -> String {
    let about = "Every queue and cell: nothing waits anywhere else, and nothing grows.";
    let specs = TABLES.iter().flat_map(|tables| tables.queues);
    let rows = specs
        .map(|spec| {
            vec![
                code(spec.name),
                spec.capacity.to_string(),
                spec.on_full.words().to_owned(),
                spec.doc.to_owned(),
            ]
        })
        .collect();
    page(
        "Queues",
        about,
        &[
            "queue",
            "capacity",
            "when full",
            "who puts in → who takes out",
        ],
        rows,
    )
}

fn tasks() -> String {
    let about = "Every supervised child, in no order but that of their dependencies, and every kind of task.";
    let head = [
        "child",
        "depends on",
        "drains in",
        "restarted",
        "essential",
        "what it does",
    ];
    let rows = tree::SPECS
        .iter()
        .map(|spec| {
            let phase = format!("{:?}", spec.phase).to_lowercase();
            let needs: Vec<_> = spec.depends_on.iter().map(|name| code(name)).collect();
            let essential = if spec.essential { "yes" } else { "no" };
            let restart = spec.restart.words().to_owned();
            vec![
                code(spec.name),
                needs.join(", "),
                phase,
                restart,
                essential.to_owned(),
                spec.doc.to_owned(),
            ]
        })
        .collect();
    let mut text = page("Children and tasks", about, &head, rows);
    let kinds = TABLES.iter().flat_map(|tables| tables.tasks);
    text.push('\n');
    push_table(
        &mut text,
        &["task kind", "what it is"],
        kinds
            .map(|kind| vec![code(kind.name), kind.doc.to_owned()])
            .collect(),
    );
    text
}

fn locks() -> String {
    let about = "Every lock of the kernel, lowest level first. \
                 While one is held, only locks of a higher level may be taken; \
                 builds with debug assertions check it.";
    let mut specs: Vec<_> = TABLES.iter().flat_map(|tables| tables.locks).collect();
    specs.sort_by_key(|spec| (spec.level, spec.name));
    let rows = specs
        .iter()
        .map(|spec| vec![spec.level.to_string(), code(spec.name), spec.doc.to_owned()])
        .collect();
    page("Locks", about, &["level", "lock", "what it guards"], rows)
}

fn metrics() -> String {
    let about =
        "Every metric of `/metrics`. Label values are written in code: no client can add a series.";
    let mut specs: Vec<_> = TABLES.iter().flat_map(|tables| tables.metrics).collect();
    specs.sort_by_key(|spec| spec.name);
    let rows = specs
        .iter()
        .map(|spec| {
            let bounds = match spec.kind {
                Kind::Histogram(bounds) => format!(" {bounds:?}"),
                Kind::Counter | Kind::Gauge => String::new(),
            };
            let labels: Vec<_> = spec.labels.iter().map(|label| code(label)).collect();
            let kind = format!("{}{bounds}", spec.kind.word());
            vec![
                code(spec.name),
                kind,
                labels.join(", "),
                spec.help.to_owned(),
            ]
        })
        .collect();
    let mut text = page(
        "Metrics and admin paths",
        about,
        &["metric", "kind", "labels", "meaning"],
        rows,
    );
    text.push('\n');
    let pages = [
        &svc_gateway::view::PAGE,
        &svc_edge::view::PAGE,
        &svc_edge::purge::ACTION,
    ];
    let routes = ROUTES.iter().chain(pages);
    let routes = routes.map(|route| {
        vec![
            code(&format!("{} {}", route.method, route.path)),
            route.doc.to_owned(),
        ]
    });
    push_table(
        &mut text,
        &["admin path", "what it answers"],
        routes.collect(),
    );
    text
}

fn exit_codes() -> String {
    let rows = Exit::ALL
        .iter()
        .map(|exit| vec![exit.code().to_string(), exit.doc().to_owned()])
        .collect();
    page(
        "Exit codes",
        "What a script may rely on.",
        &["code", "meaning"],
        rows,
    )
}

fn reasons() -> String {
    let about = "Every reason a request is refused for. The same word stands in the body (`reason`), in the header \
                 `x-macronode-reason` and in `rejected_total{reason}`.";
    let head = ["reason", "status", "worth trying again", "meaning"];
    let row = |reason: &str, status: u16, retry: &str, meaning: &str| {
        let (retry, meaning) = (retry.to_owned(), meaning.to_owned());
        vec![code(reason), status.to_string(), retry, meaning]
    };
    let kernel = Reject::ALL.iter().map(|reject| {
        let retry = if reject.retryable() {
            "yes, later"
        } else {
            "no"
        };
        let meaning = reject.to_string();
        row(reject.reason(), reject.status(), retry, &meaning)
    });
    let mut text = page("Reasons", about, &head, kernel.collect());
    text.push_str(
        "\n## The gateway\n\nIn the order of a request's way. Where it helps to wait, `Retry-After` says how long.\n\n",
    );
    let gateway = svc_gateway::reasons().into_iter().map(|reason| {
        let retry = match reason.retry_after {
            true => "as `Retry-After` says",
            false => "no",
        };
        row(reason.reason, reason.status, retry, reason.doc)
    });
    push_table(&mut text, &head, gateway.collect());
    text.push_str(
        "\n## The edge\n\nIn the order of a request's way. `edge_rejects_total{reason}` counts the same, \
         some by a shorter word.\n\n",
    );
    let head = [
        "reason",
        "counted as",
        "status",
        "worth trying again",
        "meaning",
    ];
    let edge = svc_edge::reasons().into_iter().map(|reason| {
        let retry = match reason.retry_after {
            true => "as `Retry-After` says",
            false => "no",
        };
        let mut row = row(reason.reason, reason.status, retry, reason.doc);
        row.insert(1, code(reason.label));
        row
    });
    push_table(&mut text, &head, edge.collect());
    text.push_str(
        "\n## The transport\n\nIn frames: the reason stands in the payload of the answer. First what ends a \
         connection, which `transport_violations_total{reason}` counts; then what is of one request.\n\n",
    );
    let head = ["reason", "status", "ends", "worth trying again", "meaning"];
    let transport = svc_transport::reasons().into_iter().map(|reason| {
        let retry = match reason.retry_after {
            true => "as `retry_after_ms` says",
            false => "no",
        };
        let ends = match reason.closes {
            true => "the connection",
            false => "the request",
        };
        let mut row = row(reason.reason, reason.status, retry, &reason.doc);
        row.insert(2, ends.to_owned());
        row
    });
    push_table(&mut text, &head, transport.collect());
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::*;

    // req: KN-19
    #[test]
    fn the_committed_pages_are_what_the_code_says() {
        let committed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
        for (name, text) in pages() {
            let page = std::fs::read_to_string(committed.join(name)).unwrap_or_default();
            assert!(
                page == text,
                "docs/reference/{name} is stale: run `cargo xtask docs`"
            );
        }
    }

    // req: KN-19
    #[test]
    fn nothing_is_listed_twice() {
        let unique = |names: Vec<&str>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
        assert!(unique(
            TABLES
                .iter()
                .flat_map(|tables| tables.queues)
                .map(|spec| spec.name)
                .collect()
        ));
        assert!(unique(
            TABLES
                .iter()
                .flat_map(|tables| tables.tasks)
                .map(|spec| spec.name)
                .collect()
        ));
        assert!(unique(
            TABLES
                .iter()
                .flat_map(|tables| tables.locks)
                .map(|spec| spec.name)
                .collect()
        ));
        assert!(unique(
            TABLES
                .iter()
                .flat_map(|tables| tables.metrics)
                .map(|spec| spec.name)
                .collect()
        ));
    }
}
