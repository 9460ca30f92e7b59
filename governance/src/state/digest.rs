//! The digest of a state: two that have it in common decide alike from there on.
//!
//! The encoding stands in `docs/formats/state_digest.md`.

use std::fmt;
use std::io::{BufWriter, Write};

use bitacora_formats::{KeyUse, chain_hasher};
use serde::Serialize;

use crate::state::State;

/// Bytes of a part's text that are hashed at once.
const HASHED_AT_ONCE: usize = 64 * 1024;

/// The digest of a state, or of one of its parts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateDigest(pub [u8; 32]);

impl fmt::Display for StateDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for StateDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateDigest({self})")
    }
}

/// A part of a state, by the number that it has in digests for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatePart {
    /// The number.
    pub number: u32,
    /// Its name.
    pub name: &'static str,
}

/// A state by its digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDigests {
    /// The digest of all of it.
    pub state: StateDigest,
    /// The digest of each part that holds anything, by its number.
    pub parts: Vec<(StatePart, StateDigest)>,
}

/// Looks at every part of a state in the order of their numbers.
pub(crate) trait PartVisitor {
    /// The error of a visit.
    type Error;

    /// Visits one part. A part without any event has its default value.
    fn part<T: Serialize + Default + PartialEq>(
        &mut self,
        part: StatePart,
        value: &T,
    ) -> Result<(), Self::Error>;
}

/// The name of a part in digests and snapshots: that of its field, unless another one was written before.
macro_rules! part_name {
    ($name:ident) => {
        stringify!($name)
    };
    ($name:ident $written:literal) => {
        $written
    };
}

/// Shows every part, so that none can be forgotten. A number is never given twice.
macro_rules! parts {
    ($($number:literal $name:ident $(as $written:literal)?,)*) => {
        impl State {
            pub(crate) fn each_part<V: PartVisitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
                let State { $($name),* } = self;
                $(visitor.part(StatePart { number: $number, name: part_name!($name $($written)?) }, $name)?;)*
                Ok(())
            }
        }
    };
}

parts! {
    1 trust,
    2 imported,
    3 breakers,
    4 calls,
    5 approvals,
    6 keys,
    7 registry,
    8 policies,
    9 modes,
    10 grants,
    11 suspensions as "stops",
    12 time,
    13 imported_calls,
    14 rates,
    15 principals,
    16 custom_types,
    17 imports,
    18 imported_time,
    19 live_sessions,
    20 unread,
    21 probes,
    22 clock,
    23 begun,
    24 budgets,
    25 loop_guard as "rounds",
    26 contracts,
    27 rules,
    28 ended_calls,
    29 checks_failed,
    30 tool_sightings,
    31 holds,
    32 retention,
}

/// A state has no digest: one of its texts cannot be written. No recorded event leads there.
#[derive(Debug, thiserror::Error)]
#[error("`{part}` of the state cannot be written: {source}")]
pub struct UnwritableState {
    part: &'static str,
    source: serde_json::Error,
}

impl UnwritableState {
    pub(crate) fn new(part: StatePart, source: serde_json::Error) -> Self {
        Self { part: part.name, source }
    }
}

impl State {
    /// Returns the digests of the state and its parts.
    ///
    /// # Errors
    /// [`UnwritableState`].
    pub fn digests(&self) -> Result<StateDigests, UnwritableState> {
        let mut parts = StateParts(Vec::new());
        self.each_part(&mut parts)?;
        let StateParts(parts) = parts;
        let mut hasher = chain_hasher(KeyUse::GovernanceState);
        for (part, digest) in &parts {
            hasher.update(&part.number.to_le_bytes());
            hasher.update(&digest.0);
        }
        Ok(StateDigests { state: StateDigest(*hasher.finalize().as_bytes()), parts })
    }
}

impl State {
    /// Counts the bytes of the text that the digests cover. Takes as long as the digests.
    ///
    /// # Errors
    /// [`UnwritableState`].
    pub fn text_bytes(&self) -> Result<u64, UnwritableState> {
        let mut bytes = TextBytes(0);
        self.each_part(&mut bytes)?;
        Ok(bytes.0)
    }
}

/// The number of bytes that were written.
struct TextBytes(u64);

impl Write for TextBytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl PartVisitor for TextBytes {
    type Error = UnwritableState;

    fn part<T: Serialize + Default + PartialEq>(
        &mut self,
        part: StatePart,
        value: &T,
    ) -> Result<(), UnwritableState> {
        if *value == T::default() {
            return Ok(());
        }
        serde_json::to_writer(self, value).map_err(|source| UnwritableState::new(part, source))
    }
}

struct StateParts(Vec<(StatePart, StateDigest)>);

impl PartVisitor for StateParts {
    type Error = UnwritableState;

    fn part<T: Serialize + Default + PartialEq>(
        &mut self,
        part: StatePart,
        value: &T,
    ) -> Result<(), UnwritableState> {
        // So a part that a later version adds changes no digest of a history without it.
        if *value == T::default() {
            return Ok(());
        }
        let unwritable = |source| UnwritableState::new(part, source);
        let mut text = BufWriter::with_capacity(HASHED_AT_ONCE, chain_hasher(KeyUse::GovernancePart));
        serde_json::to_writer(&mut text, value).map_err(unwritable)?;
        text.flush().map_err(|error| unwritable(serde_json::Error::io(error)))?;
        self.0.push((part, StateDigest(*text.get_ref().finalize().as_bytes())));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
