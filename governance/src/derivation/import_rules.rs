//! The rules of imports: their times, the room for them, their end and their acceptance.

use bitacora_formats::Micros;
use bitacora_vocabulary::{Dimension, Sha256Text};

use crate::limits::{MAX_DIMENSIONS, MAX_IMPORTS};
use crate::reactor::ObservedEvent;
use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::state::imports::{Import, ImportedDimension};
use crate::state::{GovernedTime, State};
use crate::trust::record::TrustRecord;
use crate::trust::rules::{TrustInputs, assess};

impl State {
    /// Imports that came to their end, by their digests.
    pub fn imports(&self) -> impl Iterator<Item = (&Sha256Text, &Import)> {
        self.imports.iter()
    }

    /// Returns one of them.
    #[must_use]
    pub fn import(&self, digest: &Sha256Text) -> Option<&Import> {
        self.imports.get(digest)
    }

    /// Returns the changes that an import would make once it counts, dimension by dimension, at this time. Empty where it counts
    /// already.
    #[must_use]
    pub fn would_change(&self, import: &Import, at: Micros) -> Vec<ImportedDimension> {
        let rules = self.trust_rules();
        let changed = |(dimension, record): &(Dimension, TrustRecord)| {
            let now = self.trust_of(dimension, false);
            let mut accepted = now;
            accepted.apply_earlier(record);
            ImportedDimension {
                dimension: dimension.clone(),
                record: *record,
                inputs_now: TrustInputs::from(&now),
                inputs_accepted: TrustInputs::from(&accepted),
                now: assess(&now, &rules, at),
                accepted: assess(&accepted, &rules, at),
            }
        };
        import.records.iter().map(changed).collect()
    }

    /// Returns the time of an event that was recorded elsewhere, as far as its recording can be believed. It is never before the
    /// previous event of the same import, and never later than now. A time in the future is ignored.
    pub(crate) fn imported_time(&self, placed: &ObservedEvent<'_>) -> Micros {
        let GovernedTime(previous) = *self.imported_time.get();
        let own = placed.event.time.as_deref().and_then(|time| bitacora_formats::parse_time(time).ok());
        match own.filter(|own| *own <= placed.time) {
            Some(own) => Micros(own.0.max(previous)),
            None if previous > 0 => Micros(previous),
            None => placed.time,
        }
    }

    /// Remembers the time of an event that was recorded elsewhere, for the next event of the same import.
    pub(crate) fn take_imported_time(&mut self, placed: &ObservedEvent<'_>) -> Micros {
        let time = self.imported_time(placed);
        // While no event has told a time yet, the frame's time says nothing of the next event's.
        if time < placed.time {
            self.imported_time.change(|last| last.0 = time.0);
        }
        time
    }

    /// Returns `true` if an outcome in this dimension can be taken in: the dimension is there already, or there is room for it.
    pub(crate) fn has_room_for_imported(&self, dimension: &Dimension) -> bool {
        self.imported.len() < MAX_DIMENSIONS || self.imported.get(dimension).is_some()
    }

    pub(crate) fn may_end_import(&self, digest: &Sha256Text) -> Result<(), ReactorRefusal> {
        if self.imports.get(digest).is_some() {
            let reason = format!("import {} came to its end before; it holds what it held", digest.as_str());
            return Err(ReactorRefusal::new(RefusalCode::AlreadyResolved, reason));
        }
        let waiting: usize = self.imports.iter().map(|(_, import)| import.records.len()).sum();
        if self.imports.len() >= MAX_IMPORTS || waiting + self.imported.len() > MAX_DIMENSIONS {
            let reason = "too much that was imported waits; accept some of it first";
            return Err(ReactorRefusal::new(RefusalCode::StateFull, reason));
        }
        Ok(())
    }

