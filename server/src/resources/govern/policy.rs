//! `…/policy`: the rules that calls are judged by, version by version.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bitacora_governance::{Policies, Policy, PolicyDiff, PolicyError, PolicyVersion};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{
    BoundedList, BoundedText, MAX_RULES, Name, Note, PolicyActivated, PolicyPublished, PolicyRetired,
    PolicySettings, Rule, TrustRules,
};

use crate::api::Api;
use crate::http::media::single_header;
use crate::json::raw_json;
use crate::problem::{Code, FaultLocation, Problem};
use crate::requests::act::{Act, no_such_verb};
use crate::requests::listing::PageParams;
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::strict_object::ObjectMembers;
use bitacora_api::{
    PolicyAnswer, PolicyDiffAnswer, PolicyDifferences, PolicyDocumentAnswer, PolicyPublishedAnswer,
    PolicyRequest, PolicyVersionAnswer, VersionAnswer, paths,
};

/// The stream of all versions.
pub(super) const STREAM: &str = "governance/policy";

#[utoipa::path(
    get,
    path = paths::POLICY,
    tag = "governance",
    operation_id = "showPolicy",
    params(
        InLedger,
        ("version" = Option<u64>, Query, description = "The version whose document is answered; without it, that of the active one"),
        ("after" = Option<String>, Query, description = "Versions behind it: the `next` of the page before"),
        ("limit" = Option<usize>, Query, description = "At most this many versions: 100 without it, up to 1,000"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The versions, and one document", body = PolicyAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let asked = query.take_parsed::<u64>("version", "a version")?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let policies = copy.state.all_policies();
    let active = policies.active_version();
    let shown = asked.or(active).and_then(|version| policies.get(version));
    if let (Some(asked), None) = (asked, shown) {
        return Err(no_such_version(asked));
    }
    let behind = policies.iter().filter(|(version, _)| paging.after.is_none_or(|after| *version > after));
    let page = paging.page(behind, |(version, _)| *version);
    let answer = PolicyAnswer {
        active: active.map(|version| version.to_string()),
        starter: copy.state.starter_state().as_str().to_owned(),
        versions: page.items.into_iter().map(|(_, version)| version_answer(version)).collect(),
        next: page.next,
        document: shown.map(|shown| raw_json(&*shown.document)).transpose()?,
    };
    let mut response = json_answer(&head, &answer)?;
    if let Ok(tag) = HeaderValue::try_from(policies_tag(policies)) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

fn version_answer(version: &PolicyVersion) -> PolicyVersionAnswer {
    let document = &version.document;
    PolicyVersionAnswer {
        version: document.version.to_string(),
        digest: document.digest.to_string(),
        author: document.author.to_string(),
        parent: document.parent.map(|parent| parent.to_string()),
        note: document.note.as_ref().map(ToString::to_string),
        rules: document.rules.len() as u64,
        retired: version.retired,
    }
}

/// The entity tag of all versions: the newest, the active one, and the number of retired ones. Each of them changes with the answer.
fn policies_tag(policies: &Policies) -> String {
    let newest = policies.next_version().saturating_sub(1);
    let retired = policies.iter().filter(|(_, version)| version.retired).count();
    format!("\"p{newest}.{}.{retired}\"", policies.active_version().unwrap_or_default())
}

#[utoipa::path(
    get,
    path = paths::POLICY_VERSION,
    tag = "governance",
    operation_id = "showPolicyVersion",
    params(
        InLedger,
        ("version" = String, Path, description = "The version"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The version, with its document", body = PolicyDocumentAnswer),
        Refusals,
    )
)]
pub(crate) async fn show_version(
    State(api): State<Arc<Api>>,
    request: ReadRequest,
) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let version = named_version(request.names.named.as_deref().unwrap_or_default())?;
    let head = request.state(&api).await?;
    let found = version_of(&request.ledger, version)?;
    let active = governance(&request.ledger)?.read(|state| state.all_policies().active_version());
    let answer = PolicyDocumentAnswer {
        about: version_answer(&found),
        active: active == Some(version),
        document: raw_json(&*found.document)?,
    };
    json_answer(&head, &answer)
}

