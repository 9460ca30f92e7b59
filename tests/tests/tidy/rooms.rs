//! A crate is a permission: what each room's manifest lets it know.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use super::{assert_none, root};

/// The crates of this workspace that a room may name, in its manifest's every section.
const ROOMS: [(&str, &[&str]); 33] = [
    ("bitacora-formats", &[]),
    ("bitacora-vocabulary", &["formats"]),
    ("bitacora-archive-format", &["formats", "vocabulary"]),
    ("bitacora-http-guard", &[]),
    ("bitacora-shell", &[]),
    ("bitacora-harness", &["api"]),
    ("bitacora-otlp", &["formats", "vocabulary"]),
    ("bitacora-redaction", &["formats"]),
    ("bitacora-governance", &["formats", "vocabulary", "shell"]),
    ("bitacora-ledger", &["formats", "vocabulary", "governance", "redaction"]),
    ("bitacora-projector", &["api", "formats", "vocabulary", "ledger"]),
    ("bitacora-archiver", &["formats", "vocabulary", "archive-format", "ledger"]),
    ("bitacora-api", &["vocabulary"]),
    ("bitacora-console", &["api"]),
    (
        "bitacora-server",
        &[
            "api",
            "http-guard",
            "harness",
            "otlp",
            "formats",
            "vocabulary",
            "governance",
            "ledger",
            "projector",
            "archiver",
            "verify",
        ],
    ),
    ("bitacora-client", &["api", "formats", "vocabulary", "governance"]),
    ("bitacora-connect", &["formats", "api", "client", "harness", "redaction"]),
    ("bitacora-mcp", &["api", "client", "connect", "formats", "vocabulary"]),
    ("bitacora-demo", &["api", "client", "formats", "vocabulary", "governance"]),
    ("bitacora-verify", &["formats", "vocabulary", "archive-format"]),
    ("bitacora-import", &["formats", "vocabulary"]),
    ("bitacora-export", &["formats", "vocabulary"]),
    ("bitacora-watch", &["api", "client", "connect", "formats", "harness", "import", "redaction"]),
    ("bitacora-replay", &["formats", "vocabulary", "governance", "ledger"]),
    ("bitacora-report", &["api", "formats"]),
    ("bitacora-settings", &[]),
    (
        "bitacora-bench",
        &[
            "formats",
            "vocabulary",
            "archive-format",
            "governance",
            "ledger",
            "archiver",
            "server",
            "verify",
            "import",
        ],
    ),
    ("bitacora-data-folder", &["client", "verify", "formats", "vocabulary", "ledger", "archiver", "server"]),
    (
        "bitacora-command-kit",
        &[
            "api",
            "client",
            "verify",
            "import",
            "replay",
            "report",
            "data-folder",
            "formats",
            "vocabulary",
            "ledger",
            "archiver",
            "server",
        ],
    ),
    (
        "bitacora-custody-commands",
        &[
            "command-kit",
            "api",
            "client",
            "connect",
            "verify",
            "export",
            "data-folder",
            "formats",
            "vocabulary",
            "archive-format",
            "governance",
            "ledger",
            "archiver",
            "server",
        ],
    ),
    (
        "bitacora-cli",
        &[
            "command-kit",
            "custody-commands",
            "api",
            "client",
            "connect",
            "harness",
            "mcp",
            "verify",
            "import",
            "watch",
            "replay",
            "report",
            "bench",
            "data-folder",
            "demo",
            "formats",
            "vocabulary",
            "governance",
            "ledger",
            "server",
            "settings",
            "console",
        ],
    ),
    ("bitacora-testkit", &["formats"]),
    (
        "bitacora-tests",
        &[
            "api",
            "client",
            "formats",
            "vocabulary",
            "archive-format",
            "governance",
            "ledger",
            "projector",
            "archiver",
            "server",
            "verify",
            "cli",
        ],
    ),
];
/// The test kit. Every room may use it in its tests.
const TEST_KIT: &str = "testkit";

