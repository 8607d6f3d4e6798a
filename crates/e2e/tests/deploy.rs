//! What runs the node elsewhere: container file, units and manifests say what the binary does.

use std::path::{Path, PathBuf};

use e2e::command::{Ran, macronode, ran};
use e2e::{START, binary, runtime};
use serde_json::Value;
use testkit::http;
use testkit::process::{Process, Program};
use testkit::upstream::Upstream;

const TOKEN: &str = "MACRONODE__ADMIN__TOKEN";
/// What the end of support and admin may take beyond the drain itself, generously.
const LAST_STEPS_S: u64 = 3;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn manifest(name: &str) -> Value {
    let text = read(&format!("deploy/kubernetes/{name}.yaml"));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn config() -> String {
    read("deploy/macronode.toml")
}

/// What the config in force says, as the node reads it.
fn setting(key: &str) -> u64 {
    let path = root().join("deploy/macronode.toml");
    let mut print = macronode(["config", "print", "--config"]);
    let said = ran(print.arg(path).env(TOKEN, "a-token-for-the-test"));
    assert_eq!(said.code, Some(0), "{said:?}");
    let line = said
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{key} = ")));
    line.and_then(|value| value.parse().ok())
        .unwrap_or_else(|| panic!("no {key} in {}", said.stdout))
}

/// The whole time a drain may take, in seconds.
fn drain_s() -> u64 {
    (setting("deadline_ms") + setting("accept_grace_ms")).div_ceil(1000) + LAST_STEPS_S
}

/// A command line that the node understands, and whose config it looks for where it says.
fn assert_understood(args: &[&str]) {
    let at = args
        .iter()
        .position(|arg| *arg == "--config")
        .expect("a config");
    assert_eq!(args[at + 1], "/etc/macronode/macronode.toml");
    let mut args = args.to_vec();
    args[at + 1] = "/nowhere/macronode.toml";
    let Ran { code, stderr, .. } = ran(&mut macronode(&args));
    assert_eq!(code, Some(3), "only its config is missing: {stderr}");
}

/// A node with this config, on free ports, its admin server open to the network.
async fn node() -> (Upstream, Process) {
    let upstream = Upstream::start().await.expect("a free port");
    let to = format!("gateway.to=http://{}", upstream.addr());
    let sets = [
        "admin.listen=0.0.0.0:0",
        "gateway.listen=[\"127.0.0.1:0\"]",
        "overlay.listen=[\"127.0.0.1:0\"]",
        &to,
    ];
    let program = Program::new(binary()).expect("a temporary directory");
    let program = program.args(["run", "--runtime", &runtime()]);
    let program = program.args(sets.iter().flat_map(|set| ["--set", set]));
    let program = program.env(TOKEN, "a-token-for-the-test");
    let program = program.config(&config()).expect("a writable file");
    let process = program.start().expect("the binary starts");
    process.wait_ready(START).await.expect("a ready node");
    (upstream, process)
}

fn strings(value: &Value) -> Vec<&str> {
    let list = value.as_array().expect("a list").iter();
    list.map(|one| one.as_str().expect("text")).collect()
}

// req: ND-01
#[test]
fn the_config_is_valid_where_a_token_is_given_and_the_config_map_is_a_copy() {
    let path = root().join("deploy/macronode.toml");
    let with = |token: Option<&str>| {
        let mut check = macronode(["check", "--config"]);
        check.arg(&path).envs(token.map(|token| (TOKEN, token)));
        ran(&mut check).code
    };
    assert_eq!(with(Some("a-token-for-the-test")), Some(0));
    assert_eq!(with(None), Some(3), "open to the network without one");
    let map = manifest("configmap");
    assert_eq!(map["data"]["macronode.toml"].as_str(), Some(&*config()));
}

// req: ND-01, KN-09
#[test]
fn the_deployment_waits_longer_than_a_drain_takes() {
    let pod = &manifest("deployment")["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
        .as_u64()
        .unwrap();
    let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(
        pause + drain_s() < grace,
        "{pause} + {} < {grace}",
        drain_s()
    );
    assert_understood(&strings(&container["args"]));
}

// req: ND-01
#[test]
fn nothing_in_the_pod_may_become_root_or_write() {
    let pod = &manifest("deployment")["spec"]["template"]["spec"];
    let (whole, own) = (
        &pod["securityContext"],
        &pod["containers"][0]["securityContext"],
    );
    assert_eq!(whole["runAsNonRoot"], true);
    assert!(whole["runAsUser"].as_u64() > Some(0));
    assert_eq!(whole["seccompProfile"]["type"], "RuntimeDefault");
    assert_eq!(own["readOnlyRootFilesystem"], true);
    assert_eq!(own["allowPrivilegeEscalation"], false);
    assert_eq!(strings(&own["capabilities"]["drop"]), ["ALL"]);
    let mounts = pod["containers"][0]["volumeMounts"].as_array().unwrap();
    assert!(mounts.iter().all(|mount| mount["readOnly"] == true));
}

// req: ND-01, KN-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_answers_every_probe_without_a_token() {
    let deployment = manifest("deployment");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let (_upstream, process) = node().await;
    let admin = process.addr("admin", START).await.unwrap();
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let asked = &container[probe]["httpGet"];
        assert_eq!(asked["port"], "admin", "{probe}");
        let path = asked["path"].as_str().unwrap();
        assert_eq!(http::get(admin, path).await.unwrap().status, 200, "{probe}");
    }
    let scraped = &deployment["spec"]["template"]["metadata"]["annotations"];
    let path = scraped["prometheus.io/path"].as_str().unwrap();
    assert_eq!(
        http::get(admin, path).await.unwrap().status,
        401,
        "a token is needed"
    );
    let bearer = [("authorization", "Bearer a-token-for-the-test")];
    let request = http::request_bytes("GET", "node", path, &bearer, b"");
    let page = http::exchange(admin, &request, START).await.unwrap();
    assert_eq!(page.status, 200);
}

