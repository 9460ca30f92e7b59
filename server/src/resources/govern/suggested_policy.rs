//! The version of the policy that an accepted suggestion publishes.

use bitacora_governance::{Policies, Policy, PolicyVersion};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{
    BoundedList, BoundedText, Dimension, Glob, Name, Normaliser, Note, OneOrMany, PolicyPublished,
    PolicySettings, Rule, TrustRules, Verdict,
};

use crate::api::Api;
use crate::problem::{Code, FaultLocation, Problem};
use crate::requests::service_event::governance;
use crate::strict_object::ObjectMembers;

/// Begins the note of a version of the policy that came of a suggestion.
pub(super) const ACCEPTED_NOTE: &str = "suggestion ";

/// As many working folders as there are.
const ANY_FOLDER: &str = "**";

/// The working folders that a rule is to be held to.
pub(super) enum Folders {
    /// These.
    Within(OneOrMany<Glob>),
    /// Any.
    Any,
}

pub(super) fn take_cwd(members: &mut ObjectMembers<'_>) -> Result<Option<Folders>, Problem> {
    let Some(globs) = members.take::<OneOrMany<Glob>>("cwd")? else { return Ok(None) };
    let is_any = globs.as_slice().iter().any(|glob| glob.as_str() == ANY_FOLDER);
    Ok(Some(if is_any { Folders::Any } else { Folders::Within(globs) }))
}

/// Narrows a rule to the working folders that are given. The context of a path or a command is told from its working folder on. So a rule
/// that allows has to name its folders: calls that went well in one speak for no other.
pub(super) fn narrow(
    rule: &mut Rule,
    dimension: Option<&Dimension>,
    cwd: Option<Folders>,
    ledger: &IndexedLedger,
) -> Result<(), Problem> {
    match cwd {
        Some(Folders::Within(globs)) => rule.matches.cwd = Some(globs),
        Some(Folders::Any) => (),
        None if rule.action == Verdict::Allow && is_told_from_a_folder(dimension, ledger)? => {
            let why = "is missing: calls like this are told from their working folder on; name those that are meant, such as \"/home/ana/work/**\", or \"**\" for every one";
            let place = FaultLocation::Body { line: None, pointer: "/cwd".to_owned() };
            return Err(Problem::new(Code::Schema, format!("`cwd` {why}")).with_fault(place, why));
        }
        None => (),
    }
    Ok(())
}

fn is_told_from_a_folder(dimension: Option<&Dimension>, ledger: &IndexedLedger) -> Result<bool, Problem> {
    let Some(dimension) = dimension else { return Ok(false) };
    let (server, tool) = dimension
        .tool()
        .split_once('/')
        .map_or((None, dimension.tool()), |(server, tool)| (Some(server), tool));
    Ok(governance(ledger)?.read(|state| {
        let registered = state.tools().get(tool, server);
        let from = registered.and_then(|registered| registered.document.context_from.as_ref());
        from.is_some_and(|from| matches!(from.normaliser, Normaliser::Path | Normaliser::Command))
    }))
}

/// The next version of the policy, and where its new rule stands.
pub(super) struct Next {
    pub(super) published: PolicyPublished,
    pub(super) place: usize,
    pub(super) behind: Option<Name>,
    pub(super) decided_before: Vec<Name>,
}

/// The next version of the policy: with this rule in the first place where it makes nothing milder that somebody forbade. Rules accepted
/// since the active version was published are in it too, so that none of them is lost once it is activated.
pub(super) async fn next_policy(
    api: &Api,
    ledger: &IndexedLedger,
    rule: (Rule, Dimension),
    author: BoundedText<1024>,
    note: Option<Note>,
) -> Result<Next, Problem> {
    let (version, base) = governance(ledger)?.read(|state| {
        let policies = state.all_policies();
        (policies.next_version(), newest_accepted(policies).cloned())
    });
    api.read(move || with_rule(rule, base.as_ref(), version, author, note)).await
}

/// The active version, or the last of those that followed it by suggestions alone.
fn newest_accepted(policies: &Policies) -> Option<&PolicyVersion> {
    let mut newest = policies.active_version().and_then(|version| policies.get(version))?;
    for (_, later) in policies.iter().filter(|(_, later)| !later.retired) {
        let document = &later.document;
        let is_of_suggestion =
            document.note.as_ref().is_some_and(|note| note.as_str().starts_with(ACCEPTED_NOTE));
        if document.parent == Some(newest.document.version) && is_of_suggestion {
            newest = later;
        }
    }
    Some(newest)
}

fn with_rule(
    (rule, dimension): (Rule, Dimension),
    base: Option<&PolicyVersion>,
    version: u64,
    author: BoundedText<1024>,
    note: Option<Note>,
) -> Result<Next, Problem> {
    let unfit = |error: &dyn std::fmt::Display| {
        Problem::new(Code::Schema, format!("the policy cannot take the rule: {error}"))
    };
    let base = base.map(|base| &*base.document);
    let trust = base.map_or(TrustRules::v2(), |base| base.trust);
    let settings = base.map(PolicyPublished::settings).unwrap_or_default();
    let rules = base.map_or(&[][..], |base| &base.rules);
    let placed =
        Policy::compile(rules, &trust).map_err(|error| unfit(&error))?.with_rule_about(&dimension, rule);
    let rules = BoundedList::new(placed.rules).map_err(|error| unfit(&error))?;
    let policy = Policy::compile(&rules, &trust)
        .and_then(|policy| policy.with_settings(settings.clone()))
        .map_err(|error| unfit(&error))?;
    let digest = Name::new(policy.digest().to_string()).map_err(|error| unfit(&error))?;
    let parent = base.map(|base| base.version);
    let PolicySettings { key_life_s, bounds, times, exit_codes_count, unregistered, files, workspaces } =
        settings;
    let published = PolicyPublished {
        version,
        digest,
        rules,
        trust,
        key_life_s,
        bounds,
        times,
        exit_codes_count,
        unregistered,
        files,
        workspaces,
        author,
        parent,
        note,
    };
    Ok(Next { published, place: placed.place, behind: placed.behind, decided_before: placed.decided_before })
}
