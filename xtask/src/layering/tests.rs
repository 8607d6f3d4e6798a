use super::{Edge, LAYERS, crate_faults, edges, faults};
use crate::workspace::Source;

fn ours() -> Vec<String> {
    LAYERS.iter().map(|layer| layer.name.to_owned()).collect()
}

fn edge(to: &str, in_tests: bool) -> Edge {
    Edge {
        to: to.to_owned(),
        in_tests,
    }
}

#[test]
fn every_way_to_write_a_dependency_is_seen() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\nkernel.workspace = true\n# e2e = \"1\"\n\
        [dev-dependencies]\ntestkit = { workspace = true }\n\
        [target.'cfg(unix)'.dependencies]\nring = { package = \"bounded-ring\", version = \"1\" }\n\
        [build-dependencies.macronode]\npath = \"../macronode\"\n[features]\nchaos = [\"kernel/chaos\"]\n";
    let expected = [
        edge("kernel", false),
        edge("testkit", true),
        edge("bounded-ring", false),
        edge("macronode", false),
    ];
    assert_eq!(edges(manifest), expected);
}

#[test]
fn an_arrow_up_is_refused_by_name() {
    let up = "[dependencies]\nmacronode.workspace = true\n";
    assert_eq!(
        crate_faults("kernel", up, &ours()),
        ["kernel may not depend on macronode"]
    );
    let peer = "[dependencies]\nkernel.workspace = true\n";
    assert_eq!(
        crate_faults("testkit", peer, &ours()),
        ["testkit may not depend on kernel"]
    );
    assert_eq!(
        crate_faults("bounded-ring", peer, &ours()),
        ["bounded-ring may not depend on kernel"]
    );
}

#[test]
fn testkit_is_for_tests_of_the_kernel_only() {
    let dev = "[dev-dependencies]\ntestkit.workspace = true\n";
    assert!(crate_faults("kernel", dev, &ours()).is_empty());
    let normal = "[dependencies]\ntestkit.workspace = true\n";
    assert_eq!(
        crate_faults("kernel", normal, &ours()),
        ["kernel may not depend on testkit"]
    );
}

#[test]
fn what_is_not_ours_is_not_judged_here() {
    assert!(
        crate_faults(
            "bounded-ring",
            "[dependencies]\nloom.workspace = true\n",
            &ours()
        )
        .is_empty()
    );
}

#[test]
fn a_crate_without_a_row_is_refused() {
    let source = Source {
        path: "crates/new/Cargo.toml".to_owned(),
        text: "[package]\nname = \"new\"\n".to_owned(),
    };
    assert!(faults(&[source])[0].contains("new has no row"));
}

#[test]
fn the_table_itself_points_down_only() {
    for (at, layer) in LAYERS.iter().enumerate() {
        for below in layer.below.iter().chain(layer.below_in_tests) {
            let place = LAYERS
                .iter()
                .position(|other| other.name == *below)
                .expect("a row for what is below");
            assert!(place < at, "{} stands above {below}", layer.name);
        }
    }
}