// req: ND-01
#[test]
fn the_ports_of_all_manifests_are_those_of_the_config() {
    let deployment = manifest("deployment");
    let pod = &deployment["spec"]["template"];
    let container = &pod["spec"]["containers"][0];
    let ports = container["ports"].as_array().unwrap();
    let port = |name: &str| {
        let found = ports.iter().find(|port| port["name"] == name);
        found
            .and_then(|port| port["containerPort"].as_u64())
            .unwrap()
    };
    for (name, line) in [
        ("http", "listen = [\"0.0.0.0:"),
        ("admin", "listen = \"0.0.0.0:"),
    ] {
        let expected = format!("{line}{}\"", port(name));
        assert!(config().contains(&expected), "{expected}");
    }
    let scraped = &pod["metadata"]["annotations"]["prometheus.io/port"];
    assert_eq!(scraped.as_str(), Some(&*port("admin").to_string()));
    let service = manifest("service");
    let target = &service["spec"]["ports"][0]["targetPort"];
    assert!(ports.iter().any(|port| port["name"] == *target));
    let policy = manifest("networkpolicy");
    let rules = policy["spec"]["ingress"].as_array().unwrap();
    let open: Vec<_> = rules
        .iter()
        .map(|rule| rule["ports"][0]["port"].as_u64())
        .collect();
    assert_eq!(open, [Some(port("http")), Some(port("admin"))]);
    assert!(rules[0]["from"].is_null() && rules[1]["from"].is_array());
    let labels = &pod["metadata"]["labels"];
    for (kind, chosen) in [
        ("Deployment", &deployment["spec"]["selector"]["matchLabels"]),
        ("Service", &service["spec"]["selector"]),
        (
            "NetworkPolicy",
            &policy["spec"]["podSelector"]["matchLabels"],
        ),
        (
            "PodDisruptionBudget",
            &manifest("pdb")["spec"]["selector"]["matchLabels"],
        ),
    ] {
        assert_eq!(chosen, labels, "{kind} chooses other pods");
    }
    assert!(
        manifest("pdb")["spec"]["minAvailable"].as_u64() < deployment["spec"]["replicas"].as_u64()
    );
}

