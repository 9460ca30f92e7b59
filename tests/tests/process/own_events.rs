//! The events in a ledger besides those of clients.

use bitacora_tests::service::ServiceFolder;
use serde_json::Value;

/// Returns the number of events that the service wrote itself: the ledger's creation, its openings, and those that tree heads were signed
/// for.
pub(crate) fn own_events(place: &ServiceFolder) -> u64 {
    let mut read = place.command("read");
    read.args(["--json", "--stream", "ledger", "--keyring"]).arg(place.keyring());
    let output = read.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let types = ["ledger.created", "ledger.opened", "ledger.headed"];
    let lines: Vec<Value> = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    assert!(
        lines.iter().all(|line| types.contains(&line["event"]["type"].as_str().unwrap_or_default())),
        "{lines:?}"
    );
    lines.len() as u64
}
