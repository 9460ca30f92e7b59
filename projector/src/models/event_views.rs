//! The data of the commonest events, read once for all models of a thread that fold them.

use std::borrow::Cow;
use std::cell::OnceCell;

use bitacora_vocabulary::{Dimension, MAX_ARTIFACTS, TrustOutcome, Verdict};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess};
use serde::{Deserialize, Serialize};

use super::lenient::{LenientValue, count_or_zero, lenient};
use super::model::{AssuranceMarker, FoldError, FoldEvent};

/// A call that is asked for.
#[derive(Deserialize)]
pub(crate) struct ToolRequestView<'a> {
    #[serde(borrow)]
    pub(crate) call: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) tool: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) server: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) task_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) run: Option<Cow<'a, str>>,
    /// The request to the model whose answer asked for the call.
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub(crate) request: Option<Cow<'a, str>>,
    /// Logs of calls tell what that answer took, with each of its calls.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) tokens: Option<Tokens>,
    #[serde(default)]
    pub(crate) assurance: Option<AssuranceMarker>,
}

impl<'a> ToolRequestView<'a> {
    /// Returns the known part of a request whose data is sealed: the call's id.
    pub(crate) fn of_sealed(call: &'a str) -> Self {
        Self {
            call: Cow::Borrowed(call),
            tool: Cow::Borrowed("-"),
            server: None,
            model: None,
            task_type: None,
            run: None,
            request: None,
            tokens: None,
            assurance: None,
        }
    }
}

/// The data of a decision on a call.
#[derive(Deserialize)]
pub(crate) struct DecisionView<'a> {
    #[serde(borrow)]
    pub(crate) call: Cow<'a, str>,
    pub(crate) verdict: Verdict,
    #[serde(borrow)]
    pub(crate) mode: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) reason_code: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) reason: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) rule: Option<Cow<'a, str>>,
    /// The approval that the call waits for, or that it brought.
    #[serde(borrow, default)]
    pub(crate) approval: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) inputs: DecisionInputs<'a>,
}

/// The inputs of a decision.
#[derive(Deserialize)]
pub(crate) struct DecisionInputs<'a> {
    #[serde(default)]
    pub(crate) imported: bool,
    #[serde(default)]
    pub(crate) policy_version: Option<u64>,
    /// The role of the agent that asked.
    #[serde(borrow, default)]
    pub(crate) role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) dimension: DecisionDimension<'a>,
}

/// The dimension that the call counts in.
#[derive(Deserialize)]
pub(crate) struct DecisionDimension<'a> {
    #[serde(borrow, default)]
    pub(crate) context: Option<Cow<'a, str>>,
}

/// The data of a model's answer or a call's outcome. Neither has all of these.
#[derive(Default, Deserialize)]
pub(crate) struct OutcomeView<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub(crate) model: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub(crate) call: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub(crate) status: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub(crate) error_type: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) exit_code: Option<i64>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) tokens: Option<Tokens>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) cost_micro_usd: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) duration_ms: Option<u64>,
    /// The request to the model that it is the answer of.
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub(crate) request: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub(crate) input_summary: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub(crate) summary: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) artifacts: Option<Artifacts>,
    #[serde(default)]
    pub(crate) assurance: Option<AssuranceMarker>,
}

/// The artifacts that a call made or changed. Each is a text, or an object that says more of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Artifacts(pub(crate) Vec<Artifact>);

/// One of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Artifact {
    pub(crate) path: String,
    pub(crate) kind: Option<String>,
    pub(crate) digest: Option<String>,
}

#[derive(Deserialize)]
struct WrittenArtifact {
    #[serde(default, deserialize_with = "lenient")]
    path: Option<String>,
    #[serde(default, rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    digest: Option<String>,
}