/// The values of a key of a unit, and the arguments of a command in it.
fn unit(name: &str, key: &str) -> Vec<String> {
    let text = read(&format!("deploy/systemd/{name}"));
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines
        .filter(|(name, _)| *name == key)
        .map(|(_, value)| value.to_owned())
        .collect()
}

// req: ND-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_unit_starts_notifies_and_waits_as_the_node_does() {
    let command = unit("macronode.service", "ExecStart").remove(0);
    let args: Vec<_> = command.split(' ').skip(1).collect();
    assert_understood(&args);
    assert_eq!(unit("macronode.service", "Type"), ["notify"]);
    let stop: u64 = unit("macronode.service", "TimeoutStopSec")[0]
        .parse()
        .unwrap();
    assert!(drain_s() < stop, "{} < {stop}", drain_s());
    let (_upstream, process) = node().await;
    let doors = process.announced(START).await.unwrap();
    let named = unit("macronode.socket", "FileDescriptorName").remove(0);
    assert!(doors.contains_key(&*named), "{named} is no door: {doors:?}");
    assert!(process.signal(libc::SIGHUP).unwrap(), "ExecReload");
}

// req: ND-01
#[test]
fn systemd_understands_the_units_where_it_is_installed() {
    if std::process::Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        println!("systemd-analyze is not installed; the units were read by our own checks only");
        return;
    }
    let here = tempfile::tempdir().unwrap();
    let mut verify = std::process::Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]);
    for name in ["macronode.service", "macronode.socket"] {
        let text = read(&format!("deploy/systemd/{name}"));
        let text = text.replace(
            "/usr/bin/macronode",
            binary().canonicalize().unwrap().to_str().unwrap(),
        );
        std::fs::write(here.path().join(name), text).unwrap();
        verify.arg(here.path().join(name));
    }
    let said = ran(&mut verify);
    assert_eq!(said.code, Some(0), "{said:?}");
    let ours = said.printed();
    let ours: Vec<_> = ours
        .lines()
        .filter(|line| line.contains("macronode"))
        .collect();
    assert!(ours.is_empty(), "{ours:#?}");
}

/// The lines of the container file that begin with this word, continued ones joined.
fn instructions(word: &str) -> Vec<String> {
    let text = read("deploy/Containerfile").replace("\\\n", "");
    let lines = text.lines().filter_map(|line| line.strip_prefix(word));
    lines.map(|rest| rest.trim().to_owned()).collect()
}

// req: ND-01
#[test]
fn the_container_is_built_from_what_is_here_and_runs_what_the_node_understands() {
    let copies = instructions("COPY ");
    let own = copies.iter().filter(|copy| !copy.starts_with("--from="));
    let mut seen = 0;
    for copy in own {
        let words: Vec<_> = copy.split_whitespace().collect();
        for source in &words[..words.len() - 1] {
            assert!(root().join(source).exists(), "{source} is not here");
            seen += 1;
        }
    }
    assert!(seen >= 5, "{seen} sources");
    let user = instructions("USER ").remove(0);
    assert!(
        !user.starts_with("0") && !user.starts_with("root"),
        "{user}"
    );
    let entry: Value = serde_json::from_str(&instructions("ENTRYPOINT ")[0]).unwrap();
    let installed = format!(" {}", strings(&entry)[0]);
    assert!(
        copies.iter().any(|copy| copy.ends_with(&installed)),
        "{entry} is copied"
    );
    let command: Value = serde_json::from_str(&instructions("CMD ")[0]).unwrap();
    assert_understood(&strings(&command));
    for port in instructions("EXPOSE ")[0].split_whitespace() {
        assert!(config().contains(&format!("0.0.0.0:{port}")), "{port}");
    }
    let toolchain = read("rust-toolchain.toml");
    let image = instructions("FROM rust:").remove(0);
    let version = image.split('-').next().unwrap();
    assert!(
        toolchain.contains(version),
        "{version} is not the toolchain's"
    );
}

