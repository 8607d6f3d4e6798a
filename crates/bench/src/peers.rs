//! The servers that are measured side by side: found, configured, started, stopped.

pub mod configs;
pub mod haproxy;
mod launch;
pub mod macronode;
pub mod nginx;
pub mod varnish;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::OnceLock;

pub use launch::{Launch, Running};
pub(crate) use launch::{OTHER_CORE, SERVER_CORE, cpu_time};

/// Which program it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// nginx.
    Nginx,
    /// HAProxy.
    Haproxy,
    /// Varnish.
    Varnish,
    /// This program's own origin: nothing but a loop over sockets.
    Bare,
    /// An earlier build of ours.
    Earlier,
    /// Ours.
    Macronode,
}

/// What a server stands between, and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where it sends requests on to.
    pub origin: SocketAddr,
    /// How clients speak.
    pub door: Door,
    /// Whether it writes a line for each request.
    pub access_log: bool,
}

/// How clients speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// HTTP/1.1.
    Plain,
    /// HTTP/2 with prior knowledge.
    Http2,
    /// HTTP/1.1 in TLS, with `cert.pem` and `key.pem` (`both.pem`: one after the other).
    Tls,
}

impl Kind {
    /// The proxies, in the order of their turns.
    pub const ALL: [Self; 3] = [Self::Nginx, Self::Haproxy, Self::Macronode];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Haproxy => "HAProxy",
            Self::Varnish => "Varnish",
            Self::Bare => "bare epoll",
            Self::Earlier => "earlier build",
            Self::Macronode => "macronode",
        }
    }

    /// Where it is, or a sentence that says why it is not measured.
    pub fn find(self) -> Result<PathBuf, String> {
        if !is_asked_for(self) {
            let name = self.name();
            return Err(format!("{name} is left out: --against does not name it"));
        }
        let (program, package) = match self {
            Self::Nginx => ("nginx", "nginx"),
            Self::Haproxy => ("haproxy", "haproxy"),
            Self::Varnish => ("varnishd", "varnish"),
            Self::Bare => return std::env::current_exe().map_err(|error| error.to_string()),
            Self::Earlier => return earlier_build(),
            Self::Macronode => return crate::node::built_binary(),
        };
        on_path(program).ok_or_else(|| {
            let name = self.name();
            format!("{name} is left out: it is not installed (apt-get install {package})")
        })
    }

    /// What its config is called beside it.
    fn config_file(self) -> &'static str {
        match self {
            Self::Nginx => "nginx.conf",
            Self::Haproxy => "haproxy.cfg",
            Self::Varnish => "cache.vcl",
            Self::Bare => "none",
            Self::Earlier | Self::Macronode => "node.toml",
        }
    }

    fn is_called(self, name: &str) -> bool {
        self.name()
            .to_lowercase()
            .split(' ')
            .any(|word| word == name)
    }

    /// The line it says of its version.
    pub fn version(self) -> Result<String, String> {
        let program = self.find()?;
        let (flag, lead) = match self {
            Self::Nginx => ("-v", "nginx version: nginx/"),
            Self::Haproxy => ("-v", "HAProxy version "),
            Self::Varnish => ("-V", "varnishd (varnish-"),
            Self::Earlier | Self::Macronode => ("version", "macronode "),
            Self::Bare => return Ok(self.name().to_owned()),
        };
        let output = std::process::Command::new(&program).arg(flag).output();
        let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let line = text.lines().next().unwrap_or_default();
        if self == Self::Macronode {
            // How it was built matters as much as what it is.
            return Ok(line.to_owned());
        }
        let words = line.strip_prefix(lead).unwrap_or(line).split_whitespace();
        let version = words.take(1).collect::<Vec<_>>().join(" ");
        let version = version.trim_end_matches(')');
        Ok(format!("{} {version}", self.name()))
    }
}

static AGAINST: OnceLock<Vec<String>> = OnceLock::new();

/// Measures only these beside ours from now on; everybody when there are none.
pub fn only_against(names: Vec<String>) -> Result<(), String> {
    let known = |name: &String| PEERS.iter().any(|kind| kind.is_called(name));
    if let Some(odd) = names.iter().find(|name| !known(name)) {
        let peers = PEERS.map(Kind::name).join(", ");
        return Err(format!(
            "--against does not take `{odd}`; there are: {peers}"
        ));
    }
    // The command line is read once.
    let _ = AGAINST.set(names);
    Ok(())
}

static BEFORE: OnceLock<PathBuf> = OnceLock::new();

/// Takes this program for an earlier build of ours from now on.
pub fn earlier_is(program: PathBuf) -> Result<(), String> {
    // Servers are started in folders of their own.
    let found = std::path::absolute(&program)
        .ok()
        .filter(|program| program.is_file());
    let found = found.ok_or_else(|| format!("--before: there is no {}", program.display()))?;
    // The command line is read once.
    let _ = BEFORE.set(found);
    Ok(())
}

fn earlier_build() -> Result<PathBuf, String> {
    let missing = "which build is the earlier one? --before target/before/macronode, say";
    BEFORE.get().cloned().ok_or_else(|| missing.to_owned())
}

/// Those who are not ours.
pub(crate) const PEERS: [Kind; 4] = [Kind::Nginx, Kind::Haproxy, Kind::Varnish, Kind::Bare];

fn is_asked_for(kind: Kind) -> bool {
    let named = |names: &Vec<String>| names.is_empty() || names.iter().any(|n| kind.is_called(n));
    matches!(kind, Kind::Macronode | Kind::Earlier) || AGAINST.get().is_none_or(named)
}

/// A program by its name. Servers often lie where only root's path leads.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path);
    let more = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let mut candidates = directories.chain(more).map(|dir| dir.join(program));
    candidates.find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_called_by_a_word_of_its_name() {
        assert!(Kind::Haproxy.is_called("haproxy"));
        assert!(Kind::Bare.is_called("bare"));
        assert!(!Kind::Nginx.is_called("ngin"));
        let mistake = only_against(vec!["apache".to_owned()]).unwrap_err();
        assert!(mistake.contains("`apache`") && mistake.contains("Varnish"));
    }
}