#[utoipa::path(
    get,
    path = paths::POLICY_DIFF,
    tag = "governance",
    operation_id = "comparePolicies",
    params(
        InLedger,
        ("version" = String, Path, description = "The version"),
        ("from" = Option<u64>, Query, description = "The version that it is compared with; without it, the one that it was made from, else the one before it"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "What is written differently", body = PolicyDiffAnswer),
        Refusals,
    )
)]
pub(crate) async fn diff(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let asked = query.take_parsed::<u64>("from", "a version")?;
    query.finish()?;
    let to = named_version(request.names.named.as_deref().unwrap_or_default())?;
    let head = request.state(&api).await?;
    let ledger = request.ledger.clone();
    let answer = api.read(move || {
        let parent = version_of(&ledger, to)?.document.parent;
        let from = asked.or(parent).unwrap_or_else(|| to.saturating_sub(1));
        let (earlier, later) = (published(&ledger, from)?, published(&ledger, to)?);
        let differences = differences(PolicyDiff::between(&earlier, &later));
        Ok(PolicyDiffAnswer { from: from.to_string(), to: to.to_string(), differences })
    });
    json_answer(&head, &answer.await?)
}

pub(super) fn differences(diff: PolicyDiff) -> PolicyDifferences {
    PolicyDifferences {
        added: diff.added,
        removed: diff.removed,
        changed: diff.changed,
        moved: diff.moved,
        trust_changed: diff.trust_changed,
        key_life_changed: diff.key_life_changed,
        bounds_changed: diff.bounds_changed,
        times_changed: diff.times_changed,
        exit_codes_changed: diff.exit_codes_changed,
        unregistered_changed: diff.unregistered_changed,
        files_changed: diff.files_changed,
        workspaces_changed: diff.workspaces_changed,
    }
}

/// A version as a path names it.
fn named_version(text: &str) -> Result<u64, Problem> {
    let version = if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None };
    version.ok_or_else(|| Problem::new(Code::NoSuchPolicy, "there is no such version; `…/policy` lists them"))
}

/// A published version, ready to judge.
pub(super) fn published(ledger: &IndexedLedger, version: u64) -> Result<Policy, Problem> {
    let found = version_of(ledger, version)?;
    let document = &found.document;
    compile(document).map_err(|error| {
        Problem::new(Code::Internal, format!("version {version} of the policy cannot be read: {error}"))
    })
}

/// Makes a published version ready to judge.
pub(super) fn compile(document: &PolicyPublished) -> Result<Policy, PolicyError> {
    Policy::compile(&document.rules, &document.trust)
        .and_then(|policy| policy.with_settings(document.settings()))
}

fn version_of(ledger: &IndexedLedger, version: u64) -> Result<PolicyVersion, Problem> {
    let found = governance(ledger)?.read(|state| state.all_policies().get(version).cloned());
    found.ok_or_else(|| no_such_version(version))
}

fn no_such_version(version: u64) -> Problem {
    Problem::new(Code::NoSuchPolicy, format!("there is no version {version} of the policy"))
}

/// A version as it is sent to be published.
pub(super) struct PolicySubmission {
    rules: BoundedList<Rule, 0, MAX_RULES>,
    trust: TrustRules,
    settings: PolicySettings,
    version: Option<u64>,
    digest: Option<Name>,
    parent: Option<u64>,
    author: Option<BoundedText<1024>>,
    note: Option<Note>,
}

impl PolicySubmission {
    fn read(body: &[u8]) -> Result<Self, Problem> {
        let mut members = ObjectMembers::of_body(body)?;
        let submission = Self {
            rules: members.require("rules")?,
            trust: members.take("trust")?.unwrap_or(TrustRules::v2()),
            settings: PolicySettings {
                key_life_s: members.take("key_life_s")?,
                bounds: members.take("bounds")?,
                times: members.take("times")?,
                exit_codes_count: members.take("exit_codes_count")?,
                unregistered: members.take("unregistered")?,
                files: members.take("files")?,
                workspaces: members.take("workspaces")?,
            },
            version: take_version(&mut members, "version")?,
            digest: members.take("digest")?,
            parent: take_version(&mut members, "parent")?,
            author: members.take("author")?,
            note: members.take("note")?,
        };
        members.finish()?;
        Ok(submission)
    }
}

/// A version is a decimal text, as it is answered.
fn take_version(members: &mut ObjectMembers<'_>, name: &'static str) -> Result<Option<u64>, Problem> {
    let Some(text) = members.take::<String>(name)? else { return Ok(None) };
    let version = if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None };
    version.map(Some).ok_or_else(|| members.bad(name, &"a version is a decimal text such as \"2\""))
}

