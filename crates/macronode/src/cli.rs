//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use oap::{AskArgs, BenchArgs, OapCommand, PeerArgs, SendArgs, StreamArgs};
pub(crate) use pack::{ConvertArgs, ExtractArgs, LookArgs, PackCommand};
pub(crate) use tiles::TilesArgs;

pub(crate) use credentials::{AttenuateArgs, InspectArgs, KeyCommand, MintArgs, PassportCommand};

mod credentials;
mod oap;
mod pack;
mod tiles;

/// A gateway and edge node that stays up, stays fair and stays fast when everything around it does not.
#[derive(Debug, Parser)]
#[command(name = "macronode", version, max_term_width = 110)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the node; without a config it shows an embedded demonstration on loopback.
    Run(RunArgs),
    /// Be a fair proxy in front of one upstream; needs no config.
    Proxy(ProxyArgs),
    /// Serve tile packs, and show them on a map; needs no config.
    Tiles(TilesArgs),
    /// Check a config: every mistake at once, with its place and what is allowed.
    Check(ConfigArgs),
    /// Look at configs.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check this machine: ports, limits, clock, kernel features, permissions; say how to mend what is wrong.
    Doctor(ConfigArgs),
    /// Show the services, queues and readiness of a running node.
    Status(StatusArgs),
    /// Watch the gateway of a running node: tenants, routes, upstreams, endpoints, each second anew; `q` ends it.
    Top(TopArgs),
    /// Drain a running node and wait until it has gone.
    Drain(NodeArgs),
    /// Make a running node reload its config, and say what came of it.
    Reload(NodeArgs),
    /// Make API keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Make, narrow and read passports: tokens that say what their holder may do.
    #[command(subcommand)]
    Passport(PassportCommand),
    /// Look at tile packs, check them, and make others of them.
    #[command(subcommand)]
    Pack(PackCommand),
    /// Talk to a node's transport, in frames: greet it, ask it, send it a stream, ask it many times.
    #[command(subcommand)]
    Oap(OapCommand),
    /// Print the version.
    Version {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Write the reference pages, made from the code, into a directory.
    #[command(hide = true)]
    Reference {
        /// Where to.
        directory: PathBuf,
    },
    /// Write the dashboard and the alert rules, made from the metrics, into a directory.
    #[command(hide = true)]
    Monitoring {
        /// Where to.
        directory: PathBuf,
    },
}

/// Look at configs.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the config in effect: defaults, file, environment and flags together; secrets as ***.
    Print {
        /// Which config.
        #[command(flatten)]
        config: ConfigArgs,
        /// With what each key means.
        #[arg(long)]
        comments: bool,
    },
    /// Print the JSON schema.
    Schema,
    /// Show what a reload from OLD to NEW would change, and what of it needs a restart.
    Diff {
        /// The config in force.
        old: PathBuf,
        /// The config to come.
        new: PathBuf,
    },
}

/// Where the config comes from.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ConfigArgs {
    /// The config file (TOML).
    #[arg(short, long, env = "MACRONODE_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set one key, over file and environment; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Which demonstration holds without a file.
    #[arg(long = "demo", value_enum, value_name = "WHICH", default_value_t)]
    pub(crate) built_in: BuiltIn,
}

/// Configs that need no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BuiltIn {
    /// A gateway in front of a small origin, and three tenants that ask too much of it.
    #[default]
    Gateway,
    /// A bounded queue, supervised workers, and a child that crashes.
    Kernel,
    /// What `proxy` runs on.
    #[value(skip)]
    Proxy,
    /// What `tiles` runs on.
    #[value(skip)]
    Tiles,
}

/// How to be a proxy.
#[derive(Args, Debug)]
pub(crate) struct ProxyArgs {
    /// Where requests go, such as http://127.0.0.1:9000.
    #[arg(long, value_name = "URL")]
    pub(crate) to: String,
    /// Where to listen.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Set one key, over environment and these; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
}

impl ProxyArgs {
    /// The same as `run` with a config of two lines.
    pub(crate) fn run(&self) -> RunArgs {
        let mut sets = vec![
            format!("gateway.to={}", self.to),
            format!("gateway.listen=[\"{}\"]", self.listen),
        ];
        sets.extend(self.sets.iter().cloned());
        RunArgs {
            config: ConfigArgs {
                config: None,
                sets,
                built_in: BuiltIn::Proxy,
            },
            runtime: None,
        }
    }
}

/// How to run.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Which config.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Short for `--set runtime.kind=…`.
    #[arg(long, value_enum)]
    pub(crate) runtime: Option<RuntimeFlag>,
}

impl RunArgs {
    /// The config arguments with the short forms written out.
    pub(crate) fn config(&self) -> ConfigArgs {
        let mut config = self.config.clone();
        if let Some(runtime) = self.runtime {
            let kind = match runtime {
                RuntimeFlag::Multi => "multi",
                RuntimeFlag::Single => "single",
            };
            config.sets.push(format!("runtime.kind={kind}"));
        }
        config
    }
}

/// The runtimes.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RuntimeFlag {
    /// All cores.
    Multi,
    /// One thread.
    Single,
}

/// Which running node.
#[derive(Args, Clone, Debug)]
pub(crate) struct NodeArgs {
    /// The admin address of the node.
    #[arg(long, env = "MACRONODE_ADMIN", default_value = "127.0.0.1:9600")]
    pub(crate) admin: SocketAddr,
    /// The admin token; without one the node is signalled, which takes the same user on the same machine.
    #[arg(long, env = "MACRONODE_ADMIN_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Give up after so many seconds.
    #[arg(long, default_value_t = 15, value_name = "SECONDS")]
    pub(crate) within: u64,
}

/// How to show the status.
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// Which node.
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How to watch the gateway.
#[derive(Args, Debug)]
pub(crate) struct TopArgs {
    /// Which node.
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// Look once: totals instead of what happened each second.
    #[arg(long)]
    pub(crate) once: bool,
    /// As JSON, one document a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// How many tenants are shown, the busiest first.
    #[arg(long, default_value_t = 20, value_name = "COUNT")]
    pub(crate) tenants: usize,
}
