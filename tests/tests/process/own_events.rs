//! What stands in a ledger beside the events of clients.

use bitacora_tests::service::ServiceFolder;
use serde_json::Value;

/// How many events the service wrote itself: that the ledger was created, opened, and what tree heads were signed for.
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
