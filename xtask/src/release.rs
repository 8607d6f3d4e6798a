//! `release`: the program to deploy. Built once so that it can be watched, watched under the lab's loads, and built
//! again by what was seen: what runs often lies together, which is a sixth of the processor time of a request.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::args::Args;
use crate::shell::Invocation;
use crate::tools;
use crate::workspace;

/// Crates that are no part of the program.
const BESIDE: [&str; 3] = ["crates/bench/", "crates/e2e/", "crates/testkit/"];

pub(crate) fn run(args: Args) -> Outcome {
    args.finish()?;
    let program = trained()?;
    println!("{}", program.display());
    Ok(())
}

/// The trained program of these sources, made if there is none.
pub(crate) fn trained() -> Result<PathBuf, String> {
    let folder = workspace::target().join("trained");
    let (program, stamp) = (folder.join("macronode"), folder.join("sources"));
    let sources = fingerprint(&workspace::sources()?, &host()?);
    let is_current = std::fs::read_to_string(&stamp).is_ok_and(|kept| kept == sources);
    if is_current && program.is_file() {
        return Ok(program);
    }
    let merge = merger()?;
    let odd = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(odd)?;
    let profile = folder.join("macronode.profdata");
    watch(&folder.join("seen"), &merge, &profile)?;
    let built = build(&flag("-Cprofile-use=", &profile), "release, trained")?;
    // Whoever runs the old one keeps it.
    let fresh = folder.join("macronode.new");
    std::fs::copy(built, &fresh).map_err(odd)?;
    std::fs::rename(fresh, &program).map_err(odd)?;
    std::fs::write(stamp, sources).map_err(odd)?;
    Ok(program)
}

/// Builds one that counts what it does, loads it, and merges the counts.
fn watch(seen: &Path, merge: &str, profile: &Path) -> Outcome {
    let watched = build(
        &flag("-Cprofile-generate=", seen),
        "release, counts what it does",
    )?;
    if seen.exists() {
        std::fs::remove_dir_all(seen).map_err(|error| format!("{}: {error}", seen.display()))?;
    }
    tools::offer(tools::H2LOAD);
    Invocation::cargo(&["run", "--release", "--package", "bench", "--", "train"])
        .env("MACRONODE_BIN", watched.to_string_lossy())
        .env(
            "LLVM_PROFILE_FILE",
            seen.join("%p.profraw").to_string_lossy(),
        )
        .run()?;
    let counts = std::fs::read_dir(seen).map_err(|error| format!("nothing was seen: {error}"))?;
    let counts = counts
        .flatten()
        .map(|count| count.path().to_string_lossy().into_owned());
    Invocation::new(
        merge,
        &["merge", "--sparse", "-o", &profile.to_string_lossy()],
    )
    .args(counts)
    .run()
}

/// Named for this machine, so that cargo gives the flag to the program alone and not to what builds it.
fn build(flag: &str, name: &str) -> Result<PathBuf, String> {
    let (host, folder) = (host()?, workspace::target().join("training"));
    let build = [
        "build",
        "--release",
        "--package",
        "macronode",
        "--target",
        &host,
    ];
    Invocation::cargo(&build)
        .args(["--target-dir", &folder.to_string_lossy()])
        .env("CARGO_ENCODED_RUSTFLAGS", flag)
        .env("MACRONODE_BUILD", name)
        .run()?;
    Ok(folder.join(host).join("release/macronode"))
}

fn flag(name: &str, path: &Path) -> String {
    format!("{name}{}", path.display())
}

/// What merges the counts: of the compiler's own LLVM, or nobody else can read them.
fn merger() -> Result<String, String> {
    let version = compiler("LLVM version: ")?;
    let major = version.split('.').next().unwrap_or(&version).to_owned();
    let named = format!("llvm-profdata-{major}");
    if let Some(own) = of_the_toolchain() {
        return Ok(own);
    }
    if !tools::present(&named) {
        println!("`{named}` is missing; installing");
        tools::install_packages(&[&format!("llvm-{major}")]).map_err(|reason| {
            format!("training needs `{named}`: rustup component add llvm-tools, or {reason}")
        })?;
    }
    Ok(named)
}

fn of_the_toolchain() -> Option<String> {
    let root = Invocation::new("rustc", &["--print", "sysroot"]).probe()?;
    let library = Path::new(&root).join("lib/rustlib").join(host().ok()?);
    let program = library.join("bin/llvm-profdata");
    program
        .is_file()
        .then(|| program.to_string_lossy().into_owned())
}

fn host() -> Result<String, String> {
    compiler("host: ")
}

/// What the compiler says of itself under this name.
fn compiler(name: &str) -> Result<String, String> {
    let said = Invocation::new("rustc", &["-vV"])
        .probe()
        .unwrap_or_default();
    let line = said.lines().find_map(|line| line.strip_prefix(name));
    line.map(str::to_owned)
        .ok_or_else(|| format!("`rustc -vV` does not say `{name}`"))
}

/// Of all that the program is made of.
fn fingerprint(sources: &[workspace::Source], host: &str) -> String {
    let mut hasher = DefaultHasher::new();
    host.hash(&mut hasher);
    for source in sources.iter().filter(|source| is_part(&source.path)) {
        (&source.path, &source.text).hash(&mut hasher);
    }
    format!("{:016x}\n", hasher.finish())
}

fn is_part(path: &str) -> bool {
    let is_code = path.starts_with("crates/") && !BESIDE.iter().any(|dir| path.starts_with(dir));
    is_code || ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"].contains(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> workspace::Source {
        let (path, text) = (path.to_owned(), text.to_owned());
        workspace::Source { path, text }
    }

    #[test]
    fn a_program_is_current_until_something_it_is_made_of_changes() {
        let of = |sources: &[workspace::Source]| fingerprint(sources, "here");
        let before = [
            source("crates/kernel/src/lib.rs", "a"),
            source("README.md", "a"),
        ];
        let told = [
            source("crates/kernel/src/lib.rs", "a"),
            source("README.md", "b"),
        ];
        let changed = [
            source("crates/kernel/src/lib.rs", "b"),
            source("README.md", "a"),
        ];
        let locked = [
            source("Cargo.lock", "a"),
            source("crates/kernel/src/lib.rs", "a"),
        ];
        assert_eq!(of(&before), of(&told));
        assert_ne!(of(&before), of(&changed));
        assert_ne!(of(&before), of(&locked));
        assert_ne!(of(&before), fingerprint(&before, "elsewhere"));
        assert!(!is_part("crates/bench/src/lib.rs") && is_part("crates/svc-edge/Cargo.toml"));
    }

    #[test]
    fn the_compiler_says_what_it_is_made_of() {
        assert!(host().unwrap().contains("linux"));
        assert!(
            compiler("LLVM version: ")
                .unwrap()
                .split('.')
                .next()
                .unwrap()
                .parse::<u32>()
                .is_ok()
        );
        assert!(compiler("nothing: ").unwrap_err().contains("nothing"));
    }
}