// req: ND-01
#[test]
fn the_container_copies_only_what_its_build_has_made_and_runs_as_the_pod_does() {
    let made = instructions("RUN ").concat();
    let copies = instructions("COPY --from=build ");
    let sources: Vec<_> = copies
        .iter()
        .filter_map(|copy| copy.split_whitespace().next())
        .collect();
    assert_eq!(sources.len(), 2, "{copies:?}");
    for source in sources {
        let by = match source {
            "/etc/ssl/certs/ca-certificates.crt" => " ca-certificates ",
            built => &format!(" {built}"),
        };
        assert!(made.contains(by), "nothing in the build makes {source}");
    }
    let deployment = manifest("deployment");
    let user = &deployment["spec"]["template"]["spec"]["securityContext"]["runAsUser"];
    assert_eq!(instructions("USER ")[0], format!("{user}:{user}"));
    assert_eq!(instructions("STOPSIGNAL "), ["SIGTERM"]);
}

// req: ND-01
#[test]
fn the_node_is_built_from_what_the_container_copies() {
    let copies = instructions("COPY ");
    let own = copies.iter().filter(|copy| !copy.starts_with("--from="));
    // The last word is where they go.
    let sources = own.flat_map(|copy| copy.split_whitespace().rev().skip(1));
    let copied: Vec<_> = sources
        .map(|source| root().join(source).canonicalize().expect("it is here"))
        .collect();
    let workspace = read("Cargo.toml");
    assert!(workspace.contains("members = [\"crates/*\", \"xtask\"]"));
    let mut read = 0;
    for file in shipped_sources() {
        let text = std::fs::read_to_string(&file).unwrap();
        let beside = file.parent().expect("a file is in a directory");
        for name in named_files(&text) {
            let named = beside.join(name).canonicalize().expect("it is there");
            assert!(
                copied.iter().any(|place| named.starts_with(place)),
                "{} reads {name}",
                file.display()
            );
            read += 1;
        }
    }
    assert!(read >= 3, "{read} files are read while the node is built");
}

/// The files that the compiler reads for this one.
fn named_files(source: &str) -> Vec<&str> {
    let openings = ["include_str!(\"", "include_bytes!(\"", "#[path = \""];
    let after = openings
        .into_iter()
        .flat_map(|opening| source.split(opening).skip(1));
    after.filter_map(|rest| rest.split('"').next()).collect()
}

/// Every source of every crate; tests beside `src` are not built.
fn shipped_sources() -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let listed = std::fs::read_dir(folder).into_iter().flatten();
        listed
            .map(|entry| entry.expect("it can be listed").path())
            .collect()
    };
    let crates = entries(&root().join("crates")).into_iter();
    let mut folders: Vec<_> = crates.map(|folder| folder.join("src")).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            match path.extension() {
                None => folders.push(path),
                Some(extension) if extension == "rs" => files.push(path),
                Some(_) => {}
            }
        }
    }
    files
}

#[test]
fn the_binary_needs_nothing_but_the_c_library_beside_it() {
    let Ok(said) = std::process::Command::new("ldd").arg(binary()).output() else {
        println!("ldd is not installed; what the binary needs was not looked at");
        return;
    };
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let known = [
        "linux-vdso",
        "libc.so",
        "libm.so",
        "libgcc_s.so",
        "libpthread",
        "libdl",
        "librt",
        "ld-linux",
    ];
    for line in said.lines().filter(|line| !line.trim().is_empty()) {
        assert!(known.iter().any(|one| line.contains(one)), "{line}");
    }
}
