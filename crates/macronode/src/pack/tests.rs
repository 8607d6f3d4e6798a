use std::path::PathBuf;

use clap::Parser;

use super::*;
use crate::cli::{Cli, Command};

fn data(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tile-pack/tests/data");
    data.join(name).to_string_lossy().into_owned()
}

fn command(args: &[&str]) -> Result<PackCommand, clap::Error> {
    let line = ["macronode", "pack"].iter().chain(args);
    match Cli::try_parse_from(line)?.command {
        Command::Pack(command) => Ok(command),
        other => panic!("{other:?}"),
    }
}

fn run(args: &[&str]) -> Result<String, Refused> {
    match command(args).unwrap() {
        PackCommand::Inspect(args) => inspect(&args.files[0], &args),
        PackCommand::Verify(args) => verify(&args.files[0], &args),
        PackCommand::Convert(args) => convert(&args),
        PackCommand::Extract(args) => extract(&args),
    }
}

fn place(name: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    (directory, path)
}

// req: ED-01
#[test]
fn a_page_says_what_the_pack_says() {
    let page = run(&["inspect", &data("firenze.pmtiles")]).unwrap();
    for said in [
        "format  PMTiles",
        "tiles   mvt, gzip",
        "zooms   0 to 14",
        "16 tiles",
        "earth",
    ] {
        assert!(page.contains(said), "{said} is missing in\n{page}");
    }
    let facts = run(&["inspect", "--json", "--hash", &data("firenze.pmtiles")]).unwrap();
    let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    assert_eq!(facts["addressed_tiles"], 16);
    assert_eq!(facts["hash"].as_str().map(str::len), Some(64));
}

// req: ED-01
#[test]
fn a_whole_pack_verifies_and_a_cut_one_is_refused() {
    let said = run(&["verify", &data("leaf.pmtiles")]).unwrap();
    assert!(said.contains("is whole: 5 tiles"), "{said}");
    let (_directory, cut) = place("cut.pmtiles");
    let whole = std::fs::read(data("leaf.pmtiles")).unwrap();
    std::fs::write(&cut, &whole[..whole.len() - 1]).unwrap();
    let (exit, why) = run(&["verify", cut.to_str().unwrap()]).unwrap_err();
    assert_eq!(exit, Exit::Refused);
    assert!(
        why.contains("in the header at byte 0") && why.contains("fetch or make it again"),
        "{why}"
    );
}

// req: ED-01
#[test]
fn there_and_back_again_nothing_is_lost() {
    let (directory, database) = place("there.mbtiles");
    let said = run(&[
        "convert",
        &data("firenze.pmtiles"),
        database.to_str().unwrap(),
    ])
    .unwrap();
    assert!(said.contains("16 tiles"), "{said}");
    let back = directory.path().join("back.pmtiles");
    run(&[
        "convert",
        database.to_str().unwrap(),
        back.to_str().unwrap(),
    ])
    .unwrap();
    let json = run(&["verify", "--json", back.to_str().unwrap()]).unwrap();
    let verified: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(verified["tiles"], 16);
}

#[test]
fn an_extract_has_what_was_asked_for() {
    let (_directory, part) = place("part.pmtiles");
    let path = part.to_str().unwrap();
    let args = [
        "extract",
        &data("stamen_toner.pmtiles"),
        path,
        "--bbox",
        "-170,10,-10,60",
        "--min-zoom",
        "1",
    ];
    let said = run(&args).unwrap();
    assert!(said.contains(": 1 tiles"), "{said}");
    let facts = run(&["inspect", "--json", path]).unwrap();
    let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    assert_eq!(
        facts["bounds"],
        serde_json::json!([-170.0, 10.0, -10.0, 60.0])
    );
    assert_eq!(
        (&facts["min_zoom"], &facts["max_zoom"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn what_exists_is_replaced_only_by_force() {
    let (_directory, to) = place("to.pmtiles");
    std::fs::write(&to, "mine").unwrap();
    let path = to.to_str().unwrap();
    let (exit, why) = run(&["convert", &data("leaf.pmtiles"), path]).unwrap_err();
    assert_eq!(exit, Exit::Usage);
    assert!(why.contains("--force"), "{why}");
    assert_eq!(std::fs::read(&to).unwrap(), b"mine");
    run(&["convert", "--force", &data("leaf.pmtiles"), path]).unwrap();
    assert!(std::fs::read(&to).unwrap().starts_with(b"PMTiles"));
}

#[test]
fn nonsense_is_a_matter_of_usage() {
    let from = data("leaf.pmtiles");
    for args in [
        &["convert", &from, "to.zip"][..],
        &[
            "extract",
            &from,
            "to.pmtiles",
            "--min-zoom",
            "5",
            "--max-zoom",
            "4",
        ],
        &["extract", &from, "to.pmtiles", "--bbox", "0,50,10,40"],
    ] {
        assert_eq!(run(args).unwrap_err().0, Exit::Usage, "{args:?}");
    }
    assert!(command(&["extract", &from, "to.pmtiles", "--bbox", "1,2,3"]).is_err());
    assert!(command(&["inspect"]).is_err());
}

#[test]
fn a_part_without_tiles_is_not_written() {
    let (directory, to) = place("to.pmtiles");
    let args = [
        "extract",
        &data("leaf.pmtiles"),
        to.to_str().unwrap(),
        "--min-zoom",
        "9",
    ];
    let (exit, why) = run(&args).unwrap_err();
    assert_eq!(exit, Exit::Refused);
    assert!(why.contains("no tile to write"), "{why}");
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[test]
fn what_a_pack_says_does_not_steer_the_terminal() {
    let facts = json!({ "file": "a", "bytes": 1_500, "metadata": { "name": "\u{1b}[31mred" } });
    let page = page::page(&facts);
    assert!(
        page.contains("1.5 kB") && !page.contains('\u{1b}'),
        "{page}"
    );
}

#[test]
fn a_pack_that_is_not_there_is_refused_with_its_name() {
    let (exit, why) = run(&["inspect", "nowhere.pmtiles"]).unwrap_err();
    assert_eq!(exit, Exit::Refused);
    assert!(why.starts_with("nowhere.pmtiles: "), "{why}");
}
