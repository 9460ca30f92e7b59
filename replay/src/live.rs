//! A comparison of a service's state with the state folded from its log.

use std::collections::BTreeMap;

use bitacora_formats::{Position, printable};
use bitacora_governance::UnwritableState;
use serde_json::{Value, json};

use crate::expired_content::ExpiredContent;
use crate::fold::FoldResult;

/// Two states at one position, by their digests: the service's, and that of its log.
pub struct LiveComparison {
    position: Position,
    expired: Option<ExpiredContent>,
    replayed: String,
    live: String,
    /// The parts that are not the same, by name.
    differing: Vec<String>,
}

impl LiveComparison {
    /// Compares a folded state with the service's: the digest of the whole, and of each part by its name.
    ///
    /// # Errors
    /// [`UnwritableState`].
    pub fn new(
        replayed: &FoldResult,
        live: String,
        live_parts: &BTreeMap<String, String>,
    ) -> Result<Self, UnwritableState> {
        let digests = replayed.state.digests()?;
        let parts = digests.parts.iter().map(|(part, digest)| (part.name.to_owned(), digest.to_string()));
        let parts: BTreeMap<_, _> = parts.collect();
        let names = parts.keys().chain(live_parts.keys());
        let mut differing: Vec<_> =
            names.filter(|name| parts.get(*name) != live_parts.get(*name)).cloned().collect();
        differing.sort_unstable();
        differing.dedup();
        let expired = replayed.expired.clone();
        Ok(Self {
            position: replayed.position,
            expired,
            replayed: digests.state.to_string(),
            live,
            differing,
        })
    }

    /// Returns `true` if the states are the same.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.replayed == self.live && self.differing.is_empty()
    }

    /// Returns it as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "same": self.is_same(),
            "position": self.position.to_string(),
            "begins": self.expired.as_ref().map(ExpiredContent::to_json),
            "replayed": self.replayed,
            "live": self.live,
            "differing": self.differing,
        })
    }

    /// Returns it as lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let parts: Vec<_> = self.differing.iter().map(|part| printable(part)).collect();
        let begins = self.expired.as_ref().map(|expired| format!("begins   {}", expired.line()));
        let mut lines = vec![format!("position {}", self.position)];
        lines.extend(begins);
        lines.extend([
            format!("replayed {}", self.replayed),
            format!("live     {}", printable(&self.live)),
            if self.is_same() {
                "the same".to_owned()
            } else {
                format!("not the same: {}", parts.join(", "))
            },
        ]);
        lines
    }
}