    pub(crate) fn may_accept_import(&self, digest: &Sha256Text) -> Result<(), ReactorRefusal> {
        let Some(import) = self.imports.get(digest) else {
            let reason = format!("there is no import {}; its `import.batch` comes first", digest.as_str());
            return Err(ReactorRefusal::new(RefusalCode::NoSuchThing, reason));
        };
        if let Some(accepted) = import.accepted {
            let reason = format!("import {} counts since position {accepted}", digest.as_str());
            return Err(ReactorRefusal::new(RefusalCode::AlreadyResolved, reason));
        }
        let new = import.records.iter().filter(|(dimension, _)| self.trust.get(dimension).is_none()).count();
        if self.trust.len() + new > MAX_DIMENSIONS {
            let reason = "there would be too many dimensions of trust; nothing was taken over";
            return Err(ReactorRefusal::new(RefusalCode::StateFull, reason));
        }
        Ok(())
    }

    /// Ends an import: it consists of all that was brought since the last one ended.
    pub(crate) fn apply_import_ended(&mut self, digest: &Sha256Text, position: u64) {
        if self.imports.get(digest).is_some() {
            return;
        }
        let records: Vec<_> =
            self.imported.iter().map(|(dimension, record)| (dimension.clone(), *record)).collect();
        for (dimension, _) in &records {
            self.imported.remove(dimension);
        }
        self.imported_time.change(|last| *last = GovernedTime::default());
        self.imports.insert(digest.clone(), Import { position, accepted: None, records });
    }

    /// Makes an import count from now on, behind the observations made here: it happened before.
    pub(crate) fn apply_import_accepted(&mut self, digest: &Sha256Text, position: u64) {
        let Some(import) = self.imports.get(digest).filter(|import| import.accepted.is_none()).cloned()
        else {
            return;
        };
        for (dimension, record) in &import.records {
            self.trust.change_or(dimension, TrustRecord::default, |own| own.apply_earlier(record));
        }
        let counted = Import { accepted: Some(position), records: Vec::new(), ..import };
        self.imports.insert(digest.clone(), counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: usize) -> Sha256Text {
        let mut digest = [0; 32];
        digest.iter_mut().zip(number.to_be_bytes()).for_each(|(to, byte)| *to = byte);
        Sha256Text::of_digest(&digest)
    }

    fn dimension(number: usize) -> Dimension {
        Dimension::new("t", format!("{number:07}"), "-", "-").unwrap()
    }

    /// Returns an import of as many dimensions as there may be, all of the same name.
    fn largest() -> Import {
        let records = vec![(Dimension::default(), TrustRecord::default()); MAX_DIMENSIONS];
        Import { position: 1, accepted: None, records }
    }

    fn code(result: Result<(), ReactorRefusal>) -> Result<(), RefusalCode> {
        result.map_err(|refusal| refusal.code)
    }

    #[test]
    fn imports_that_wait_hold_as_many_dimensions_together_as_there_may_be() {
        let mut state = State::default();
        state.imports.insert(digest(1), largest());
        assert_eq!(code(state.may_end_import(&digest(2))), Ok(()));
        assert_eq!(code(state.may_accept_import(&digest(1))), Ok(()));
        state.imported.insert(dimension(1), TrustRecord::default());
        assert_eq!(code(state.may_end_import(&digest(2))), Err(RefusalCode::StateFull));
        state.trust.insert(dimension(1), TrustRecord::default());
        assert_eq!(code(state.may_accept_import(&digest(1))), Err(RefusalCode::StateFull));
    }

    #[test]
    fn so_many_imports_are_stored() {
        let mut state = State::default();
        let empty = || Import { position: 1, accepted: None, records: Vec::new() };
        (1..MAX_IMPORTS).for_each(|number| state.imports.insert(digest(number), empty()));
        assert_eq!(code(state.may_end_import(&digest(0))), Ok(()));
        state.imports.insert(digest(0), empty());
        assert_eq!(code(state.may_end_import(&digest(MAX_IMPORTS))), Err(RefusalCode::StateFull));
    }

    #[test]
    fn an_import_that_has_all_dimensions_goes_on_with_those_it_has() {
        let mut state = State::default();
        state.imported.pause();
        for number in 1..=MAX_DIMENSIONS {
            assert!(number > 1 || state.has_room_for_imported(&dimension(0)));
            state.imported.insert(dimension(number), TrustRecord::default());
        }
        assert!(state.has_room_for_imported(&dimension(7)) && !state.has_room_for_imported(&dimension(0)));
    }
}
