//! The decisions about calls, and the events that come of them and of answers.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use bitacora_harness::Dialect;
use bitacora_import::EventDraft;

use super::Watcher;
use crate::error::WatchError;
use crate::evidence::{Dodge, GapEvidence, answer_event, gap_data, gap_event};
use crate::followed::{Followed, Now, SeenCall, file_name};
use crate::gate::Recorded;
use crate::limits::MAX_SESSIONS;
use crate::matching::dodge_by_id;
use crate::report::WatchReport;

/// A call that is due, and where it was seen.
struct DueCall {
    path: PathBuf,
    place: (u64, usize),
    call: SeenCall,
}

impl Watcher {
    /// Records the answers of models that are complete.
    pub(super) async fn record_answers(&mut self, told: &mut Vec<WatchReport>) -> Result<(), WatchError> {
        let harness = self.dialect.harness();
        let mut recorded = 0_usize;
        for followed in self.followed.values_mut().filter(|followed| !followed.answers.is_empty()) {
            let answers = followed.answers.iter();
            let events: Vec<EventDraft> =
                answers.map(|answer| answer_event(harness, &answer.draft)).collect();
            let done = self.gate.append(&events).await?;
            recorded = recorded.saturating_add(done.iter().filter(|done| **done == Recorded::New).count());
            followed.answers.clear();
        }
        if recorded > 0 {
            self.status.answers = self.status.answers.saturating_add(recorded as u64);
            told.push(WatchReport::Models { connection: self.connection.name.clone(), answers: recorded });
        }
        Ok(())
    }

    /// Decides about the calls that are due, one session after another.
    pub(super) async fn decide(&mut self, now: Now, told: &mut Vec<WatchReport>) -> Result<(), WatchError> {
        for (session, calls) in self.due(now) {
            let dodges = match self.dialect {
                Dialect::Gemini => self.by_arguments(&session, &calls).await?,
                Dialect::Claude | Dialect::Codex | Dialect::Cursor => self.by_id(&session, &calls).await?,
            };
            for (due, dodge) in calls.into_iter().zip(dodges) {
                if let Some(dodge) = dodge {
                    self.record_gap(&due, dodge, told).await?;
                }
                if let Some(followed) = self.followed.get_mut(&due.path) {
                    followed.calls.remove(&due.place);
                }
            }
        }
        Ok(())
    }

    /// Returns the calls that are due, by session and in the order of their time.
    fn due(&self, now: Now) -> BTreeMap<String, Vec<DueCall>> {
        let mut due: BTreeMap<String, Vec<DueCall>> = BTreeMap::new();
        for (path, followed) in &self.followed {
            for (place, call) in followed.calls.iter().filter(|(_, call)| call.due <= now.steady) {
                let call = DueCall { path: path.clone(), place: *place, call: call.clone() };
                due.entry(call.call.session.clone()).or_default().push(call);
            }
        }
        for calls in due.values_mut() {
            calls.sort_by(|a, b| (&a.call.time, a.place).cmp(&(&b.call.time, b.place)));
        }
        due
    }

    async fn by_id(&mut self, session: &str, calls: &[DueCall]) -> Result<Vec<Option<Dodge>>, WatchError> {
        let ids: HashSet<String> = calls.iter().map(|due| due.call.call.clone()).collect();
        let recorded = self.gate.recorded(session, &ids).await?;
        Ok(calls.iter().map(|due| dodge_by_id(&due.call, recorded.get(&due.call.call))).collect())
    }

    async fn by_arguments(
        &mut self,
        session: &str,
        calls: &[DueCall],
    ) -> Result<Vec<Option<Dodge>>, WatchError> {
        if self.sessions.len() >= MAX_SESSIONS {
            let followed: HashSet<String> = self.followed.values().filter_map(Followed::session).collect();
            self.sessions.retain(|session, _| followed.contains(session));
        }
        let known = self.sessions.entry(session.to_owned()).or_default();
        self.gate.requests(session, known).await?;
        Ok(calls.iter().map(|due| known.dodge(&due.call)).collect())
    }

    async fn record_gap(
        &mut self,
        due: &DueCall,
        dodge: Dodge,
        told: &mut Vec<WatchReport>,
    ) -> Result<(), WatchError> {
        let DueCall { path, call, .. } = due;
        let (event, evidence) = gap_event(self.dialect.harness(), &file_name(path), call, dodge);
        let (recorded, evidence) = self.append_gap(event, evidence, call).await?;
        let connection = self.connection.name.clone();
        match recorded {
            Recorded::New => {
                self.status.gaps = self.status.gaps.saturating_add(1);
                let (session, id, tool) = (call.session.clone(), call.call.clone(), call.tool.clone());
                told.push(WatchReport::Gap { connection, session, call: id, tool, evidence });
            }
            Recorded::Refused(why) => {
                told.push(WatchReport::Failed {
                    connection,
                    why: format!("a gap cannot be recorded: {why}"),
                });
            }
            // Nothing is recorded, so the call stays to be decided.
            Recorded::Taken => return Err(WatchError::IdTaken(call.call.clone())),
            Recorded::Before => {}
        }
        if let Some(known) = self.sessions.get_mut(&call.session) {
            known.add_decided(call.call.clone());
        }
        Ok(())
    }

    /// Records a gap, and returns its evidence. Where another event has its id, only a recorded gap that says the same counts. Else
    /// it is recorded under an id that nobody can foretell, and says so.
    async fn append_gap(
        &mut self,
        event: EventDraft,
        evidence: GapEvidence,
        call: &SeenCall,
    ) -> Result<(Recorded, String), WatchError> {
        let done = self.append_one(&event).await?;
        if done != Recorded::Taken {
            return Ok((done, evidence.text()));
        }
        let other = evidence.of_taken_id();
        if self.gate.has_gap(call, &[&evidence, &other]).await? {
            return Ok((Recorded::Before, evidence.text()));
        }
        let (id, data) = (random_id()?, gap_data(call, &other.text()));
        let done = self.append_one(&EventDraft { id, data, ..event }).await?;
        Ok((done, other.text()))
    }

    async fn append_one(&mut self, event: &EventDraft) -> Result<Recorded, WatchError> {
        let done = self.gate.append(std::slice::from_ref(event)).await?;
        done.into_iter().next().ok_or(WatchError::Answer)
    }
}

/// Returns an id that nobody can foretell.
fn random_id() -> Result<String, WatchError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| WatchError::Random)?;
    Ok(hex::encode(random))
}