#[utoipa::path(
    put,
    path = paths::POLICY,
    tag = "governance",
    operation_id = "publishPolicy",
    params(
        InLedger,
        ("If-Match" = Option<String>, Header, description = "The ETag of `…/policy` as its author saw it"),
    ),
    request_body(content = PolicyRequest),
    responses(
        (status = 201, description = "Published: it can be activated, and never changes again", body = PolicyPublishedAnswer),
        Refusals,
    )
)]
pub(crate) async fn publish(mut act: Act) -> Result<Response, Problem> {
    let body = act.body().await?;
    let (submission, policy) = act.api.read(move || compiled(body.as_slice())).await?;
    let author = act.caller.actor_text();
    if submission.author.as_ref().is_some_and(|named| *named != author) {
        let fault = format!(
            "who publishes is its author, and that is `{author}`; leave it out, or say in `note` whose work it is"
        );
        let place = FaultLocation::Body { line: None, pointer: "/author".to_owned() };
        return Err(Problem::new(Code::Forbidden, fault.clone()).with_fault(place, fault));
    }
    let digest = Name::new(policy.digest().to_string())
        .map_err(|error| Problem::new(Code::Internal, format!("the policy has no digest: {error}")))?;
    let _one_at_a_time = act.turn().await;
    let (next, tag) = act.governance().read(|state| {
        let policies = state.all_policies();
        (policies.next_version(), policies_tag(policies))
    });
    if single_header(&act.headers, &header::IF_MATCH)?.is_some_and(|seen| seen != tag) {
        let detail = format!("the policies are {tag} now; read them and decide anew");
        return Err(Problem::new(Code::ConditionFailed, detail).with("actual", next.saturating_sub(1)));
    }
    let newest = next.checked_sub(1).filter(|newest| *newest > 0);
    if submission.parent.is_some_and(|parent| Some(parent) != newest)
        || submission.version.is_some_and(|v| v != next)
    {
        let detail = format!("the next version of the policy is {next}; read the newest and decide anew");
        return Err(Problem::new(Code::ConditionFailed, detail).with("actual", next.saturating_sub(1)));
    }
    let PolicySettings { key_life_s, bounds, times, exit_codes_count, unregistered, files, workspaces } =
        submission.settings;
    let published = PolicyPublished {
        version: next,
        digest: digest.clone(),
        rules: submission.rules,
        trust: submission.trust,
        key_life_s,
        bounds,
        times,
        exit_codes_count,
        unregistered,
        files,
        workspaces,
        author,
        parent: submission.parent,
        note: submission.note,
    };
    let recorded = act.record(STREAM, &published).await?;
    let (version, digest) = (next.to_string(), digest.to_string());
    recorded.answer_as(StatusCode::CREATED, |position| PolicyPublishedAnswer { position, version, digest })
}

/// The version that a body is, ready to judge. Nothing that could not is published.
pub(super) fn compiled(body: &[u8]) -> Result<(PolicySubmission, Policy), Problem> {
    let submission = PolicySubmission::read(body)?;
    let policy = Policy::compile(&submission.rules, &submission.trust)
        .and_then(|policy| policy.with_settings(submission.settings.clone()))
        .and_then(|policy| policy.check_zones().map(|()| policy))
        .map_err(|error| Problem::new(Code::Schema, format!("the rules cannot be meant: {error}")))?;
    let digest = policy.digest().to_string();
    if submission.digest.as_ref().is_some_and(|said| said.as_str() != digest) {
        return Err(Problem::new(Code::Schema, format!("the digest of the rules is {digest}")));
    }
    Ok((submission, policy))
}

#[utoipa::path(
    post,
    path = paths::POLICY_VERSION,
    tag = "governance",
    operation_id = "changePolicy",
    params(
        InLedger,
        ("version" = String, Path, description = "The version, and what becomes of it: `2:activate` or `2:retire`"),
    ),
    responses(
        (status = 200, description = "Recorded", body = VersionAnswer),
        Refusals,
    )
)]
pub(crate) async fn change(mut act: Act) -> Result<Response, Problem> {
    let (version, verb) = act.named_verb();
    let activates = match verb {
        "activate" => true,
        "retire" => false,
        _ => return Err(no_such_verb("what becomes of a version is `:activate` or `:retire`")),
    };
    let version = named_version(version)?;
    let note = act.note("note").await?;
    let recorded = if activates {
        act.record(STREAM, &PolicyActivated { version, note }).await?
    } else {
        act.record(STREAM, &PolicyRetired { version, note }).await?
    };
    let version = version.to_string();
    recorded.answer_as(StatusCode::OK, |position| VersionAnswer { position, version })
}
