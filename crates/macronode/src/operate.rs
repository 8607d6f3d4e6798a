//! `status`, `drain`, `reload`: what an operator asks of a running node.

use std::time::Duration;

use http::Method;
use kernel::clock;
use serde_json::Value;

use crate::cli::{NodeArgs, StatusArgs};
use crate::client::ask;
use crate::exit::Exit;
use crate::table::table;

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
        node.request("/drain", libc::SIGTERM, &status).await?;
        println!("draining");
        let give_up = clock::now() + Duration::from_secs(args.within);
        let mut stage = String::new();
        while clock::now() < give_up {
            match node.status().await {
                Err(_) => {
                    println!("stopped");
                    return Ok(Exit::Ok);
                }
                Ok(status) if status["stage"] != stage.as_str() => {
                    stage = status["stage"].as_str().unwrap_or_default().to_owned();
                    println!("stage {stage}");
                }
                Ok(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(format!(
            "the node still runs after {} s; ask once more to abort it",
            args.within
        ))
    })
}

/// Reloads and says what came of it.
pub(crate) fn reload(args: &NodeArgs) -> Exit {
    with_node(args, async |node: &Node| {
        let status = node.status().await?;
        let reloads = |status: &Value| status["config"]["reloads"].as_u64().unwrap_or_default();
        let before = reloads(&status);
        node.request("/reload", libc::SIGHUP, &status).await?;
        let give_up = clock::now() + Duration::from_secs(args.within);
        while clock::now() < give_up {
            let status = node.status().await?;
            if reloads(&status) > before {
                return Ok(reloaded(&status["config"]));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(format!("the node did not reload within {} s", args.within))
    })
}

fn reloaded(config: &Value) -> Exit {
    let result = config["last_result"].as_str().unwrap_or_default();
    println!("{result}: config {} is in force", config["generation"]);
    if matches!(result, "applied" | "unchanged") {
        return Exit::Ok;
    }
    eprintln!("{}", config["last_error"].as_str().unwrap_or_default());
    Exit::Refused
}

/// A running node, as an operator reaches it.
struct Node {
    args: NodeArgs,
}

impl Node {
    async fn status(&self) -> Result<Value, String> {
        let said = ask(
            self.args.admin,
            self.args.token.as_deref(),
            Method::GET,
            "/status",
        )
        .await?;
        match said.status {
            200 => Ok(said.body),
            status => Err(format!(
                "the node answered {status}: {}",
                detail(&said.body)
            )),
        }
    }

    /// By token where there is one, else by a signal to the process that answers.
    async fn request(&self, path: &str, signal: i32, status: &Value) -> Result<(), String> {
        if let Some(token) = &self.args.token {
            let said = ask(self.args.admin, Some(token), Method::POST, path).await?;
            return match said.status {
                202 => Ok(()),
                status => Err(format!(
                    "the node answered {status}: {}",
                    detail(&said.body)
                )),
            };
        }
        let pid = status["pid"]
            .as_i64()
            .and_then(|pid| i32::try_from(pid).ok())
            .filter(|pid| *pid > 1);
        let pid = pid.ok_or("the node did not say its process id")?;
        if !is_macronode(pid) {
            return Err(format!(
                "process {pid} is not a macronode of this machine; use --token"
            ));
        }
        // SAFETY: kill(2) takes any pid and signal and touches no memory of ours.
        match unsafe { libc::kill(pid, signal) } {
            0 => Ok(()),
            _ => Err(format!(
                "cannot signal process {pid}: {}; use --token",
                std::io::Error::last_os_error()
            )),
        }
    }
}

/// Guards against signalling a stranger: the node may run in another namespace, where its pid means someone else.
fn is_macronode(pid: i32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end() == "macronode"
}

fn detail(body: &Value) -> &str {
    body["detail"]
        .as_str()
        .or(body.as_str())
        .unwrap_or("no reason given")
}

fn with_node(args: &NodeArgs, act: impl AsyncFnOnce(&Node) -> Result<Exit, String>) -> Exit {
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
    runtime.block_on(act(&node)).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        Exit::Unreachable
    })
}

fn page(status: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
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
