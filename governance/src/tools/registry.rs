//! The tools that may be called, as events registered, changed and revoked them.

mod starter;

use std::borrow::Cow;
use std::sync::Arc;

use bitacora_vocabulary::{Name, ToolDocument, ToolRevoked};
use serde::{Deserialize, Serialize};

pub use starter::STARTER_TOOLS;

/// Tools in one registry.
pub const MAX_TOOLS: usize = 4_096;
/// Bytes of all their JSON Schemas.
pub const MAX_REGISTRY_SCHEMA_BYTES: usize = 64 * 1024 * 1024;

/// The reason for which the registry does not change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// It is there.
    #[error("tool `{0}` is registered already; send `tool.changed` for it")]
    AlreadyRegistered(Name),
    /// It is not.
    #[error("tool `{0}` is not registered; register it first")]
    NotRegistered(Name),
    /// Another tool is called so together with its server.
    #[error("another tool is called `{0}` with its server; trust and rates could not tell them apart")]
    SameName(String),
    /// There are too many.
    #[error("{MAX_TOOLS} tools are registered; revoke one first")]
    TooManyTools,
    /// Their schemas are too large together.
    #[error("the schemas of all tools would be {found} bytes; at most {MAX_REGISTRY_SCHEMA_BYTES} are kept")]
    TooManyBytes {
        /// Bytes.
        found: usize,
    },
}

/// Returns the name of a tool together with its server: `server/tool`, or, without a server, `tool`. Trust and rates are kept by
/// it.
#[must_use]
pub fn qualified_name<'n>(tool: &'n str, server: Option<&str>) -> Cow<'n, str> {
    server.map_or(Cow::Borrowed(tool), |server| Cow::Owned(format!("{server}/{tool}")))
}

/// One tool as it is registered now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredTool {
    /// The registry's revision at its last change. Together with the name it is the key of the compiled tool.
    pub revision: u64,
    /// Its registration.
    pub document: ToolDocument,
}

/// The tools that may be called. A fold of events: nothing else changes it. A copy shares the tools with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredRegistry", into = "StoredRegistry")]
pub struct Registry {
    /// Counts up with each change.
    revision: u64,
    /// The tools, sorted by name, then server.
    tools: Vec<Arc<RegisteredTool>>,
    schema_bytes: usize,
}

/// The registry as it is written in snapshots.
#[derive(Serialize, Deserialize)]
struct StoredRegistry {
    revision: u64,
    tools: Vec<RegisteredTool>,
}

impl Registry {
    /// Returns the number of changes so far.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns `true` if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the tool of this name and server. One that is registered for a server is not meant by a call that names none, and
    /// the other way round.
    #[must_use]
    pub fn get(&self, tool: &str, server: Option<&str>) -> Option<&Arc<RegisteredTool>> {
        self.tools.get(self.find(tool, server).ok()?)
    }

    /// Returns all tools, by name and server.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<RegisteredTool>> {
        self.tools.iter()
    }

    /// Takes a new tool in.
    ///
    /// # Errors
    /// It is there, or a limit is reached; nothing changes then.
    pub fn apply_registered(&mut self, document: &ToolDocument) -> Result<(), RegistryError> {
        match self.find(&document.tool, document.server.as_deref()) {
            Ok(_) => Err(RegistryError::AlreadyRegistered(document.tool.clone())),
            Err(_) if self.tools.len() >= MAX_TOOLS => Err(RegistryError::TooManyTools),
            Err(_) if self.tools.iter().any(|tool| same_name(&tool.document, document)) => {
                let name = qualified_name(&document.tool, document.server.as_deref());
                Err(RegistryError::SameName(name.into_owned()))
            }
            Err(at) => {
                self.schema_bytes = self.bytes_with(document, 0)?;
                self.tools.insert(at, self.next(document));
                self.revision += 1;
                Ok(())
            }
        }
    }

    /// Puts this in the place of the tool of the same name and server.
    ///
    /// # Errors
    /// It is not there, or a limit is reached; nothing changes then.
    pub fn apply_changed(&mut self, document: &ToolDocument) -> Result<(), RegistryError> {
        let at = self.find(&document.tool, document.server.as_deref());
        let at = at.map_err(|_| RegistryError::NotRegistered(document.tool.clone()))?;
        let before = self.tools.get(at).map_or(0, |tool| schema_bytes(&tool.document));
        self.schema_bytes = self.bytes_with(document, before)?;
        let next = self.next(document);
        if let Some(tool) = self.tools.get_mut(at) {
            *tool = next;
        }
        self.revision += 1;
        Ok(())
    }

    /// Takes a tool out.
    ///
    /// # Errors
    /// It is not there; nothing changes then.
    pub fn apply_revoked(&mut self, revoked: &ToolRevoked) -> Result<(), RegistryError> {
        let at = self.find(&revoked.tool, revoked.server.as_deref());
        let at = at.map_err(|_| RegistryError::NotRegistered(revoked.tool.clone()))?;
        let tool = self.tools.remove(at);
        self.schema_bytes = self.schema_bytes.saturating_sub(schema_bytes(&tool.document));
        self.revision += 1;
        Ok(())
    }

    /// Returns the place of a tool, or the place where it belongs.
    fn find(&self, tool: &str, server: Option<&str>) -> Result<usize, usize> {
        self.tools.binary_search_by(|at| {
            (at.document.tool.as_str(), at.document.server.as_deref()).cmp(&(tool, server))
        })
    }

    fn next(&self, document: &ToolDocument) -> Arc<RegisteredTool> {
        Arc::new(RegisteredTool { revision: self.revision + 1, document: document.clone() })
    }

    fn bytes_with(&self, document: &ToolDocument, instead_of: usize) -> Result<usize, RegistryError> {
        let found = self.schema_bytes.saturating_sub(instead_of).saturating_add(schema_bytes(document));
        if found > MAX_REGISTRY_SCHEMA_BYTES {
            return Err(RegistryError::TooManyBytes { found });
        }
        Ok(found)
    }
}

/// Returns `true` if two tools have the same name together with their servers.
fn same_name(one: &ToolDocument, other: &ToolDocument) -> bool {
    fn bytes(tool: &ToolDocument) -> impl Iterator<Item = u8> {
        let server = tool.server.as_deref().map(|server| server.bytes().chain(*b"/"));
        server.into_iter().flatten().chain(tool.tool.bytes())
    }
    bytes(one).eq(bytes(other))
}

fn schema_bytes(document: &ToolDocument) -> usize {
    let output = document.output_schema.as_ref().map_or(0, |schema| schema.as_str().len());
    document.input_schema.as_str().len() + output
}

impl From<StoredRegistry> for Registry {
    fn from(stored: StoredRegistry) -> Self {
        let schema_bytes = stored.tools.iter().map(|tool| schema_bytes(&tool.document)).sum();
        let mut tools: Vec<_> = stored.tools.into_iter().map(Arc::new).collect();
        tools.sort_by(|one, other| {
            (&one.document.tool, &one.document.server).cmp(&(&other.document.tool, &other.document.server))
        });
        Self { revision: stored.revision, tools, schema_bytes }
    }
}

impl From<Registry> for StoredRegistry {
    fn from(registry: Registry) -> Self {
        let tools = registry.tools.into_iter().map(Arc::unwrap_or_clone).collect();
        Self { revision: registry.revision, tools }
    }
}

#[cfg(test)]
mod tests;
