//! `…/starter`: the program's policy and tools beside those of the ledger, and the upgrade to them.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_governance::{
    Policies, PolicyDiff, Starter, StarterState, StarterTool, StarterToolState, State as Governing,
};
use bitacora_vocabulary::{
    Name, Note, PolicyActivated, PolicyDocument, PolicyPublished, ToolChanged, ToolRegistered,
};

use crate::access::caller::Caller;
use crate::api::Api;
use crate::json::raw_json;
use crate::problem::{Code, Problem};
use crate::requests::act::Act;
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::requests::service_event::{ServiceEvent, governance};
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::resources::govern::{policy, tools};
use bitacora_api::{StarterAnswer, StarterToolAnswer, StarterToolUpgrade, StarterUpgradeAnswer, paths};

#[utoipa::path(
    get,
    path = paths::STARTER,
    tag = "governance",
    operation_id = "showStarter",
    params(InLedger, AtLeast),
    responses(
        (status = 200, description = "What the active policy and the registered tools are to the starter of the service", body = StarterAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let head = request.state(&api).await?;
    let ledger = request.ledger.clone();
    let answer = api.read(move || {
        let starter = shipped()?;
        let copy = governance(&ledger)?.copy();
        let active = copy.state.all_policies().active_version();
        let differs = |active| {
            let active = policy::published(&ledger, active)?;
            Ok::<_, Problem>(policy::differences(PolicyDiff::between(&active, &starter.policy)))
        };
        Ok(StarterAnswer {
            state: copy.state.starter_state().as_str().to_owned(),
            digest: starter.policy.digest().to_string(),
            document: raw_json(&starter.document)?,
            active: active.map(|version| version.to_string()),
            differences: active.map(differs).transpose()?,
            tools: copy.state.starter_tools().into_iter().map(tool_answer).collect::<Result<_, _>>()?,
        })
    });
    json_answer(&head, &answer.await?)
}

fn tool_answer(tool: StarterTool) -> Result<StarterToolAnswer, Problem> {
    let StarterTool { document, registered, state } = tool;
    let other = registered.filter(|_| state != StarterToolState::Current);
    Ok(StarterToolAnswer {
        tool: document.tool.to_string(),
        server: document.server.as_ref().map(ToString::to_string),
        state: state.as_str().to_owned(),
        document: raw_json(&document)?,
        registered: other.map(|registered| raw_json(&registered.document)).transpose()?,
    })
}

#[utoipa::path(
    post,
    path = paths::STARTER_UPGRADE,
    tag = "governance",
    operation_id = "upgradeStarter",
    params(InLedger),
    responses(
        (status = 200, description = "The starter of the service is active; what was missing of it is recorded, all of it or nothing", body = StarterUpgradeAnswer),
        Refusals,
    )
)]
pub(crate) async fn upgrade(mut act: Act) -> Result<Response, Problem> {
    let starter = shipped()?;
    let _nothing = act.read_if_any(|_| Ok(())).await?;
    let _one_at_a_time = act.turn().await;
    let upgrade = act.governance().read(Upgrade::of)?;
    let events = upgrade.events(starter, &act)?;
    let recorded = if events.is_empty() { None } else { Some(act.record_together(events).await?.0) };
    let tools = upgrade.tools.iter().map(|tool| StarterToolUpgrade {
        tool: tool.document.tool.to_string(),
        server: tool.document.server.as_ref().map(ToString::to_string),
        status: if tool.registered.is_some() { "changed" } else { "registered" }.to_owned(),
    });
    let answer = StarterUpgradeAnswer {
        position: recorded.as_ref().map(|recorded| recorded.first.to_string()),
        version: upgrade.version.to_string(),
        published: upgrade.publishes,
        activated: upgrade.activates.is_some(),
        tools: tools.collect(),
    };
    let head = recorded.map_or_else(|| act.ledger.head(), |recorded| recorded.head);
    json_answer(&head, &answer)
}

