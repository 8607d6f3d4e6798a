//! `top`: the gateway of a running node as tables, each second anew.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use kernel::clock;
use kernel::signals::{Held, Signals};
use serde_json::Value;
use tokio::time::Instant;

use crate::cli::TopArgs;
use crate::client::Trouble;
use crate::exit::Exit;
use crate::operate::{Node, with_node};
use crate::table::{plain, table};
use keys::Keys;
use screen::Screen;

mod keys;
mod screen;

/// How often the node is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// Shows the gateway until stopped, by `q` or a signal where it is shown on a terminal, or once.
pub(crate) fn top(args: &TopArgs) -> Exit {
    let refresh = std::io::stdout().is_terminal() && !args.once && !args.json;
    with_node(&args.node, async |node: &Node| {
        let keys = refresh.then(|| Keys::hear(std::io::stdin())).flatten();
        let mut screen = None;
        let mut signals = refresh.then(signals).flatten();
        let mut due = tokio::time::interval(EVERY);
        let mut before: Option<(Instant, Value)> = None;
        loop {
            let farewell = async {
                match &keys {
                    Some(keys) => keys.farewell().await,
                    None => std::future::pending().await,
                }
            };
            let told = async {
                match &mut signals {
                    Some(signals) => signals.next().await,
                    None => std::future::pending().await,
                }
            };
            let look = async {
                due.tick().await;
                gateway(node).await
            };
            let view = tokio::select! {
                view = look => view?,
                () = farewell => return Ok(Exit::Ok),
                _ = told => return Ok(Exit::Ok),
            };
            let at = clock::now();
            let since = before.as_ref();
            let since = since.map(|(then, view)| (view, (at - *then).as_secs_f64()));
            match (args.json, refresh) {
                (true, _) => say(&format!("{view}\n")),
                (false, true) => {
                    let screen = screen.get_or_insert_with(Screen::enter);
                    screen.show(&page(&view, since, args.tenants));
                }
                (false, false) => say(&page(&view, since, args.tenants).join("\n")),
            }
            if args.once {
                return Ok(Exit::Ok);
            }
            before = Some((at, view));
        }
    })
}

/// What would end this process at once, and leave the terminal as it is. Without them it goes as well.
fn signals() -> Option<Signals> {
    Signals::listen(Held::hold().ok()?).ok()
}

async fn gateway(node: &Node) -> Result<Value, Trouble> {
    let expected = |view: &Value| view.is_null() || view["upstreams"].is_array();
    let view = node.read("/gateway", expected).await?;
    match view.is_null() {
        true => Err(Trouble::Refused(
            "the gateway of this node is off: its config has no [gateway]".to_owned(),
        )),
        false => Ok(view),
    }
}

/// One look after another.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{text}");
    let _nobody_reads = written.and_then(|()| out.flush()).is_err();
}

/// One look: a line of its own, then the tables, what matters most first. With an earlier look counts are per second,
/// without they are totals.
fn page(view: &Value, since: Option<(&Value, f64)>, most: usize) -> Vec<String> {
    let look = Look { view, since };
    let headline = format!(
        "{} of {} requests at once, {} streams{}\n",
        text(&view["inflight"]),
        text(&view["inflight_limit"]),
        text(&view["streams"]),
        if since.is_some() {
            "; per second"
        } else {
            "; in all"
        },
    );
    vec![
        headline,
        look.tenants(most),
        look.routes(),
        look.upstreams(),
        look.endpoints(),
    ]
}

struct Look<'a> {
    view: &'a Value,
    since: Option<(&'a Value, f64)>,
}

