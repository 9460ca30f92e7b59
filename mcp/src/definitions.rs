//! Definitions of tools: recorded as they are first seen, and compared with what they are expected to be.
//!
//! The expected definition of a tool is the one that an operator registered (`mcp:DIGEST` as the version of its registration), or
//! else the first one that the ledger knows, or else the first one of this session. What a server says of a tool is hints that nobody
//! checked; only whether it stays the same is used.

mod recorded;

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use self::recorded::{Recorded, read_recorded, record};
use crate::gate::{Gate, note};
use crate::limits::{MAX_DRIFTS, MAX_TOOLS};

/// The beginning of a registration's version that names a definition.
pub(crate) const VERSION_PREFIX: &str = "mcp:";

/// Returns the version of a registration that names a definition.
#[must_use]
pub fn definition_version(digest: &str) -> String {
    format!("{VERSION_PREFIX}{digest}")
}

/// A definition of a tool, as its server gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    /// The tool's name, as the server has it.
    pub(crate) name: String,
    /// The SHA-256 of its canonical form, hexadecimal.
    pub(crate) digest: String,
    /// The canonical form.
    pub(crate) text: String,
}

/// A page of a server's list of tools.
#[derive(Debug)]
pub(crate) struct ListedTools {
    pub(crate) tools: Vec<Definition>,
    pub(crate) next: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMembers {
    tools: Vec<Value>,
    #[serde(default)]
    next_cursor: Option<String>,
}

impl ListedTools {
    /// Reads the result of `tools/list`; `None` where it is none.
    pub(crate) fn read(result: &RawValue) -> Option<Self> {
        let members: ListMembers = serde_json::from_str(result.get()).ok()?;
        let tools = members.tools.into_iter().take(MAX_TOOLS).filter_map(Definition::of).collect();
        Some(Self { tools, next: members.next_cursor })
    }
}

impl Definition {
    /// `_meta` is left out: it may say other things each time.
    fn of(mut tool: Value) -> Option<Self> {
        let members = tool.as_object_mut()?;
        members.remove("_meta");
        let name = members.get("name")?.as_str()?.to_owned();
        let text = serde_json_canonicalizer::to_string(&tool).ok()?;
        let digest = hex::encode(Sha256::digest(text.as_bytes()));
        Some(Self { name, digest, text })
    }
}

/// The standing of a tool's definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DefinitionStatus {
    /// It is as expected.
    Expected,
    /// The server does not list the tool, or does not list any.
    Unlisted,
    /// It is another one than expected.
    Drifted {
        /// The digest of the definition that is there.
        found: String,
        /// The digest of the one that was expected.
        expected: String,
    },
}

/// The definitions of one server's tools.
#[derive(Default)]
pub(crate) struct Definitions {
    state: Mutex<DefinitionsState>,
    /// One at a time compares with the ledger and records.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct DefinitionsState {
    /// The digests of the listed definitions, by the server's names.
    listed: HashMap<String, String>,
    /// The ledger's memory, once it was read.
    recorded: Option<Recorded>,
    /// The first digests of this session, by the server's names.
    first: HashMap<String, String>,
    /// `true` if the server has not listed its tools since it said that they changed.
    stale: bool,
    /// `true` once the server has listed its tools to the end.
    whole: bool,
    /// The definitions that were recorded in this session.
    noted: HashSet<(String, String)>,
    drifts: usize,
}

impl Definitions {
    fn state(&self) -> MutexGuard<'_, DefinitionsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the server says that its tools changed.
    pub(crate) fn changed(&self) {
        self.state().stale = true;
    }

    /// Returns `true` if the server has to be asked for its tools before a call of this one.
    pub(crate) fn must_ask(&self, tool: &str) -> bool {
        let state = self.state();
        state.stale || (!state.whole && !state.listed.contains_key(tool))
    }

    /// Notes that a whole list begins: what it does not name is listed no more.
    pub(crate) fn begin_whole(&self) {
        self.state().stale = false;
    }

    /// Notes that the server has listed all of these and no others.
    pub(crate) fn end_whole(&self, names: &HashSet<String>) {
        let mut state = self.state();
        state.whole = true;
        state.listed.retain(|name, _| names.contains(name));
    }

    /// Takes listed definitions, and records those that are new to the ledger or not as expected.
    pub(crate) async fn take(&self, gate: &Gate, tools: &[Definition]) {
        {
            let mut state = self.state();
            for tool in tools {
                if state.listed.len() < MAX_TOOLS || state.listed.contains_key(&tool.name) {
                    state.listed.insert(tool.name.clone(), tool.digest.clone());
                    state.first.entry(tool.name.clone()).or_insert_with(|| tool.digest.clone());
                }
            }
        }
        let _turn = self.turn.lock().await;
        if self.state().recorded.is_none() {
            self.read_ledger(gate).await;
        }
        for tool in tools {
            self.compare(gate, tool).await;
        }
    }