/// One that may be read.
#[derive(Deserialize)]
struct MaybeArtifact(#[serde(deserialize_with = "lenient")] Option<Artifact>);

impl<'de> LenientValue<'de> for Artifact {
    fn of_text(path: Cow<'de, str>) -> Option<Self> {
        Some(Self { path: path.into_owned(), ..Self::default() })
    }

    fn of_object<A: MapAccess<'de>>(members: A) -> Result<Option<Self>, A::Error> {
        let WrittenArtifact { path, kind, digest } =
            WrittenArtifact::deserialize(MapAccessDeserializer::new(members))?;
        Ok(path.map(|path| Self { path, kind, digest }))
    }
}

impl<'de> LenientValue<'de> for Artifacts {
    fn of_list<A: SeqAccess<'de>>(mut elements: A) -> Result<Option<Self>, A::Error> {
        let mut all = Vec::new();
        while let Some(MaybeArtifact(artifact)) = elements.next_element()? {
            all.extend(artifact.filter(|_| all.len() < MAX_ARTIFACTS));
        }
        Ok(Some(Self(all)))
    }
}

/// Tokens that an answer of a model took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) read: u64,
    pub(crate) written: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
}

/// The same, as events write them.
#[derive(Deserialize)]
struct WrittenTokens {
    #[serde(default, rename = "in", deserialize_with = "count_or_zero")]
    read: u64,
    #[serde(default, rename = "out", deserialize_with = "count_or_zero")]
    written: u64,
    #[serde(default, deserialize_with = "count_or_zero")]
    cache_read: u64,
    #[serde(default, deserialize_with = "count_or_zero")]
    cache_write: u64,
}

impl<'de> LenientValue<'de> for Tokens {
    fn of_object<A: MapAccess<'de>>(members: A) -> Result<Option<Self>, A::Error> {
        let WrittenTokens { read, written, cache_read, cache_write } =
            WrittenTokens::deserialize(MapAccessDeserializer::new(members))?;
        Ok(Some(Self { read, written, cache_read, cache_write }))
    }
}

/// An observation of a dimension.
#[derive(Deserialize)]
pub(crate) struct ObservationView {
    pub(crate) dimension: Dimension,
    pub(crate) outcome: TrustOutcome,
    #[serde(default)]
    pub(crate) post_check_passed: Option<bool>,
    #[serde(default)]
    pub(crate) duration_ms: Option<u64>,
    #[serde(default)]
    pub(crate) tokens: Option<u64>,
    #[serde(default)]
    pub(crate) cost_micro_usd: Option<u64>,
    #[serde(default)]
    pub(crate) assurance: Option<AssuranceMarker>,
}

/// The parts read of one event.
#[derive(Default)]
pub(super) struct Readings<'a> {
    requested: OnceCell<ToolRequestView<'a>>,
    decided: OnceCell<DecisionView<'a>>,
    outcome: OnceCell<OutcomeView<'a>>,
    observed: OnceCell<ObservationView>,
}

/// Each of these is `None` where the data is sealed under a data subject's key, or there is none.
impl<'a> FoldEvent<'a> {
    /// The data of a request.
    pub(crate) fn requested(&self) -> Result<Option<&ToolRequestView<'a>>, FoldError> {
        self.read_once(&self.readings.requested)
    }

    /// The data of a decision.
    pub(crate) fn decided(&self) -> Result<Option<&DecisionView<'a>>, FoldError> {
        self.read_once(&self.readings.decided)
    }

    /// The data of a model's answer, or of a call's end.
    pub(crate) fn outcome(&self) -> Result<Option<&OutcomeView<'a>>, FoldError> {
        self.read_once(&self.readings.outcome)
    }

    /// The data of an observation.
    pub(crate) fn observed(&self) -> Result<Option<&ObservationView>, FoldError> {
        self.read_once(&self.readings.observed)
    }

    fn read_once<'s, T: Deserialize<'a>>(&self, cell: &'s OnceCell<T>) -> Result<Option<&'s T>, FoldError> {
        if let Some(read) = cell.get() {
            return Ok(Some(read));
        }
        Ok(self.data::<T>()?.map(|read| cell.get_or_init(|| read)))
    }
}
