//! Tools that calls named and nobody registered, for operators who may want to register them.
//! No decision rests on them.

use bitacora_formats::Micros;
use bitacora_vocabulary::Name;
use serde::{Deserialize, Serialize};

use crate::limits::{MAX_TOOL_SIGHTINGS, MAX_TOOL_SIGHTINGS_OF_AGENT};
use crate::undo::per_agent_quota::NOBODY;
use crate::undo::undo_map::UndoMap;

/// The sightings of a tool that nobody had registered, by one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSighting {
    /// The calls.
    pub calls: u64,
    /// The position of the first decision on one of them.
    pub first: u64,
    /// The position of the last one.
    pub last: u64,
    /// The governed time of the last one.
    pub time: Micros,
}

/// The agent, the tool that its call named, and the tool's server.
pub(crate) type SightingKey = (String, Name, Option<Name>);

/// The tools that calls named and nobody registered. An agent that invents names pushes out the ones that it named before, and no
/// other agent's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ToolSightings(UndoMap<SightingKey, ToolSighting>);

impl ToolSightings {
    /// Folds a decision on a call of a tool that is not registered.
    pub(crate) fn apply(
        &mut self,
        agent: Option<&str>,
        (tool, server): (Name, Option<Name>),
        position: u64,
        time: Micros,
    ) {
        let agent = agent.unwrap_or(NOBODY);
        let key = (agent.to_owned(), tool, server);
        if self.0.get(&key).is_none() {
            self.make_room(agent);
        }
        let first = || ToolSighting { calls: 0, first: position, last: position, time };
        self.0.change_or(&key, first, |sighting| {
            sighting.calls = sighting.calls.saturating_add(1);
            (sighting.last, sighting.time) = (position, time);
        });
    }

    /// Takes away the oldest one of an agent that has as many as one may, else the oldest of all where there are as many.
    fn make_room(&mut self, agent: &str) {
        let from = (agent.to_owned(), Name::LEAST, None);
        let own = self.0.iter_from(&from).take_while(|((of, ..), _)| of == agent);
        let (count, oldest) = oldest_of(own);
        let gone = if count >= MAX_TOOL_SIGHTINGS_OF_AGENT {
            oldest
        } else if self.0.len() >= MAX_TOOL_SIGHTINGS {
            oldest_of(self.0.iter()).1
        } else {
            None
        };
        if let Some(gone) = gone {
            self.0.remove(&gone);
        }
    }

    /// Removes a tool that is registered now.
    pub(crate) fn apply_registered(&mut self, tool: &Name, server: Option<&Name>) {
        let is_it = |(_, named, of): &&SightingKey| named == tool && of.as_ref() == server;
        let gone: Vec<_> = self.0.iter().map(|(key, _)| key).filter(is_it).cloned().collect();
        gone.iter().for_each(|key| self.0.remove(key));
    }

    /// Returns all of them, by agent and name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&SightingKey, &ToolSighting)> {
        self.0.iter()
    }

    pub(crate) fn pause(&mut self) {
        self.0.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.0.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.0.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.0.discard();
    }
}

/// Returns the number of them, and the one that was seen least lately.
fn oldest_of<'a>(
    sightings: impl Iterator<Item = (&'a SightingKey, &'a ToolSighting)>,
) -> (usize, Option<SightingKey>) {
    let mut count = 0;
    let oldest = sightings.inspect(|_| count += 1).min_by_key(|(_, sighting)| sighting.last);
    let oldest = oldest.map(|(key, _)| key.clone());
    (count, oldest)
}
