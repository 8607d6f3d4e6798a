//! Lists the files of the preview page, so that the edge builds with them and without.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// What the page is made of, by the name it is asked for, and its file.
const FILES: [(&str, &str); 6] = [
    ("index.html", "index.html"),
    ("app.js", "app.js.gz"),
    ("worker.js", "worker.js.gz"),
    ("app.css", "app.css"),
    ("icon.svg", "icon.svg"),
    ("licences.txt", "licences.txt"),
];

fn main() {
    let home = env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is");
    let dist = Path::new(&home).join("preview/dist");
    let mut list = String::from("[\n");
    for (name, file) in FILES {
        let path = dist.join(file);
        if path.is_file() {
            let coded = file.ends_with(".gz");
            writeln!(list, "    ({name:?}, {coded}, include_bytes!({path:?})),")
                .expect("writing to a String does not fail");
        }
    }
    list.push(']');
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    fs::write(Path::new(&out).join("preview.rs"), list).expect("the directory can be written to");
    println!("cargo::rerun-if-changed=preview/dist");
    println!("cargo::rerun-if-changed=build.rs");
}