/// The record of an upgrade: nothing, where it was done before.
struct Upgrade {
    /// The version that the starter has, or gets.
    version: u64,
    publishes: bool,
    /// The outdated version that it takes the place of.
    activates: Option<u64>,
    tools: Vec<StarterTool>,
}

impl Upgrade {
    fn of(state: &Governing) -> Result<Self, Problem> {
        let policies = state.all_policies();
        let Some(active) = policies.active_version() else {
            let detail = "no policy is active; publish the starter with `bitacora policy publish --starter --activate`";
            return Err(Problem::new(Code::NoSuchPolicy, detail));
        };
        let tools = || state.starter_tools().into_iter().filter(|tool| tool.state.is_upgraded()).collect();
        match state.starter_state() {
            StarterState::Current => {
                Ok(Self { version: active, publishes: false, activates: None, tools: tools() })
            }
            StarterState::Outdated => {
                let published = published_before(policies);
                let version = published.unwrap_or_else(|| policies.next_version());
                Ok(Self { version, publishes: published.is_none(), activates: Some(active), tools: tools() })
            }
            StarterState::None | StarterState::Own => {
                let detail = format!(
                    "the active policy, version {active}, is no starter: it is your own, and nothing was changed; to judge calls by the \
                     starter in its place, `bitacora policy publish --starter --activate`"
                );
                Err(Problem::new(Code::OwnPolicy, detail))
            }
        }
    }

    /// The events, tools first: a decision by the new rules finds the tools that they mean.
    fn events(&self, starter: &Starter, act: &Act) -> Result<Vec<ServiceEvent>, Problem> {
        let mut events = Vec::with_capacity(self.tools.len() + 2);
        for tool in &self.tools {
            let document = tool.document.clone();
            events.push(match tool.registered {
                Some(_) => {
                    ServiceEvent::act(&act.ledger, &act.caller, tools::STREAM, &ToolChanged(document))?
                }
                None => {
                    ServiceEvent::act(&act.ledger, &act.caller, tools::STREAM, &ToolRegistered(document))?
                }
            });
        }
        if let Some(outdated) = self.activates {
            let note = Note::new(format!("the starter, in the place of version {outdated}")).ok();
            if self.publishes {
                let published = self.published(starter, outdated, note.clone(), &act.caller)?;
                events.push(ServiceEvent::act(&act.ledger, &act.caller, policy::STREAM, &published)?);
            }
            let activated = PolicyActivated { version: self.version, note };
            events.push(ServiceEvent::act(&act.ledger, &act.caller, policy::STREAM, &activated)?);
        }
        Ok(events)
    }

    fn published(
        &self,
        starter: &Starter,
        outdated: u64,
        note: Option<Note>,
        caller: &Caller,
    ) -> Result<PolicyPublished, Problem> {
        let digest = Name::new(starter.policy.digest().to_string())
            .map_err(|error| Problem::new(Code::Internal, format!("the starter has no digest: {error}")))?;
        let PolicyDocument {
            rules,
            trust,
            key_life_s,
            bounds,
            times,
            files,
            exit_codes_count,
            unregistered,
            workspaces,
        } = starter.document.clone();
        Ok(PolicyPublished {
            version: self.version,
            digest,
            rules,
            trust,
            key_life_s,
            bounds,
            times,
            files,
            exit_codes_count,
            unregistered,
            workspaces,
            author: caller.actor_text(),
            parent: Some(outdated),
            note,
        })
    }
}

/// The version under which the starter was published, and not activated since or not any more.
fn published_before(policies: &Policies) -> Option<u64> {
    let digest = Starter::shipped()?.policy.digest();
    let is_starter =
        |document: &PolicyPublished| policy::compile(document).is_ok_and(|policy| policy.digest() == digest);
    let mut versions = policies.iter().rev();
    versions
        .find(|(_, version)| !version.retired && is_starter(&version.document))
        .map(|(version, _)| version)
}

fn shipped() -> Result<&'static Starter, Problem> {
    Starter::shipped()
        .ok_or_else(|| Problem::new(Code::Internal, "the starter within the program cannot be read"))
}
