//! The starter's tools and policy for a ledger that has none, so that a new user's first calls are judged by something.

use bitacora_api::{PolicyAnswer, PolicyPublishedAnswer};
use bitacora_client::percent_encoded;
use bitacora_governance::{STARTER_POLICY, STARTER_TOOLS};
use hyper::Method;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::CommandError;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::service::ServiceFailure;

/// The member by which a tool is put into the registry.
#[derive(Deserialize)]
struct NamedTool {
    tool: String,
}

/// Registers the starter's tools, and publishes and activates its policy, where the ledger has no active policy. Returns the
/// version that it made active.
pub(super) fn publish_if_none(context: &mut CommandContext) -> Result<Option<String>, CommandError> {
    let policy: PolicyAnswer = context.read("policy")?;
    if policy.active.is_some() || !policy.versions.is_empty() {
        return Ok(None);
    }
    let tools: Vec<&RawValue> = serde_json::from_str(STARTER_TOOLS).map_err(ServiceFailure::Request)?;
    for tool in tools {
        let named: NamedTool = serde_json::from_str(tool.get()).map_err(ServiceFailure::Request)?;
        context.send(&Method::PUT, &format!("tools/{}", percent_encoded(&named.tool)), Some(&tool))?;
    }
    let starter: &RawValue = serde_json::from_str(STARTER_POLICY).map_err(ServiceFailure::Request)?;
    let published: PolicyPublishedAnswer = context.send(&Method::PUT, "policy", Some(&starter))?.read()?;
    let version = published.version;
    context.send(&Method::POST, &format!("policy/{version}:activate"), None::<&()>)?;
    Ok(Some(version))
}
