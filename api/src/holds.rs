//! Legal holds.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use bitacora_vocabulary::HoldScope;

/// Legal holds in force.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HoldList {
    /// By their ids.
    pub holds: Vec<HoldAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A legal hold in force.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HoldAnswer {
    /// Its id.
    pub hold: String,
    /// The events that it covers.
    pub scope: HoldScopeAnswer,
    /// The position of the event that placed it, `hold.placed`.
    pub position: String,
    /// The time of that event.
    pub time: String,
    /// The person on whose behalf it was placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The reason.
    pub reason: String,
}

/// The scope of a hold: the events that agree with every member; without any, all.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HoldScopeAnswer {
    /// Of the data subject whose key has this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// From this position on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// Up to this position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Of this stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
}

impl From<&HoldScope> for HoldScopeAnswer {
    fn from(scope: &HoldScope) -> Self {
        let HoldScope { key, first, last, stream } = scope;
        Self {
            key: key.map(|key| key.to_string()),
            first: first.map(|first| first.get().to_string()),
            last: last.map(|last| last.get().to_string()),
            stream: stream.as_ref().map(ToString::to_string),
        }
    }
}

/// The body that places a hold.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HoldRequest {
    /// Its id, which no other hold in force has.
    #[schema(example = "case-7")]
    pub hold: String,
    /// The data subject whose events it covers, as events give the name in `datasubject`. It is not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The position of the first event that it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The position of the last one, which is recorded already. Without it the hold covers events to come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The stream whose events it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// The reason. It is recorded for good, so it may not hold the subject's name.
    #[schema(example = "the proceedings of case 7")]
    pub reason: String,
    /// The person on whose behalf it is placed. It is recorded for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A hold that was placed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HoldPlacedAnswer {
    /// The position of its event, `hold.placed`.
    pub position: String,
    /// Its id.
    pub hold: String,
    /// A reason to look at the hold again: no event has its stream yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The body that releases a hold.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HoldReleaseRequest {
    /// The reason.
    pub reason: String,
    /// The person on whose behalf it is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}