/// Crates from outside that only these rooms may name.
const WALLED: [(&str, &[&str]); 19] = [
    ("toml", &["bitacora-settings"]),
    ("bincode", &["bitacora-formats"]),
    ("fjall", &["bitacora-projector"]),
    ("axum", &["bitacora-server"]),
    ("object_store", &["bitacora-archiver"]),
    ("reqwest", &["bitacora-archiver", "bitacora-server", "bitacora-mcp"]),
    ("rustls", &["bitacora-archiver", "bitacora-client", "bitacora-server", "bitacora-mcp"]),
    ("tokio-rustls", &["bitacora-client", "bitacora-server"]),
    ("rustls-native-certs", &["bitacora-client"]),
    ("rustls-webpki", &["bitacora-client", "bitacora-server"]),
    ("rcgen", &["bitacora-testkit"]),
    ("httparse", &["bitacora-http-guard"]),
    (
        "hyper",
        &[
            "bitacora-http-guard",
            "bitacora-server",
            "bitacora-client",
            "bitacora-demo",
            "bitacora-command-kit",
            "bitacora-custody-commands",
            "bitacora-cli",
            "bitacora-tests",
        ],
    ),
    ("hyper-util", &["bitacora-http-guard", "bitacora-server", "bitacora-client", "bitacora-tests"]),
    ("maud", &["bitacora-console"]),
    ("plotters", &["bitacora-console"]),
    ("clap", &["bitacora-settings", "bitacora-command-kit", "bitacora-custody-commands", "bitacora-cli"]),
    ("indicatif", &["bitacora-command-kit"]),
    (
        "tokio",
        &[
            "bitacora-http-guard",
            "bitacora-ledger",
            "bitacora-projector",
            "bitacora-archiver",
            "bitacora-console",
            "bitacora-server",
            "bitacora-client",
            "bitacora-connect",
            "bitacora-mcp",
            "bitacora-import",
            "bitacora-watch",
            "bitacora-bench",
            "bitacora-command-kit",
            "bitacora-custody-commands",
            "bitacora-cli",
            "bitacora-tests",
        ],
    ),
];

/// All of this workspace that the verifier is built from, itself left out: nothing that wrote what it checks.
const VERIFIER: [&str; 3] = ["bitacora-archive-format", "bitacora-formats", "bitacora-vocabulary"];

struct Manifest {
    name: String,
    dependencies: Vec<String>,
    /// Those that it is built from, without those of its tests.
    built_from: Vec<String>,
}

/// As cargo reads them: renames, tables and targets included.
fn manifests() -> Vec<Manifest> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| {
            let named = package["dependencies"].as_array().unwrap();
            Manifest {
                name: text(&package["name"]),
                dependencies: named.iter().map(|one| text(&one["name"])).collect(),
                built_from: named
                    .iter()
                    .filter(|one| one["kind"] != "dev")
                    .map(|one| text(&one["name"]))
                    .collect(),
            }
        })
        .collect()
}

#[test]
fn crates_depend_as_the_rooms_allow() {
    let mut problems = Vec::new();
    for manifest in manifests() {
        let Some((_, allowed)) = ROOMS.iter().find(|(room, _)| *room == manifest.name) else {
            problems.push(format!("{}: not a room; add it to the table of rooms here", manifest.name));
            continue;
        };
        let ours = manifest.dependencies.iter().filter_map(|name| name.strip_prefix("bitacora-"));
        for name in ours.filter(|name| *name != TEST_KIT && !allowed.contains(name)) {
            problems.push(format!("{} depends on {name}", manifest.name));
        }
    }
    assert_none(&problems);
}

#[test]
fn the_verifier_is_built_from_formats_alone() {
    let manifests = manifests();
    let mut closure = BTreeSet::new();
    let mut pending = vec!["bitacora-verify".to_owned()];
    while let Some(name) = pending.pop() {
        let Some(manifest) = manifests.iter().find(|manifest| manifest.name == name) else { continue };
        let ours = manifest.built_from.iter().filter(|name| name.starts_with("bitacora-"));
        pending.extend(ours.filter(|name| closure.insert((*name).clone())).cloned());
    }
    assert_eq!(closure, VERIFIER.map(str::to_owned).into());
}

#[test]
fn walled_crates_stay_in_their_rooms() {
    let mut problems = Vec::new();
    for manifest in manifests() {
        for (walled, rooms) in WALLED {
            if manifest.dependencies.iter().any(|name| name == walled)
                && !rooms.contains(&manifest.name.as_str())
            {
                problems.push(format!("{} depends on {walled}", manifest.name));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn every_room_is_a_crate() {
    let names: Vec<String> = manifests().into_iter().map(|manifest| manifest.name).collect();
    let missing = ROOMS.iter().filter(|(room, _)| !names.iter().any(|name| name == room));
    assert_none(&missing.map(|(room, _)| format!("{room}: no such crate")).collect::<Vec<_>>());
}
