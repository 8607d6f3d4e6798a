//! `release`: the program to deploy. Built once so that it can be watched, watched under the lab's loads, and built
//! again by what was seen: what runs often lies together, which is a sixth of the processor time of a request.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::args::Args;
use crate::shell::Invocation;
use crate::tools;
use crate::workspace;

/// Crates that are no part of the program. What it is trained with decides how it is laid out, not what it does.
const BESIDE: [&str; 3] = ["crates/bench/", "crates/e2e/", "crates/testkit/"];
/// What is part of it beside the crates.
const ABOUT_IT: [&str; 5] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    ".cargo/config.toml",
    "xtask/src/release.rs",
];

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
    let sources = sources()?;
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
    // Whoever runs the old one keeps it; who looks meanwhile finds none that is current.
    let fresh = folder.join("macronode.new");
    std::fs::copy(built, &fresh).map_err(odd)?;
    if stamp.exists() {
        std::fs::remove_file(&stamp).map_err(odd)?;
    }
    std::fs::rename(fresh, &program).map_err(odd)?;
    if self::sources()? == sources {
        std::fs::write(stamp, sources).map_err(odd)?;
    } else {
        println!("something changed meanwhile: the next time it is made anew");
    }
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
        .env("BENCH_UNMEASURED", "1")
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
        .env("CARGO_ENCODED_RUSTFLAGS", flags_with(flag))
        .env("MACRONODE_BUILD", name)
        .run()?;
    Ok(folder.join(host).join("release/macronode"))
}

/// Behind those that whoever runs this has set, as cargo takes them.
fn flags_with(flag: &str) -> String {
    let encoded = std::env::var("CARGO_ENCODED_RUSTFLAGS").ok();
    let flags = encoded.or_else(|| {
        let plain = std::env::var("RUSTFLAGS").ok()?;
        Some(plain.split_whitespace().collect::<Vec<_>>().join("\x1f"))
    });
    let flags = flags.filter(|flags| !flags.is_empty());
    flags.map_or_else(|| flag.to_owned(), |flags| format!("{flags}\x1f{flag}"))
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

/// The fingerprint of all that the program is made of, and by.
fn sources() -> Result<String, String> {
    let compiler = Invocation::new("rustc", &["-vV"]).probe();
    let by = (compiler, flags_with(""));
    let files = workspace::files()?.into_iter().filter(|path| is_part(path));
    let whole = |path: String| {
        let bytes = std::fs::read(workspace::root().join(&path)).unwrap_or_default();
        (path, bytes)
    };
    let files: Vec<(String, Vec<u8>)> = files.map(whole).collect();
    Ok(fingerprint(&files, &by))
}

fn fingerprint(files: &[(String, Vec<u8>)], by: &impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    (files, by).hash(&mut hasher);
    format!("{:016x}\n", hasher.finish())
}

fn is_part(path: &str) -> bool {
    let is_code = path.starts_with("crates/") && !BESIDE.iter().any(|dir| path.starts_with(dir));
    is_code || ABOUT_IT.contains(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_current_until_something_it_is_made_of_changes() {
        let of = |bytes: &[u8], by: &str| {
            let file = (
                "crates/svc-edge/demo/world.pmtiles".to_owned(),
                bytes.to_vec(),
            );
            fingerprint(&[file], &by)
        };
        assert_eq!(of(b"\xff", "1.95"), of(b"\xff", "1.95"));
        assert_ne!(of(b"\xff", "1.95"), of(b"\xfe", "1.95"));
        assert_ne!(of(b"\xff", "1.95"), of(b"\xff", "1.96"));
        for part in [
            "crates/svc-edge/Cargo.toml",
            "crates/kernel/src/lib.rs",
            "Cargo.lock",
        ] {
            assert!(is_part(part), "{part}");
        }
        assert!(!is_part("crates/bench/src/lib.rs") && !is_part("README.md"));
        assert_eq!(sources(), sources());
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
