//! The programs a command needs from the distribution: installed when that is allowed, named exactly when not.

use crate::Outcome;
use crate::shell::Invocation;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub(crate) struct Tool {
    pub(crate) program: &'static str,
    /// Debian's packages that bring it.
    pub(crate) packages: &'static [&'static str],
}

/// What building and testing needs beside the Rust toolchain.
pub(crate) const BUILD: &[Tool] = &[
    Tool {
        program: "cc",
        packages: &["gcc", "libc6-dev"],
    },
    Tool {
        program: "git",
        packages: &["git"],
    },
];

/// What ours is measured beside, and with.
pub(crate) const PEERS: &[Tool] = &[
    Tool {
        program: "nginx",
        packages: &["nginx"],
    },
    Tool {
        program: "haproxy",
        packages: &["haproxy"],
    },
    Tool {
        program: "varnishd",
        packages: &["varnish"],
    },
    Tool {
        program: "h2load",
        packages: &["nghttp2-client"],
    },
    Tool {
        program: "valgrind",
        packages: &["valgrind"],
    },
];

/// What speaks HTTP/2 as fast as it can.
pub(crate) const H2LOAD: &[Tool] = &[Tool {
    program: "h2load",
    packages: &["nghttp2-client"],
}];

/// What counts instructions.
pub(crate) const VALGRIND: &[Tool] = &[Tool {
    program: "valgrind",
    packages: &["valgrind"],
}];

/// What builds the preview page and the demonstration pack; building the node needs neither.
pub(crate) const NODE: &[Tool] = &[
    Tool {
        program: "node",
        packages: &["nodejs"],
    },
    Tool {
        program: "npm",
        packages: &["npm"],
    },
];

/// The browser in which the preview page is proved.
pub(crate) const BROWSER: &[Tool] = &[Tool {
    program: "chromium",
    packages: &["chromium"],
}];

/// For what can be done without: says what is missing, installs it where that starts nothing, and never fails.
pub(crate) fn offer(tools: &[Tool]) {
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !present(tool.program)).collect();
    if missing.is_empty() {
        return;
    }
    if !may_install() || starts_services() {
        println!(
            "{}; who is missing is named in the results",
            advice(&missing)
        );
        return;
    }
    println!("{}; installing", advice(&missing));
    if let Err(reason) = install(&missing) {
        println!("{reason}; who is missing is named in the results");
    }
}

/// Whether a package that brings a service would start it: nobody who measures asked for a running server.
fn starts_services() -> bool {
    Path::new("/run/systemd/system").exists()
}

pub(crate) fn provide(tools: &[Tool]) -> Outcome {
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !present(tool.program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !may_install() {
        return Err(advice(&missing));
    }
    println!("{}; installing", advice(&missing));
    install(&missing)?;
    match missing.iter().find(|tool| !present(tool.program)) {
        None => Ok(()),
        Some(tool) => Err(format!(
            "`{}` is still missing after the installation",
            tool.program
        )),
    }
}

pub(crate) fn present(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| is_program(&directory.join(program)))
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

/// Root, and a Debian-like system. Anything else is the user's machine to change.
fn may_install() -> bool {
    let root = Path::new("/proc/self")
        .metadata()
        .is_ok_and(|meta| meta.uid() == 0);
    root && present("apt-get")
}

/// These packages, where they may be installed at all.
pub(crate) fn install_packages(packages: &[&str]) -> Outcome {
    match may_install() {
        true => apt_install(packages),
        false => Err(format!(
            "install with: apt-get install {}",
            packages.join(" ")
        )),
    }
}

fn install(missing: &[&Tool]) -> Outcome {
    let packages: Vec<_> = missing
        .iter()
        .flat_map(|tool| tool.packages)
        .copied()
        .collect();
    apt_install(&packages)
}

fn apt_install(packages: &[&str]) -> Outcome {
    // The lists are often absent in a container; refreshing them is not needed where they are there.
    let apt =
        |args: &[&str]| Invocation::new("apt-get", args).env("DEBIAN_FRONTEND", "noninteractive");
    let install =
        apt(&["install", "--yes", "--no-install-recommends"]).args(packages.iter().copied());
    install
        .run()
        .or_else(|_| apt(&["update"]).run().and_then(|()| install.run()))
}

fn advice(missing: &[&Tool]) -> String {
    let programs: Vec<_> = missing
        .iter()
        .map(|tool| format!("`{}`", tool.program))
        .collect();
    let packages: Vec<_> = missing
        .iter()
        .flat_map(|tool| tool.packages)
        .copied()
        .collect();
    format!(
        "missing: {}; install with: apt-get install {}",
        programs.join(", "),
        packages.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::{BUILD, Tool, advice, is_program, present};
    use std::path::Path;

    #[test]
    fn a_program_on_the_path_is_present_and_a_plain_file_is_none() {
        assert!(present("sh"));
        assert!(!present("no-such-program-here"));
        assert!(!is_program(Path::new("/etc/passwd")));
        assert!(!is_program(Path::new("/etc")));
    }

    #[test]
    fn the_advice_can_be_typed_as_it_stands() {
        let missing: Vec<&Tool> = BUILD.iter().collect();
        let expected = "missing: `cc`, `git`; install with: apt-get install gcc libc6-dev git";
        assert_eq!(advice(&missing), expected);
    }
}
