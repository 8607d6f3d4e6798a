use std::path::PathBuf;

use kernel::Kernel;
use rcgen::generate_simple_self_signed;
use svc_edge::Edge;
use svc_gateway::Gateway;
use svc_transport::Transport;

use super::*;
use crate::bridge;

/// Where the examples keep their files.
const HOME: &str = "/etc/macronode";
/// Where the examples keep what they write.
const STATE: &str = "/var/lib/macronode";

fn documents() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The examples by name.
fn examples() -> Vec<(String, String)> {
    let files = std::fs::read_dir(documents().join("examples")).unwrap();
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        (name, std::fs::read_to_string(file.path()).unwrap())
    };
    files.map(read).collect()
}

/// A machine with the files that the examples name.
fn machine() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("tls")).unwrap();
    let write = |name: &str, pem: String| {
        std::fs::write(home.path().join("tls").join(name), pem).unwrap();
    };
    for (file, host) in [
        ("api", "api.example.com"),
        ("internal", "internal.example.com"),
        ("clients-ca", "Clients of Example"),
    ] {
        let made = generate_simple_self_signed(vec![host.to_owned()]).unwrap();
        write(&format!("{file}.pem"), made.cert.pem());
        write(&format!("{file}.key"), made.signing_key.serialize_pem());
    }
    home
}

fn loaded(text: &str, home: &Path) -> Result<Loaded<NodeText>, Mistakes> {
    let path = home.join("node.toml");
    let text = text.replace(HOME, home.to_str().unwrap());
    let text = text.replace(STATE, home.to_str().unwrap());
    std::fs::write(&path, text).unwrap();
    load_config(&ConfigArgs {
        config: Some(path),
        ..ConfigArgs::default()
    })
}

// req: KN-13
#[tokio::test]
async fn every_example_is_valid_and_makes_what_it_is_of() {
    let home = machine();
    let examples = examples();
    assert!(examples.len() >= 8);
    for (name, text) in examples {
        let loaded = loaded(&text, home.path());
        let loaded = loaded.unwrap_or_else(|mistakes| panic!("{name}: {mistakes}"));
        let (kernel, _publisher) = Kernel::new();
        let (gateway, edge) = (&loaded.text.gateway, &loaded.text.edge);
        if let Some(transport) = &loaded.text.transport {
            let made = Transport::new(&kernel, transport, bridge::services(transport, None));
            assert!(made.is_ok(), "{name}: {:?}", made.err());
        }
        assert!(gateway.is_some() || edge.is_some(), "{name}");
        if let Some(gateway) = gateway {
            let made = Gateway::new(&kernel, gateway);
            assert!(made.is_ok(), "{name}: {:?}", made.err());
        }
        if let Some(edge) = edge {
            let made = Edge::new(&kernel, edge, 1024);
            assert!(made.is_ok(), "{name}: {:?}", made.err());
        }
    }
}

// req: KN-13
#[test]
fn an_example_on_a_machine_without_its_files_is_refused() {
    let bare = tempfile::tempdir().unwrap();
    let needy = examples()
        .into_iter()
        .filter(|(_, text)| text.contains(HOME) && text.contains("tls"));
    let refused: Vec<_> = needy
        .map(|(name, text)| (name, loaded(&text, bare.path()).err()))
        .collect();
    assert!(refused.len() >= 2);
    for (name, mistakes) in refused {
        let mistakes = mistakes.unwrap_or_else(|| panic!("{name} is accepted"));
        assert!(mistakes.to_string().contains("tls"), "{name}: {mistakes}");
    }
}

#[test]
fn every_example_is_on_a_page() {
    let page = |name: &str| std::fs::read_to_string(documents().join(name)).unwrap();
    let pages = ["gateway.md", "edge.md", "transport.md", "operations.md"];
    let pages = pages.map(page).concat();
    for (name, _) in examples() {
        assert!(pages.contains(&format!("(examples/{name})")), "{name}");
    }
}
