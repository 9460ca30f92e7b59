//! Read models without which the service is not ready.

use std::str::FromStr;

use bitacora_projector::{ModelState, ModelStatus, ReadModels, model_names};

use crate::ledgers::slot::Slot;
use crate::limits::MAX_REQUIRED_LAG;

/// The name of a read model that each ledger has to answer from for the service to be ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiredModel(&'static str);

/// A name that no read model has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no read model; there are {}", known.join(", "))]
pub struct NoSuchModel {
    name: String,
    known: Vec<&'static str>,
}

impl RequiredModel {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl FromStr for RequiredModel {
    type Err = NoSuchModel;

    fn from_str(name: &str) -> Result<Self, NoSuchModel> {
        let found = model_names().find(|known| *known == name).map(Self);
        found.ok_or_else(|| NoSuchModel { name: name.to_owned(), known: model_names().collect() })
    }
}

/// Returns the reasons for which a ledger's required models are not ready, one for each. A ledger that is not open has other reasons.
pub(crate) fn why_models_are_not_ready(slot: &Slot, required: &[RequiredModel]) -> Vec<String> {
    let Slot::Open(ledger) = slot else { return Vec::new() };
    if required.is_empty() {
        return Vec::new();
    }
    let models = ledger.read_models().map(ReadModels::status).unwrap_or_default();
    let reasons = required.iter().filter_map(|required| {
        match models.iter().find(|model| model.name == required.name()) {
            Some(model) => why_not_ready(model),
            None => Some(format!("the read model {} is required, and none are kept", required.name())),
        }
    });
    reasons.collect()
}

fn why_not_ready(model: &ModelStatus) -> Option<String> {
    let (name, lag) = (model.name, model.lag);
    match &model.state {
        ModelState::Stopped(why) => {
            Some(format!("the read model {name} is required, and has stopped: {why}"))
        }
        ModelState::Degraded(why) if !model.answers => {
            Some(format!("the read model {name} is required, and has nothing to answer from: {why}"))
        }
        ModelState::Rebuilding => {
            Some(format!("the read model {name} is required, and is being folded: {lag} events to go"))
        }
        ModelState::Ok | ModelState::Degraded(_) if lag > MAX_REQUIRED_LAG => Some(format!(
            "the read model {name} is required, and is {lag} events behind, more than {MAX_REQUIRED_LAG}"
        )),
        // It answers, and says up to where.
        ModelState::Ok | ModelState::Degraded(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(state: ModelState, lag: u64) -> ModelStatus {
        let answers = matches!(state, ModelState::Ok | ModelState::Degraded(_));
        ModelStatus {
            bytes: None,
            cut: None,
            left: 0,
            is_cutting: false,
            late: 0,
            name: "calls",
            version: 1,
            position: None,
            lag,
            state,
            answers,
            digest: None,
            doubts: 0,
        }
    }

    #[test]
    fn a_model_is_ready_while_it_answers_and_is_not_far_behind() {
        let failing = || ModelState::Degraded("the disk".to_owned());
        for (state, lag) in [(ModelState::Ok, 0), (ModelState::Ok, MAX_REQUIRED_LAG), (failing(), 1)] {
            assert_eq!(why_not_ready(&model(state, lag)), None);
        }
        let stopped = ModelState::Stopped("position 7: no".to_owned());
        for (state, lag, part) in [
            (ModelState::Ok, MAX_REQUIRED_LAG + 1, "events behind"),
            (failing(), MAX_REQUIRED_LAG + 1, "events behind"),
            (ModelState::Rebuilding, 0, "being folded"),
            (stopped, 0, "position 7: no"),
        ] {
            let why = why_not_ready(&model(state, lag)).unwrap();
            assert!(why.contains(part) && why.contains("calls"), "{why}");
        }
        let silent = ModelStatus { answers: false, ..model(failing(), 0) };
        let why = why_not_ready(&silent).unwrap();
        assert!(why.contains("nothing to answer from: the disk"), "{why}");
    }

    #[test]
    fn what_no_model_is_called_is_refused() {
        assert_eq!("calls".parse::<RequiredModel>().unwrap().name(), "calls");
        for wrong in ["", "call", "index", "Calls", "calls,costs"] {
            let told = wrong.parse::<RequiredModel>().unwrap_err().to_string();
            assert!(told.contains("checkpoints") && told.contains("trust"), "{told}");
        }
    }
}
