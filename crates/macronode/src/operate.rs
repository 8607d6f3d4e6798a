//! `status`, `drain`, `reload`: what an operator asks of a running node.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use http::Method;
use kernel::clock;
use kernel::deadline::Deadline;
use serde_json::Value;

use crate::cli::{NodeArgs, StatusArgs};
use crate::client::{Said, Trouble, ask};
use crate::doctor::holder;
use crate::exit::Exit;
use crate::table::{plain, table};

/// Shows the status.
pub(crate) fn status(args: &StatusArgs) -> Exit {
    with_node(&args.node, async |node: &Node| {
        let status = node.status().await?;
        match args.json {
            true => println!("{status:#}"),
            false => print!("{}", page(&status)),
        }
        Ok(Exit::Ok)
    })
}

/// Drains and waits until the node has gone.
pub(crate) fn drain(args: &NodeArgs) -> Exit {
    with_node(args, async |node: &Node| {
        let status = node.status().await?;
        let pid = pid_of(&status["pid"]).filter(|pid| is_node(*pid, args.admin));
        // Its door closes before it ends; its name stays.
        let name = pid.and_then(name_of);
        let ended = || name.is_some() && pid.and_then(name_of) != name;
        node.request("/drain", libc::SIGTERM, &status).await?;
        say(format_args!("draining"));
        let give_up = node.give_up();
        let mut stage = String::new();
        while !give_up.passed(clock::now()) {
            let now = node.status().await;
            let gone = match &now {
                Err(Trouble::Gone(_)) => true,
                // Who holds the socket for it (systemd) keeps it open: then only its process tells, if it is near.
                Err(_) => ended(),
                Ok(now) => now["pid"] != status["pid"],
            };
            if gone {
                say(format_args!("stopped"));
                return Ok(Exit::Ok);
            }
            if let Some(now) = now.ok().filter(|now| now["stage"] != stage.as_str()) {
                stage = now["stage"].as_str().unwrap_or_default().to_owned();
                say(format_args!("stage {}", plain(&stage)));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(Trouble::Unreachable(format!(
            "the node still runs after {} s; ask once more to abort it",
            args.within
        )))
    })
}

/// Reloads and says what came of it.
pub(crate) fn reload(args: &NodeArgs) -> Exit {
    with_node(args, async |node: &Node| {
        let status = node.status().await?;
        let reloads = |status: &Value| status["config"]["reloads"].as_u64().unwrap_or_default();
        let before = reloads(&status);
        node.request("/reload", libc::SIGHUP, &status).await?;
        let give_up = node.give_up();
        while !give_up.passed(clock::now()) {
            let status = node.status().await?;
            if reloads(&status) > before {
                return Ok(reloaded(&status["config"]));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let why = format!("the node did not reload within {} s", args.within);
        Err(Trouble::Unreachable(why))
    })
}

fn reloaded(config: &Value) -> Exit {
    let result = config["last_result"].as_str().unwrap_or_default();
    let generation = &config["generation"];
    let shown = plain(result);
    say(format_args!("{shown}: config {generation} is in force"));
    if matches!(result, "applied" | "unchanged") {
        return Exit::Ok;
    }
    let mistakes = config["last_error"].as_str().unwrap_or_default();
    for line in mistakes.lines() {
        eprintln!("{}", plain(line));
    }
    Exit::Refused
}

/// Reports progress to whoever still reads; what was begun goes on without them.
fn say(what: std::fmt::Arguments<'_>) {
    let _nobody_reads = writeln!(std::io::stdout(), "{what}").is_err();
}

/// A running node, as an operator reaches it.
pub(crate) struct Node {
    args: NodeArgs,
}

impl Node {
    async fn status(&self) -> Result<Value, Trouble> {
        self.read("/status", is_status).await
    }

    /// One of its pages, if it has the shape of what a node says there.
    pub(crate) async fn read(
        &self,
        path: &str,
        expected: impl FnOnce(&Value) -> bool,
    ) -> Result<Value, Trouble> {
        let token = self.args.token.as_deref();
        let said = ask(self.args.admin, token, Method::GET, path).await?;
        match said.status {
            200 if expected(&said.body) => Ok(said.body),
            200 => Err(Trouble::Unreachable(format!(
                "what answers at {} is no macronode",
                self.args.admin
            ))),
            _ => Err(refusal(&said)),
        }
    }

    fn give_up(&self) -> Deadline {
        Deadline::after(clock::now(), Duration::from_secs(self.args.within))
    }

    /// By token where there is one, else by a signal to the process that answers.
    async fn request(&self, path: &str, signal: i32, status: &Value) -> Result<(), Trouble> {
        if let Some(token) = &self.args.token {
            let said = ask(self.args.admin, Some(token), Method::POST, path).await?;
            return match said.status {
                202 => Ok(()),
                _ => Err(refusal(&said)),
            };
        }
        let unreachable = |why: String| Err(Trouble::Unreachable(why));
        let Some(pid) = pid_of(&status["pid"]) else {
            return unreachable("the node did not say its process id".to_owned());
        };
        if !is_node(pid, self.args.admin) {
            return unreachable(format!(
                "process {pid} is no macronode of this machine that this user may see; use --token"
            ));
        }
        // SAFETY: kill(2) takes any pid and signal and touches no memory of ours.
        match unsafe { libc::kill(pid, signal) } {
            0 => Ok(()),
            _ => unreachable(format!(
                "cannot signal process {pid}: {}; use --token",
                std::io::Error::last_os_error()
            )),
        }
    }
}

fn is_status(body: &Value) -> bool {
    body["node"].is_string() && body["version"].is_string() && body["pid"].is_u64()
}

fn pid_of(value: &Value) -> Option<i32> {
    let pid = value.as_i64().and_then(|pid| i32::try_from(pid).ok());
    pid.filter(|pid| *pid > 1)
}

/// Guards against signalling a stranger: the node may run in another namespace, where its pid means someone else. Who
/// listens where the answer came from is the node, whatever its program is called, and nobody else is; where that
/// cannot be seen, the name has to do.
fn is_node(pid: i32, admin: SocketAddr) -> bool {
    let is_named = || name_of(pid).is_some_and(|name| name == "macronode");
    let pid = u32::try_from(pid).ok();
    pid.and_then(|pid| holder::listens(pid, admin))
        .unwrap_or_else(is_named)
}

fn name_of(pid: i32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

fn refusal(said: &Said) -> Trouble {
    let detail = said.body["detail"].as_str().or(said.body.as_str());
    Trouble::Refused(format!(
        "the node answered {}: {}",
        said.status,
        plain(detail.unwrap_or("no reason given"))
    ))
}

pub(crate) fn with_node(
    args: &NodeArgs,
    act: impl AsyncFnOnce(&Node) -> Result<Exit, Trouble>,
) -> Exit {
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start the runtime: {error}");
            return Exit::Internal;
        }
    };
    let node = Node { args: args.clone() };
    runtime.block_on(act(&node)).unwrap_or_else(|trouble| {
        let (exit, why) = match trouble {
            Trouble::Gone(why) | Trouble::Unreachable(why) => (Exit::Unreachable, why),
            Trouble::Refused(why) => (Exit::Refused, why),
        };
        eprintln!("error: {why}");
        exit
    })
}

fn page(status: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => plain(text),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let empty = Vec::new();
    let list = |value: &Value| value.as_array().unwrap_or(&empty).clone();
    let readiness = list(&status["readiness"]["services"]);
    let services: Vec<_> = list(&status["children"])
        .iter()
        .map(|child| {
            let ready = readiness
                .iter()
                .find(|service| service["service"] == child["name"]);
            let ready = |key| ready.map(|service| text(&service[key])).unwrap_or_default();
            let cell = |key| text(&child[key]);
            vec![
                cell("name"),
                cell("life"),
                ready("state"),
                cell("restarts"),
                cell("phase"),
                ready("reason"),
            ]
        })
        .collect();
    let queues: Vec<_> = list(&status["queues"])
        .iter()
        .map(|queue| {
            ["name", "depth", "capacity", "dropped", "refused"]
                .map(|key| text(&queue[key]))
                .to_vec()
        })
        .collect();
    let doors: Vec<String> = status["doors"]
        .as_object()
        .map(|doors| {
            doors
                .iter()
                .map(|(name, address)| format!("{name} {}", text(address)))
                .collect()
        })
        .unwrap_or_default();
    format!(
        "macronode {version}, pid {pid}, up {uptime} s, {node}, {ready}\n\
         listening: {doors}\n\
         config {generation} ({last})\n\n{services}\n{queues}",
        version = text(&status["version"]),
        pid = status["pid"],
        uptime = status["uptime_s"],
        node = text(&status["node"]),
        ready = text(&status["readiness"]["state"]),
        doors = doors.join(", "),
        generation = status["config"]["generation"],
        last = match text(&status["config"]["last_result"]).as_str() {
            "" => "as started".to_owned(),
            result => format!("last reload: {result}"),
        },
        services = table(
            &[
                "service",
                "life",
                "readiness",
                "restarts",
                "drains in",
                "why"
            ],
            &services
        ),
        queues = table(
            &["queue", "depth", "capacity", "dropped", "refused"],
            &queues
        ),
    )
}
