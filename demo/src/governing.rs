//! The governing of the hour by the starter's policy, the starter's tools and those of the hour, and the decisions that it gives.

use bitacora_api::{PolicyPublishedAnswer, StoredEventPage};
use bitacora_client::{ClientError, percent_encoded};
use bitacora_governance::{STARTER_POLICY, STARTER_TOOLS};
use bitacora_vocabulary::{ReasonCode, Verdict};
use hyper::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::connected_ledger::ConnectedLedger;

/// The tools that the hour's agents call and the starter does not name.
const HOUR_TOOLS: &str = include_str!("tools.json");
/// The number of decisions of one page.
const PAGE_EVENTS: usize = 1_000;

/// The decisions on all calls of the hour.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct DecisionCounts {
    /// Calls that may run.
    pub allowed: u64,
    /// Calls that a person reviews.
    pub reviewed: u64,
    /// Calls that may not run.
    pub denied: u64,
    /// Calls whose tool is not registered.
    pub unregistered: u64,
}

#[derive(Deserialize)]
struct NamedTool {
    tool: String,
}

#[derive(Deserialize)]
struct DecisionEvent {
    data: DecisionData,
}

#[derive(Deserialize)]
struct DecisionData {
    verdict: Verdict,
    reason_code: ReasonCode,
}

impl ConnectedLedger {
    /// Registers the starter's tools and the hour's, and publishes and activates the starter's policy.
    ///
    /// # Errors
    /// [`ClientError`]; what was done until then stays.
    pub async fn begin(&mut self) -> Result<(), ClientError> {
        for tools in [STARTER_TOOLS, HOUR_TOOLS] {
            let tools: Vec<&RawValue> = serde_json::from_str(tools).map_err(|_| self.service.strange())?;
            for tool in tools {
                let NamedTool { tool: name } =
                    serde_json::from_str(tool.get()).map_err(|_| self.service.strange())?;
                let path = format!("tools/{}", percent_encoded(&name));
                self.read::<IgnoredAny>(Method::PUT, &path, Some(tool.get())).await?;
            }
        }
        let PolicyPublishedAnswer { version, .. } =
            self.read(Method::PUT, "policy", Some(STARTER_POLICY)).await?;
        self.read::<IgnoredAny>(Method::POST, &format!("policy/{version}:activate"), None).await?;
        Ok(())
    }

    /// Counts the decisions.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn count(&mut self) -> Result<DecisionCounts, ClientError> {
        let (mut decided, mut after) = (DecisionCounts::default(), 0);
        loop {
            let path = format!("events?type=decision.made&limit={PAGE_EVENTS}&after={after}");
            let page: StoredEventPage = self.read(Method::GET, &path, None).await?;
            for stored in &page.events {
                let event: DecisionEvent =
                    serde_json::from_str(stored.event.get()).map_err(|_| self.service.strange())?;
                decided.add(&event.data);
            }
            // A page leads on, and never back.
            match page.next.and_then(|next| next.parse::<u64>().ok()).filter(|next| *next > after) {
                Some(next) => after = next,
                None => return Ok(decided),
            }
        }
    }
}

impl DecisionCounts {
    fn add(&mut self, data: &DecisionData) {
        match data.verdict {
            Verdict::Allow => self.allowed += 1,
            Verdict::Review => self.reviewed += 1,
            Verdict::Deny => self.denied += 1,
        }
        self.unregistered += u64::from(data.reason_code == ReasonCode::ToolUnknown);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bitacora_vocabulary::ToolDocument;

    use super::*;

    #[test]
    fn each_tool_of_the_hour_is_registered_once() {
        let named = |tools: &str| -> Vec<String> {
            let tools: Vec<ToolDocument> = serde_json::from_str(tools).unwrap();
            tools.iter().map(|tool| tool.tool.to_string()).collect()
        };
        let (starter, own) = (named(STARTER_TOOLS), named(HOUR_TOOLS));
        let mut sorted = own.clone();
        sorted.sort();
        assert_eq!(own, sorted, "they are sorted by their names");
        let registered: BTreeSet<_> = starter.iter().chain(&own).collect();
        assert_eq!(registered.len(), starter.len() + own.len());
        let called = crate::hour::called_tools();
        let missing: Vec<_> = called.iter().filter(|tool| !registered.contains(tool)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let idle: Vec<_> = own.iter().filter(|tool| !called.contains(*tool)).collect();
        assert!(idle.is_empty(), "{idle:?}");
    }
}