    async fn read_ledger(&self, gate: &Gate) {
        match read_recorded(gate).await {
            Ok(recorded) => self.state().recorded = Some(recorded),
            Err(failure) => {
                note(&format!("the definitions of tools that the ledger knows cannot be read: {failure}"));
            }
        }
    }

    async fn compare(&self, gate: &Gate, tool: &Definition) {
        let expected = {
            let mut state = self.state();
            let Some(recorded) = &state.recorded else { return };
            let expected = recorded.expected(&tool.name).map(str::to_owned);
            let is_known = recorded.knows(&tool.name, &tool.digest, expected.as_deref());
            let is_noted = !state.noted.insert((tool.name.clone(), tool.digest.clone()));
            if is_known || is_noted {
                return;
            }
            let expected = expected.or_else(|| state.first.get(&tool.name).cloned());
            let expected = expected.filter(|expected| *expected != tool.digest);
            if expected.is_some() {
                state.drifts = state.drifts.saturating_add(1);
                if state.drifts > MAX_DRIFTS {
                    return;
                }
            }
            expected
        };
        if let Some(expected) = &expected {
            note(&format!(
                "tool {} is defined otherwise than expected (found {}, expected {expected}); its calls are held",
                gate.settings.server.tool(&tool.name),
                tool.digest
            ));
        }
        if let Err(failure) = record(gate, tool, expected.as_deref()).await {
            self.state().noted.remove(&(tool.name.clone(), tool.digest.clone()));
            note(&format!("the definition of {} is not recorded: {failure}", tool.name));
        }
    }

    /// Returns the standing of a tool. One that drifted is compared with the ledger as it is now: an operator may have registered it.
    pub(crate) async fn standing(&self, gate: &Gate, tool: &str) -> DefinitionStatus {
        match self.known_standing(tool) {
            DefinitionStatus::Drifted { .. } => {
                let _turn = self.turn.lock().await;
                self.read_ledger(gate).await;
                self.known_standing(tool)
            }
            standing => standing,
        }
    }

    fn known_standing(&self, tool: &str) -> DefinitionStatus {
        let state = self.state();
        let Some(found) = state.listed.get(tool) else { return DefinitionStatus::Unlisted };
        let of_ledger = state.recorded.as_ref().and_then(|recorded| recorded.expected(tool));
        match of_ledger.or(state.first.get(tool).map(String::as_str)) {
            Some(expected) if expected != found => {
                DefinitionStatus::Drifted { found: found.clone(), expected: expected.to_owned() }
            }
            _ => DefinitionStatus::Expected,
        }
    }

    /// Returns `true` if an operator registered one definition of the tool.
    pub(crate) fn is_pinned(&self, tool: &str) -> bool {
        self.state().recorded.as_ref().is_some_and(|recorded| recorded.is_registered(tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<Definition> {
        ListedTools::read(&RawValue::from_string(text.to_owned()).unwrap()).unwrap().tools
    }

    #[test]
    fn a_definition_is_its_meaning_and_not_its_bytes() {
        let one = listed(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"},"_meta":{"t":1}}]}"#);
        let same = listed(
            r#"{"tools":[{ "inputSchema" : {"type":"object"}, "name":"\u0061" ,"_meta":{"t":2}}],"nextCursor":"x"}"#,
        );
        assert_eq!(one, same);
        for other in [
            r#"{"tools":[{"name":"a","description":"reads","inputSchema":{"type":"object"}}]}"#,
            r#"{"tools":[{"name":"a","inputSchema":{"type":"object","additionalProperties":false}}]}"#,
            r#"{"tools":[{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}"#,
        ] {
            assert_ne!(listed(other)[0].digest, one[0].digest, "{other}");
        }
        assert!(ListedTools::read(&RawValue::from_string("{\"tools\":7}".to_owned()).unwrap()).is_none());
        assert!(listed(r#"{"tools":[7,{"name":7},{}]}"#).is_empty());
    }

    #[test]
    fn a_definition_that_changed_in_the_session_has_drifted() {
        let definitions = Definitions::default();
        assert!(definitions.must_ask("a"));
        let put = |digest: &str| {
            let mut state = definitions.state();
            state.listed.insert("a".to_owned(), digest.to_owned());
            state.first.entry("a".to_owned()).or_insert_with(|| digest.to_owned());
        };
        put("1");
        assert!(!definitions.must_ask("a") && definitions.must_ask("b"));
        assert_eq!(definitions.known_standing("a"), DefinitionStatus::Expected);
        put("2");
        let drifted = DefinitionStatus::Drifted { found: "2".to_owned(), expected: "1".to_owned() };
        assert_eq!(definitions.known_standing("a"), drifted);
        definitions.changed();
        assert!(definitions.must_ask("a"));
        definitions.begin_whole();
        definitions.end_whole(&HashSet::new());
        assert_eq!(definitions.known_standing("a"), DefinitionStatus::Unlisted);
        assert!(!definitions.must_ask("b"));
    }
}
