//! The runs that were started and have not ended. Their events do not expire.

use std::collections::BTreeSet;

use bitacora_formats::{Data, Event};
use bitacora_governance::run_of;
use bitacora_vocabulary::{EventData, RunAborted, RunCompleted, RunFailed, RunStarted};

use crate::limits::MAX_OPEN_RUNS;

/// The runs that were started and have not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OpenRuns {
    open: BTreeSet<String>,
    /// Set where part of the log cannot be read, or where too many runs are open: any run may be open.
    may_be_others: bool,
}

impl OpenRuns {
    /// The types of the events that it is read from.
    pub(super) const KINDS: [&str; 4] =
        [RunStarted::KIND, RunCompleted::KIND, RunFailed::KIND, RunAborted::KIND];

    /// Part of the log cannot be read, or there are too many: any run may be open. None is known by its name any more.
    pub(super) fn pass_over(&mut self) {
        self.may_be_others = true;
        self.open = BTreeSet::new();
    }

    /// Takes in the next event, if it is of these types.
    pub(super) fn take(&mut self, event: &Event<'_>) {
        if !Self::KINDS.contains(&&*event.kind) {
            return;
        }
        let data = match &event.data {
            Data::Json(json) => Some(json.as_bytes()),
            _ => None,
        };
        let Some(run) = run_of(event.run.as_deref(), data) else { return };
        if event.kind != RunStarted::KIND {
            self.open.remove(&*run);
        } else if !self.may_be_others {
            self.open.insert(run.into_owned());
            if self.open.len() > MAX_OPEN_RUNS {
                tracing::warn!(
                    most = MAX_OPEN_RUNS,
                    "too many runs have no end; no event that names a run expires"
                );
                self.pass_over();
            }
        }
    }

    /// Returns `true` if an event with this attribute `run` and this data is of a run that may be open.
    pub(super) fn include(&self, run: Option<&str>, data: Option<&[u8]>) -> bool {
        if self.open.is_empty() && !self.may_be_others {
            return false;
        }
        run_of(run, data).is_some_and(|run| self.may_be_others || self.open.contains(&*run))
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use bitacora_formats::Json;

    use super::*;

    fn event(kind: &'static str, attribute: Option<&'static str>, data: &str) -> Event<'static> {
        let mut event = Event::new("e", "urn:test", kind, "runs");
        event.run = attribute.map(Cow::Borrowed);
        event.data = Data::Json(Json::check(data.as_bytes().to_vec()).unwrap());
        event
    }

    #[test]
    fn a_run_is_named_by_data_or_attribute() {
        let mut runs = OpenRuns::default();
        assert!(!runs.include(Some("r1"), None), "no run is open");
        runs.take(&event(RunStarted::KIND, None, r#"{"run":"r1","kind":"graph"}"#));
        runs.take(&event(RunStarted::KIND, Some("r2"), "{}"));
        runs.take(&event(RunStarted::KIND, Some("r9"), r#"{"run":"r3"}"#));
        let open = |attribute, data: &str| runs.include(attribute, Some(data.as_bytes()));
        assert!(open(Some("r1"), "{}") && open(None, r#"{"run":"r1"}"#) && open(Some("r2"), "[1]"));
        assert!(open(None, r#"{"run":"r3"}"#) && !open(Some("r9"), "{}") && !open(None, r#"{"run":7}"#));
        runs.take(&event(RunCompleted::KIND, None, r#"{"run":"r1"}"#));
        assert!(!runs.include(Some("r1"), None) && runs.include(Some("r2"), None));
    }

    #[test]
    fn any_run_may_be_open_where_too_many_are() {
        let mut runs = OpenRuns::default();
        let started = |run: usize| event(RunStarted::KIND, None, &format!(r#"{{"run":"r{run}"}}"#));
        (0..MAX_OPEN_RUNS).for_each(|run| runs.take(&started(run)));
        assert!(runs.include(Some("r0"), None) && !runs.include(Some("another"), None));
        runs.take(&started(0));
        assert!(!runs.include(Some("another"), None), "as many as before");
        runs.take(&started(MAX_OPEN_RUNS));
        assert!(runs.include(Some("r0"), None) && runs.include(Some("another"), None));
        assert!(!runs.include(None, Some(b"{}")), "it names no run");
        (0..=MAX_OPEN_RUNS).for_each(|run| {
            runs.take(&event(RunCompleted::KIND, None, &format!(r#"{{"run":"r{run}"}}"#)));
            runs.take(&started(run));
        });
        assert!(runs.open.is_empty() && runs.include(Some("another"), None));
    }
}
