//! The ledger's memory of a server's definitions: registrations, and recorded sightings.

use std::collections::{HashMap, HashSet};

use bitacora_api::{AppendAnswer, StoredEventPage, ToolList, paths};
use bitacora_client::percent_encoded;
use bitacora_vocabulary::{
    DefinitionText, EventData, Name, Sha256Text, ToolDescribed, ToolDocument, ToolDrifted,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Definition, VERSION_PREFIX};
use crate::error::ServiceFailure;
use crate::gate::Gate;
use crate::limits::{DECISION_PATIENCE, MAX_SERVICE_PAGES, REPORT_PATIENCE};

/// The ledger's memory of one server's definitions, by the server's names of its tools.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    registered: HashMap<String, String>,
    first: HashMap<String, String>,
    /// Recorded sightings: name, digest, and the expected one.
    sightings: HashSet<(String, String, Option<String>)>,
}

impl Recorded {
    /// Returns the digest that a tool's definition is expected to have.
    pub(super) fn expected(&self, tool: &str) -> Option<&str> {
        self.registered.get(tool).or_else(|| self.first.get(tool)).map(String::as_str)
    }

    pub(super) fn is_registered(&self, tool: &str) -> bool {
        self.registered.contains_key(tool)
    }

    /// Returns `true` if nothing is new about a definition: it is the expected one, or its drift was recorded.
    pub(super) fn knows(&self, tool: &str, digest: &str, expected: Option<&str>) -> bool {
        let drift = (tool.to_owned(), digest.to_owned(), expected.map(str::to_owned));
        let first = (tool.to_owned(), digest.to_owned(), None);
        match expected {
            Some(expected) if expected != digest => self.sightings.contains(&drift),
            _ => self.sightings.contains(&first),
        }
    }
}

/// Reads the registry and the recorded sightings of a server.
pub(super) async fn read_recorded(gate: &Gate) -> Result<Recorded, ServiceFailure> {
    let mut recorded = Recorded::default();
    read_registry(gate, &mut recorded).await?;
    read_sightings(gate, &mut recorded).await?;
    Ok(recorded)
}

async fn read_registry(gate: &Gate, recorded: &mut Recorded) -> Result<(), ServiceFailure> {
    let tools = gate.service.path(paths::TOOLS, &[]);
    let prefix = gate.settings.server.tool("");
    let mut path = tools.clone();
    for _ in 0..MAX_SERVICE_PAGES {
        let page: ToolList = gate.service.get(&path, DECISION_PATIENCE).await?;
        for tool in &page.tools {
            let Ok(document) = serde_json::from_str::<ToolDocument>(tool.document.get()) else { continue };
            let name = document.tool.as_str().strip_prefix(&prefix);
            let digest = document.version.as_str().strip_prefix(VERSION_PREFIX);
            if let (Some(name), Some(digest)) = (name, digest) {
                recorded.registered.insert(name.to_owned(), digest.to_owned());
            }
        }
        match page.next {
            Some(next) => path = format!("{tools}?after={}", percent_encoded(&next)),
            None => return Ok(()),
        }
    }
    Err(ServiceFailure::Answer)
}

/// The members of both types of sightings.
#[derive(Deserialize)]
struct Sighting {
    tool: String,
    digest: String,
    #[serde(default)]
    expected: Option<String>,
}

async fn read_sightings(gate: &Gate, recorded: &mut Recorded) -> Result<(), ServiceFailure> {
    let events = gate.service.path(paths::STREAM_EVENTS, &[&gate.settings.server.stream()]);
    let prefix = gate.settings.server.tool("");
    let mut path = format!("{events}?limit=1000");
    for _ in 0..MAX_SERVICE_PAGES {
        let page: StoredEventPage = match gate.service.get(&path, DECISION_PATIENCE).await {
            Err(failure) if failure.is_not_found() => return Ok(()),
            page => page?,
        };
        for stored in &page.events {
            let Ok(mut event) = serde_json::from_str::<Value>(stored.event.get()) else { continue };
            let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
            if ![ToolDescribed::KIND, ToolDrifted::KIND].contains(&kind) {
                continue;
            }
            let data = event.get_mut("data").map(Value::take).unwrap_or_default();
            let Ok(seen) = serde_json::from_value::<Sighting>(data) else { continue };
            let Some(name) = seen.tool.strip_prefix(&prefix) else { continue };
            recorded.first.entry(name.to_owned()).or_insert_with(|| seen.digest.clone());
            recorded.sightings.insert((name.to_owned(), seen.digest, seen.expected));
        }
        match page.next {
            Some(next) => path = format!("{events}?limit=1000&after={}", percent_encoded(&next)),
            None => return Ok(()),
        }
    }
    Err(ServiceFailure::Answer)
}

/// Records a definition: as described for the first time, or as another one than expected. A repeated record is taken once.
pub(super) async fn record(
    gate: &Gate,
    tool: &Definition,
    expected: Option<&str>,
) -> Result<(), ServiceFailure> {
    let Ok(name) = Name::new(gate.settings.server.tool(&tool.name)) else { return Ok(()) };
    let digest = sha256(&tool.digest).ok_or(ServiceFailure::Answer)?;
    let definition = DefinitionText::new(tool.text.clone()).ok();
    let (kind, data) = match expected.and_then(sha256) {
        None => (ToolDescribed::KIND, serde_json::to_value(ToolDescribed { tool: name, digest, definition })),
        Some(expected) => (
            ToolDrifted::KIND,
            serde_json::to_value(ToolDrifted { tool: name, digest, expected, definition }),
        ),
    };
    let data = data.map_err(|_| ServiceFailure::Answer)?;
    let stream = gate.settings.server.stream();
    let id = format!("{}#{kind}#{}#{}", gate.settings.session, tool.name, tool.digest);
    let event = json!({
        "specversion": "1.0",
        "id": id,
        "source": stream,
        "type": kind,
        "subject": stream,
        "data": data,
    });
    let path = gate.service.path(paths::EVENTS, &[]);
    let _recorded: AppendAnswer = gate.service.append(&path, &event, REPORT_PATIENCE).await?;
    Ok(())
}

fn sha256(digest: &str) -> Option<Sha256Text> {
    serde_json::from_value(Value::String(digest.to_owned())).ok()
}
