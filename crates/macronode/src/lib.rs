//! One command line, one node. A library only so that the node can also be run where its time and its network are not
//! real.

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use cli::{Cli, Command};
use exit::Exit;

mod amnesia;
mod bridge;
#[cfg(feature = "chaos")]
mod chaos;
mod cli;
mod client;
mod compose;
mod config;
mod credentials;
mod demo;
mod doctor;
mod doors;
mod exit;
mod files;
mod footprint;
mod framed;
mod handover;
mod heap;
mod inspect;
mod monitoring;
mod operate;
mod overlay;
mod pack;
mod reference;
mod reporter;
mod run;
#[cfg(feature = "simulation")]
pub mod simulation;
mod systemd;
mod table;
mod top;
mod tree;

pub use heap::Heap;

/// The version of this build.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What kind of build this is: as whoever built it calls it, or by how it was built.
pub(crate) const BUILD: &str = match option_env!("MACRONODE_BUILD") {
    Some(name) => name,
    None if cfg!(feature = "chaos") => "with chaos hooks, for tests only",
    None if cfg!(debug_assertions) => "debug",
    None => "release",
};

/// Does what the command line asks for.
pub fn main() -> ExitCode {
    footprint::take_small_pages();
    let cli = Cli::parse();
    if !matches!(
        cli.command,
        Command::Run(_)
            | Command::Proxy(_)
            | Command::Tiles(_)
            | Command::Drain(_)
            | Command::Reload(_)
    ) {
        end_with_the_reader();
        end_without_room();
    }
    // Tiles and frames by the million, and no secret among them.
    if matches!(cli.command, Command::Pack(_) | Command::Oap(_)) {
        heap::wipe_what_is_freed(false);
    }
    let exit = match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Proxy(args) => run::run(&args.run()),
        Command::Tiles(args) => match args.run() {
            Ok(run) => run::run(&run),
            Err(why) => {
                eprintln!("error: {why}");
                Exit::Usage
            }
        },
        Command::Check(args) => inspect::check(args),
        Command::Config(command) => inspect::config(command),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Status(args) => operate::status(args),
        Command::Top(args) => top::top(args),
        Command::Drain(args) => operate::drain(args),
        Command::Reload(args) => operate::reload(args),
        Command::Key(command) => credentials::key(command),
        Command::Passport(command) => credentials::passport(command),
        Command::Pack(command) => pack::pack(command),
        Command::Oap(command) => framed::oap(command),
        Command::Version { json } => version(*json),
        Command::Completions { shell } => {
            clap_complete::generate(
                *shell,
                &mut Cli::command(),
                "macronode",
                &mut std::io::stdout(),
            );
            Exit::Ok
        }
        Command::Reference { directory } => reference::write(directory),
        Command::Monitoring { directory } => monitoring::write(directory),
    };
    exit.into()
}

/// Who reads the output may have enough (`| head`): then the command ends, quietly. What acts on a node goes on.
fn end_with_the_reader() {
    // SAFETY: no thread runs yet; the default disposition calls no code of ours.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// What a command says may have no room (a full disk): then it says so, and ends as documented.
fn end_without_room() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload_as_str().unwrap_or_default();
        if let Some(why) = said.strip_prefix("failed printing to stdout: ") {
            eprintln!("error: standard output cannot be written: {why}");
            std::process::exit(i32::from(Exit::Internal.code()));
        }
        before(panic);
    }));
}

fn version(json: bool) -> Exit {
    match json {
        true => println!(
            "{}",
            serde_json::json!({ "version": VERSION, "build": BUILD })
        ),
        false => println!("macronode {VERSION} ({BUILD})"),
    }
    Exit::Ok
}