impl Look<'_> {
    fn tenants(&self, most: usize) -> String {
        let head = [
            "tenant",
            "class",
            "weight",
            "waiting",
            "oldest ms",
            "share",
            "due",
            "let in",
            "refused",
            "why",
        ];
        let rows = list(&self.view["tenants"]).iter().take(most).map(|tenant| {
            let before = self.earlier("tenants", "tenant", &tenant["tenant"]);
            let refused = self.reasons(&tenant["refused"], before.map(|one| &one["refused"]));
            let total = refused.iter().fold(0.0, |sum, (_, count)| sum + count);
            let why = refused
                .iter()
                .take(3)
                .map(|(reason, count)| format!("{} {}", plain(reason), short(*count)));
            let busiest = list(&tenant["queues"])
                .iter()
                .max_by_key(|queue| queue["waiting"].as_u64());
            let part = |key: &str| busiest.map_or(String::new(), |queue| percent(&queue[key]));
            vec![
                text(&tenant["tenant"]),
                text(&tenant["class"]),
                text(&tenant["weight"]),
                text(&tenant["waiting"]),
                whole(&tenant["oldest_ms"]),
                part("share"),
                part("due"),
                short(self.count(
                    &tenant["served_after_wait"],
                    before.map(|one| &one["served_after_wait"]),
                )),
                short(total),
                why.collect::<Vec<_>>().join(", "),
            ]
        });
        let rows: Vec<_> = rows.collect();
        match rows.is_empty() {
            true => "nobody had to wait or was refused\n".to_owned(),
            false => table(&head, &rows),
        }
    }

    fn routes(&self) -> String {
        let head = [
            "route",
            "requests",
            "2xx",
            "3xx",
            "4xx",
            "5xx",
            "in flight",
            "limit",
            "waiting",
        ];
        let rows = list(&self.view["routes"]).iter().map(|route| {
            let before = self.earlier("routes", "route", &route["route"]);
            let status = |class: &str| {
                let earlier = before.map(|one| &one["statuses"][class]);
                short(self.count(&route["statuses"][class], earlier))
            };
            vec![
                text(&route["route"]),
                short(self.count(&route["requests"], before.map(|one| &one["requests"]))),
                status("2xx"),
                status("3xx"),
                status("4xx"),
                status("5xx"),
                text(&route["inflight"]),
                text(&route["limit"]),
                text(&route["waiting"]),
            ]
        });
        table(&head, &rows.collect::<Vec<_>>())
    }

    fn upstreams(&self) -> String {
        let head = [
            "upstream",
            "in flight",
            "limit",
            "waiting",
            "places/s",
            "usual ms",
        ];
        let rows = list(&self.view["upstreams"]).iter().map(|upstream| {
            let found = upstream["limit_found"] == true;
            vec![
                text(&upstream["upstream"]),
                text(&upstream["inflight"]),
                format!(
                    "{}{}",
                    text(&upstream["limit"]),
                    if found { " found" } else { "" }
                ),
                text(&upstream["waiting"]),
                whole(&upstream["drain_per_second"]),
                one_digit(&upstream["usual_ms"]),
            ]
        });
        table(&head, &rows.collect::<Vec<_>>())
    }

    fn endpoints(&self) -> String {
        let head = [
            "endpoint",
            "of",
            "state",
            "breaker",
            "ewma ms",
            "in flight",
            "idle",
            "failures",
        ];
        let rows = list(&self.view["upstreams"]).iter().flat_map(|upstream| {
            list(&upstream["endpoints"]).iter().map(|endpoint| {
                vec![
                    text(&endpoint["endpoint"]),
                    text(&upstream["upstream"]),
                    text(&endpoint["state"]),
                    text(&endpoint["breaker"]),
                    one_digit(&endpoint["ewma_ms"]),
                    text(&endpoint["inflight"]),
                    text(&endpoint["idle"]),
                    text(&endpoint["failures"]),
                ]
            })
        });
        table(&head, &rows.collect::<Vec<_>>())
    }

    /// The same row of the earlier look.
    fn earlier(&self, rows: &str, key: &str, name: &Value) -> Option<&Value> {
        let (view, _) = self.since?;
        list(&view[rows]).iter().find(|row| row[key] == *name)
    }

    /// A count as it stands, or what it grew by each second. One that began anew grew by all it has.
    fn count(&self, now: &Value, before: Option<&Value>) -> f64 {
        let now = now.as_f64().unwrap_or_default();
        let Some((_, seconds)) = self.since else {
            return now;
        };
        let before = before
            .and_then(Value::as_f64)
            .filter(|before| *before <= now);
        (now - before.unwrap_or_default()) / seconds.max(0.001)
    }

    /// Refusals by reason, most first.
    fn reasons<'v>(&self, now: &'v Value, before: Option<&Value>) -> Vec<(&'v str, f64)> {
        let counts = now.as_object().into_iter().flatten();
        let counts = counts.map(|(reason, count)| {
            let before = before.map(|before| &before[reason]);
            (reason.as_str(), self.count(count, before))
        });
        let mut counts: Vec<_> = counts.filter(|(_, count)| *count > 0.0).collect();
        counts.sort_by(|a, b| b.1.total_cmp(&a.1));
        counts
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => plain(text),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn whole(value: &Value) -> String {
    value
        .as_f64()
        .map_or(String::new(), |number| format!("{number:.0}"))
}

fn one_digit(value: &Value) -> String {
    value
        .as_f64()
        .map_or(String::new(), |number| format!("{number:.1}"))
}

fn percent(value: &Value) -> String {
    let part = value.as_f64().unwrap_or_default();
    format!("{:.0} %", part * 100.0)
}

fn short(number: f64) -> String {
    match number {
        number if number > 0.0 && number < 10.0 && number.fract() != 0.0 => format!("{number:.1}"),
        number => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests;
