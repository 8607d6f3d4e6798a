//! The arguments of `oap`.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand};

/// Talk in frames, as OAP/1 has it.
#[derive(Debug, Subcommand)]
pub(crate) enum OapCommand {
    /// Greet a node, and show what both sides agree on.
    Hello(PeerArgs),
    /// Ask once, and show the answer.
    Send(SendArgs),
    /// Send standard input as it comes, and show the answer as it comes.
    Stream(StreamArgs),
    /// Ask many times over several connections, and show what came of it.
    Bench(BenchArgs),
}

/// Whom to talk to.
#[derive(Args, Clone, Debug)]
pub(crate) struct PeerArgs {
    /// Where the node's transport listens, such as 127.0.0.1:8650.
    #[arg(value_name = "HOST:PORT", value_parser = dialable)]
    pub(crate) address: String,
    /// Speak TLS, with whom an authority in this PEM file vouches for.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// The name the server's certificate is for, if not that of the address.
    #[arg(long, value_name = "HOST", requires = "ca")]
    pub(crate) name: Option<String>,
    /// A credential for all requests: API key, signed token, passport.
    #[arg(long, env = "MACRONODE_OAP_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// How long each request may take, in milliseconds.
    #[arg(long, default_value_t = 5_000, value_name = "MS")]
    pub(crate) within_ms: u64,
}

/// What to ask for.
#[derive(Args, Clone, Debug)]
pub(crate) struct AskArgs {
    /// The service; 2 is the echo.
    #[arg(long, default_value_t = 2, value_name = "NUMBER")]
    pub(crate) app_proto: u16,
    /// What the service is asked for.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub(crate) opcode: u16,
    /// Ask the gateway's routes for this instead, over the bridge.
    #[arg(long, conflicts_with_all = ["app_proto", "opcode"])]
    pub(crate) url: Option<String>,
    /// How, over the bridge.
    #[arg(long, default_value = "GET", requires = "url")]
    pub(crate) method: String,
    /// A header of a request over the bridge, `name: value`; may be repeated.
    #[arg(short = 'H', long = "header", value_name = "HEADER", requires = "url")]
    pub(crate) headers: Vec<String>,
    /// Refuse to be taken for anybody but this tenant; 0 is sent without.
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<String>,
    /// Compress what is sent, where the node can read it.
    #[arg(long)]
    pub(crate) compress: bool,
}

/// How to ask once.
#[derive(Args, Debug)]
pub(crate) struct SendArgs {
    /// Whom.
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// What is sent along.
    #[arg(default_value = "")]
    pub(crate) payload: String,
    /// What for.
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

/// How to send a stream.
#[derive(Args, Debug)]
pub(crate) struct StreamArgs {
    /// Whom to.
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// What for.
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

/// How to ask many times.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Whom.
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// What for.
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// Requests in all.
    #[arg(long, default_value_t = 10_000, value_name = "COUNT", value_parser = counted(u64::MAX))]
    pub(crate) requests: u64,
    /// Connections.
    #[arg(long, default_value_t = 1, value_name = "COUNT", value_parser = counted(1_000))]
    pub(crate) connections: u64,
    /// Requests at once on each connection.
    #[arg(long, default_value_t = 16, value_name = "COUNT", value_parser = counted(1_024))]
    pub(crate) inflight: u64,
    /// Bytes sent along with each.
    #[arg(long, default_value_t = 64, value_name = "BYTES", value_parser = numbered(0, 1_000_000))]
    pub(crate) bytes: u64,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// An address with a port: without one, nothing that is tried again could ever be reached.
fn dialable(text: &str) -> Result<String, &'static str> {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    match port.map(|(_, port)| port.parse::<u16>()) {
        Some(Ok(1..)) => Ok(text.to_owned()),
        _ => Err("write it as HOST:PORT, such as 127.0.0.1:8650"),
    }
}

fn counted(most: u64) -> RangedU64ValueParser {
    numbered(1, most)
}

fn numbered(least: u64, most: u64) -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(least..=most)
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: TR-08
    #[test]
    fn an_address_has_a_port() {
        for good in ["127.0.0.1:8650", "[::1]:8650", "node.test:1"] {
            assert_eq!(dialable(good).as_deref(), Ok(good));
        }
        for bad in [
            "127.0.0.1",
            "",
            ":8650",
            "node:",
            "node:0",
            "node:65536",
            "node:oap",
        ] {
            assert!(dialable(bad).is_err(), "{bad}");
        }
    }
}
