//! Commands that agents really gave to a shell.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The file of real calls in the folder of samples.
const CALLS: &str = "claude-code-actions.ndjson.zst";

/// Every command of the sample; none where there is no sample.
pub(crate) fn commands() -> Vec<String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = std::env::var_os("BITACORA_SAMPLE_DATA").map_or(beside, PathBuf::from);
    let Ok(packed) = std::fs::read(folder.join(CALLS)) else { return Vec::new() };
    let lines = zstd::decode_all(packed.as_slice()).unwrap();
    let calls = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let calls = calls.map(|line| serde_json::from_slice::<Value>(line).unwrap());
    calls.filter_map(|call| command(&call)).collect()
}

fn command(call: &Value) -> Option<String> {
    let is_shell = call.get("tool")?.as_str()? == "Bash";
    let command = call.get("input")?.get("command")?.as_str()?;
    is_shell.then(|| command.to_owned())
}
