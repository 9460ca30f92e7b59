//! The governing of a quickstart's hour by the starter's tools and policy, and the decisions they give.

use bitacora_api::PolicyPublishedAnswer;
use bitacora_client::{ClientError, Connection, percent_encoded};
use bitacora_formats::LedgerName;
use bitacora_governance::{STARTER_POLICY, STARTER_TOOLS};
use bitacora_vocabulary::{ReasonCode, Verdict};
use hyper::Method;
use hyper::body::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::ledger_access::event_page::EventPage;

/// The number of decisions of one page.
const PAGE_EVENTS: usize = 1_000;

/// The decisions on all calls of the hour.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct DecisionCounts {
    pub(super) allowed: u64,
    /// Calls that a person reviews.
    pub(super) reviewed: u64,
    pub(super) denied: u64,
    /// Denied calls whose tool is not registered.
    pub(super) unregistered: u64,
}

/// The ledger, through its interface.
pub(super) struct GovernanceClient<'a> {
    pub(super) service: &'a mut Connection,
    pub(super) ledger: &'a LedgerName,
}

#[derive(Deserialize)]
struct NamedTool {
    tool: String,
}

#[derive(Deserialize)]
struct DecisionData {
    verdict: Verdict,
    reason_code: ReasonCode,
}

impl GovernanceClient<'_> {
    /// Registers the starter's tools, and publishes and activates its policy.
    pub(super) async fn begin(&mut self) -> Result<(), ClientError> {
        let tools: Vec<&RawValue> =
            serde_json::from_str(STARTER_TOOLS).map_err(|_| self.service.strange())?;
        for tool in tools {
            let named: NamedTool = serde_json::from_str(tool.get()).map_err(|_| self.service.strange())?;
            let path = format!("tools/{}", percent_encoded(&named.tool));
            self.ask(&Method::PUT, &path, Some(tool.get())).await?;
        }
        let published = self.ask(&Method::PUT, "policy", Some(STARTER_POLICY)).await?;
        let PolicyPublishedAnswer { version, .. } = self.read(&published)?;
        self.ask(&Method::POST, &format!("policy/{version}:activate"), None).await?;
        Ok(())
    }

    /// Counts the decisions.
    pub(super) async fn count(&mut self) -> Result<DecisionCounts, ClientError> {
        let (mut decided, mut after) = (DecisionCounts::default(), "0".to_owned());
        loop {
            let path = format!("events?type=decision.made&limit={PAGE_EVENTS}&after={after}");
            let page = self.ask(&Method::GET, &path, None).await?;
            let page: EventPage = self.read(&page)?;
            let next = page.next(&after);
            for (_, data) in page.events() {
                decided.add(&serde_json::from_value(data).map_err(|_| self.service.strange())?);
            }
            match next {
                Some(next) => after = next,
                None => return Ok(decided),
            }
        }
    }

    async fn ask(&mut self, method: &Method, path: &str, json: Option<&str>) -> Result<Bytes, ClientError> {
        let path = format!("/v1/ledgers/{}/{path}", self.ledger);
        let json = json.map(|json| Bytes::copy_from_slice(json.as_bytes()));
        self.service.exchange(method, &path, json, None).await
    }

    fn read<T: DeserializeOwned>(&self, answer: &Bytes) -> Result<T, ClientError> {
        serde_json::from_slice(answer).map_err(|_| self.service.strange())
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
