//! A server that speaks S3, of somebody else: moto from PyPI, in an environment of its own beside the build products.

use crate::shell::Invocation;
use crate::tools::{self, Tool};
use crate::workspace;
use std::path::{Path, PathBuf};

const SERVER: &str = "moto[server]==5.2.*";

const PYTHON: &[Tool] = &[Tool {
    program: "python3",
    packages: &["python3", "python3-venv"],
}];

/// The tests, told where the server is. Where it cannot be had those that need it do not run, and a line says so: what
/// they test is ours, what is missing is not.
pub(crate) fn told(tests: Invocation) -> Invocation {
    match python() {
        Ok(python) => tests.env("MACRONODE_S3_PYTHON", python.to_string_lossy()),
        Err(why) => {
            println!("NOT RUN: the tests against an S3 server, which cannot be installed: {why}");
            tests
        }
    }
}

/// The interpreter that knows the server; nothing is fetched again once it does.
fn python() -> Result<PathBuf, String> {
    let home = workspace::target().join("s3-server");
    let python = home.join("bin/python");
    if knows(&python) {
        return Ok(python);
    }
    tools::provide(PYTHON)?;
    let directory = home.to_string_lossy().into_owned();
    let make = Invocation::new("python3", &["-m", "venv", "--clear", &directory]);
    if make.run().is_err() {
        // A Python without the module that makes environments; Debian has it in a package of its own.
        tools::install_packages(&["python3-venv"])?;
        make.run()?;
    }
    let pip = ["-m", "pip", "install", "--quiet", "--retries", "2", SERVER];
    Invocation::new(&python.to_string_lossy(), &pip).run()?;
    match knows(&python) {
        true => Ok(python),
        false => Err(format!("{SERVER} was installed and cannot be imported")),
    }
}

fn knows(python: &Path) -> bool {
    let look = Invocation::new(&python.to_string_lossy(), &["-c", "import moto.server"]);
    python.exists() && look.probe().is_some()
}
