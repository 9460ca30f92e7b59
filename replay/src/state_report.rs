//! Folded states and their differences, for people and as JSON.

use bitacora_formats::{printable, shortened};
use bitacora_governance::{StateDifference, StateDifferences, StateDigests, UnwritableState};
use serde_json::{Value, json};

use crate::expired_content::ExpiredContent;
use crate::fold::{FoldOrigin, FoldResult};

/// The most differences that are shown; the rest are only counted.
const MAX_SHOWN_DIFFERENCES: usize = 1_000;
/// The most characters of a value on a line for people.
const SHOWN_VALUE_CHARACTERS: usize = 120;

/// A report of one state.
pub struct StateReport<'a> {
    result: &'a FoldResult,
    digests: StateDigests,
}

/// A report of the differences between two states.
pub struct DifferenceReport<'a> {
    states: [StateReport<'a>; 2],
    found: StateDifferences,
}

impl<'a> StateReport<'a> {
    /// Digests the state.
    ///
    /// # Errors
    /// [`UnwritableState`].
    pub fn new(result: &'a FoldResult) -> Result<Self, UnwritableState> {
        Ok(Self { result, digests: result.state.digests()? })
    }

    /// Returns the position and the digest, on one line.
    #[must_use]
    pub fn digest_line(&self) -> String {
        format!("{} {}", self.result.position, self.digests.state)
    }

    /// Returns the state that the folding had to begin with, on one line, if content of events before it expired.
    #[must_use]
    pub fn begins_line(&self) -> Option<String> {
        let expired = self.result.expired.as_ref()?;
        Some(format!("position {} begins {}", self.result.position, expired.line()))
    }

    /// Returns it as lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let Self { result, digests } = self;
        let counts = result.state.counts();
        let mut lines =
            vec![format!("position   {}", result.position), format!("digest     {}", digests.state)];
        lines.extend(result.expired.as_ref().map(|expired| format!("begins     {}", expired.line())));
        let origin = result.origin.filter(|_| result.expired.is_none());
        lines.extend(origin.map(|origin| match origin {
            FoldOrigin::Replay(after) => format!("resumed    after {after}, as an earlier replay left it"),
            FoldOrigin::Archive(after) => {
                format!("began      after {after}, with the state that its archive keeps")
            }
        }));
        lines.extend([
            format!(
                "events     {} of {} govern, {} a second",
                result.governing,
                result.position,
                rate(result)
            ),
            format!(
                "dimensions {}, and {} brought from elsewhere",
                counts.dimensions, counts.imported_dimensions
            ),
            format!("breakers   {}, {} not closed", counts.breakers, counts.breakers_not_closed),
            format!("open calls {}", counts.open_calls),
            format!("approvals  {}, {} pending", counts.approvals, counts.approvals_pending),
            format!("tools      {}", counts.tools),
            match result.state.all_policies().active_version() {
                Some(version) => format!("policy     version {version}, of {}", counts.policies),
                None => format!("policy     none is active, of {}", counts.policies),
            },
        ]);
        lines
    }

    /// Returns the position, the digests and the origin as JSON.
    #[must_use]
    pub fn digest_json(&self) -> Value {
        let Self { result, digests } = self;
        let after = |is_it: fn(&FoldOrigin) -> bool| {
            let origin = result.origin.filter(is_it);
            origin.map(|origin| origin.position().to_string())
        };
        let parts =
            digests.parts.iter().map(|(part, digest)| (part.name.to_owned(), digest.to_string().into()));
        json!({
            "position": result.position.to_string(),
            "digest": digests.state.to_string(),
            "parts": parts.collect::<serde_json::Map<_, _>>(),
            "resumedAfter": after(|origin| matches!(origin, FoldOrigin::Replay(_))),
            "archivedAfter": after(|origin| matches!(origin, FoldOrigin::Archive(_))),
            "begins": result.expired.as_ref().map(ExpiredContent::to_json),
        })
    }

    /// Returns it as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let result = self.result;
        let counts = result.state.counts();
        let mut value = self.digest_json();
        let more = json!({
            "events": result.position.to_string(),
            "governing": result.governing.to_string(),
            "tookMs": u64::try_from(result.took.as_millis()).unwrap_or(u64::MAX),
            "eventsPerSecond": rate(result),
            "dimensions": counts.dimensions,
            "importedDimensions": counts.imported_dimensions,
            "breakers": counts.breakers,
            "breakersNotClosed": counts.breakers_not_closed,
            "openCalls": counts.open_calls,
            "approvals": counts.approvals,
            "approvalsPending": counts.approvals_pending,
            "tools": counts.tools,
            "policies": counts.policies,
            "policyVersion": result.state.all_policies().active_version().map(|version| version.to_string()),
        });
        if let (Value::Object(all), Value::Object(more)) = (&mut value, more) {
            all.extend(more);
        }
        value
    }
}

impl<'a> DifferenceReport<'a> {
    /// Compares two states.
    ///
    /// # Errors
    /// [`UnwritableState`].
    pub fn new(one: &'a FoldResult, other: &'a FoldResult) -> Result<Self, UnwritableState> {
        let states = [StateReport::new(one)?, StateReport::new(other)?];
        let found = one.state.differences(&other.state, MAX_SHOWN_DIFFERENCES)?;
        Ok(Self { states, found })
    }

    /// Returns `true` if the states are the same.
    #[must_use]
    pub fn is_same(&self) -> bool {
        let [one, other] = &self.states;
        one.digests.state == other.digests.state
    }

    /// Returns it as lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.states.iter().map(StateReport::digest_line).collect();
        lines.extend(self.states.iter().filter_map(StateReport::begins_line));
        for StateDifference { part, key, one, other } in &self.found.shown {
            lines.push(format!("{part} {}", printable(key)));
            let values = [('-', one), ('+', other)];
            let shown = values.into_iter().filter_map(|(sign, value)| {
                let value = printable(&value.as_ref()?.to_string());
                Some(format!("  {sign} {}", shortened(&value, SHOWN_VALUE_CHARACTERS)))
            });
            lines.extend(shown);
        }
        let hidden = self.found.found - self.found.shown.len() as u64;
        lines.extend((hidden > 0).then(|| format!("and {hidden} more")));
        lines
    }

    /// Returns it as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let difference = |difference: &StateDifference| {
            json!({
                "part": difference.part,
                "key": difference.key,
                "one": difference.one,
                "other": difference.other,
            })
        };
        json!({
            "same": self.is_same(),
            "states": self.states.iter().map(StateReport::digest_json).collect::<Vec<_>>(),
            "found": self.found.found,
            "differences": self.found.shown.iter().map(difference).collect::<Vec<_>>(),
        })
    }
}

/// Returns the number of events folded in a second.
fn rate(result: &FoldResult) -> u64 {
    let millis = result.took.as_millis().max(1);
    u64::try_from(u128::from(result.position.get()) * 1_000 / millis).unwrap_or(u64::MAX)
}
