//! `policy`: versions of the rules that decide calls.

pub(super) mod differences;
mod trial;

use std::path::{Path, PathBuf};

use bitacora_api::{
    NoteRequest, PolicyAnswer, PolicyDiffAnswer, PolicyDocumentAnswer, PolicyPublishedAnswer,
};
use bitacora_governance::STARTER_POLICY;
use clap::{Args, Subcommand};
use hyper::Method;
use serde::Serialize;
use serde_json::{Value, json};

use super::starter::OUTDATED;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::document::{Document, DocumentError};
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::merge_pages::MergedPages;
use crate::ledger_access::query::{named, with_query};
use crate::ledger_access::service::ServiceAnswer;
use crate::options::optional_command::OptionalCommand;
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{Cell, TextTable, cells, shortened};

pub(crate) type PolicyArguments = OptionalCommand<PolicyCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show the versions, and the rules of one (default).
    Show {
        /// The version. [default: the active one]
        #[arg(id = "shown-version", value_name = "VERSION", value_parser = version)]
        version: Option<u64>,
    },
    /// Publish the next version; it takes effect once it is activated.
    Publish {
        /// The rules and, where it differs from the default, the trust settings, as in `policy.published`; `-` is stdin.
        #[arg(value_name = "FILE", required_unless_present = "starter", conflicts_with = "starter")]
        file: Option<PathBuf>,
        /// Publish the policy for coding agents, as `policy starter` writes it.
        #[arg(long)]
        starter: bool,
        /// Activate it too.
        #[arg(long)]
        activate: bool,
    },
    /// Activate this version, which decides calls from now on.
    Activate(Version),
    /// Retire this version.
    Retire(Version),
    /// Compare the rules of two versions; exit code 1 if they differ.
    Diff {
        /// The first version. [default: the active one]
        #[arg(value_parser = version)]
        one: Option<u64>,
        /// The second version. [default: the newest]
        #[arg(value_parser = version)]
        other: Option<u64>,
    },
    /// Try a policy on recorded calls; publishes and records nothing.
    DryRun {
        /// The policy, as `policy publish` takes it; `-` is stdin.
        #[arg(value_name = "FILE", required_unless_present = "starter", conflicts_with = "starter")]
        file: Option<PathBuf>,
        /// Try the policy for coding agents, as `policy starter` writes it.
        #[arg(long)]
        starter: bool,
        #[command(flatten)]
        calls: TrialCalls,
    },
    /// Try a published version on recorded calls; records nothing.
    WhatIf {
        /// The version.
        #[arg(id = "tried-version", value_name = "VERSION", value_parser = version)]
        version: u64,
        #[command(flatten)]
        calls: TrialCalls,
    },
    /// Write the starter policy for coding agents.
    Starter,
}

/// The recorded calls that a policy is tried on.
#[derive(Debug, Args, Serialize)]
pub(crate) struct TrialCalls {
    /// Try at most this many calls, the newest. [default: 1000]
    #[arg(long, value_name = "CALLS")]
    limit: Option<u32>,
    /// Only calls of this tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Version {
    /// The version's number.
    #[arg(id = "changed-version", value_name = "VERSION", value_parser = version)]
    version: u64,
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    note: Option<String>,
}

/// Parses a version's number: `2`, or `v2` as `replay --policy` takes it.
fn version(text: &str) -> Result<u64, &'static str> {
    let number = text.strip_prefix('v').unwrap_or(text).parse().ok();
    number
        .filter(|number| *number > 0)
        .ok_or("a version is a number, as `bitacora policy` lists them: 2, or v2")
}

pub(crate) fn run(arguments: PolicyArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command.unwrap_or(PolicyCommand::Show { version: None }) {
        PolicyCommand::Show { version } => show(version, context),
        PolicyCommand::Starter => {
            context.output.bytes(STARTER_POLICY.as_bytes())?;
            Ok(Exit::Done)
        }
        PolicyCommand::Publish { file, activate, .. } => {
            publish(&policy_of(file.as_deref())?, activate, context)
        }
        PolicyCommand::DryRun { file, calls, .. } => {
            let policy = policy_of(file.as_deref())?;
            let path = with_query("policy:dry-run", &calls);
            let answer = context.service()?.ask_with(&path, Some(policy.text().to_owned()))?;
            context.answer(&answer, trial::write)
        }
        PolicyCommand::WhatIf { version, calls } => {
            let path = with_query("replay", &calls);
            context.show(&with_query(&path, &json!({"policy": version})), trial::write)
        }
        PolicyCommand::Activate(version) => change("activate", version, context),
        PolicyCommand::Retire(version) => change("retire", version, context),
        PolicyCommand::Diff { one, other } => diff(one, other, context),
    }
}

/// Returns the policy in this file, or the starter.
fn policy_of(file: Option<&Path>) -> Result<Document, DocumentError> {
    let starter =
        || STARTER_POLICY.parse().map_err(|what| DocumentError::Unfit { place: "starter".to_owned(), what });
    file.map_or_else(starter, Document::read)
}

fn show(version: Option<u64>, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let path = with_query("policy", &json!({"version": version}));
    let Some(pages) = context.pages::<PolicyAnswer>(&path)? else { return Ok(Exit::Done) };
    let Some(policy) = pages.first() else { return Ok(Exit::Done) };
    let mut versions = TextTable::new(&["version", "is", "rules", "author", "note"]);
    for version in pages.iter().flat_map(|page| &page.versions) {
        let is = match &policy.active {
            Some(active) if *active == version.version => "active",
            _ if version.retired => "retired",
            _ => "published",
        };
        versions.add(cells![
            Cell::id(&version.version),
            Cell::id(is),
            version.rules,
            &version.author,
            &version.note
        ]);
    }
    let output = &mut context.output;
    versions.write(
        "no policy is published, so every call is reviewed; `bitacora policy publish --starter --activate`",
        output,
    )?;
    if policy.starter == "outdated" {
        output.line(OUTDATED)?;
    }
    if let Some(document) = &policy.document {
        output.line("")?;
        rules(&differences::members(document), output)?;
    }
    Ok(Exit::Done)
}

/// Writes the rules in their order; the first one that matches decides.
fn rules(document: &Value, output: &mut Output) -> Result<(), OutputError> {
    let text =
        |rule: &Value, member: &str| rule.get(member).and_then(Value::as_str).unwrap_or("-").to_owned();
    let shown = text(document, "version");
    let version = document.get("version").map_or(shown, Value::to_string);
    output.line(printable(&format!("rules of version {version}, the first that matches:")))?;
    let mut table = TextTable::new(&["rule", "action", "matches", "reason"]);
    for rule in document.get("rules").and_then(Value::as_array).into_iter().flatten() {
        let matches = rule.get("match").map_or("-".to_owned(), Value::to_string);
        table.add(cells![
            Cell::id(text(rule, "id")),
            Cell::id(text(rule, "action")),
            matches,
            text(rule, "reason"),
        ]);
    }
    table.write("none: every call is reviewed", output)
}

fn publish(policy: &Document, activate: bool, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let answer = context.send(&Method::PUT, "policy", Some(policy))?;
    let PolicyPublishedAnswer { version, position, .. } = answer.read()?;
    context.say(format_args!("version {version} published at position {position}"))?;
    if !activate {
        context.say(format_args!("calls are judged by it after `bitacora policy activate {version}`"))?;
    }
    let path = format!("policy/{version}:activate");
    let activated = activate.then(|| context.send(&Method::POST, &path, None::<&()>)).transpose();
    if context.is_json() {
        let mut document = MergedPages::new(&[]);
        document.take(answer.text())?;
        document
            .append("activated", activated.as_ref().ok().and_then(Option::as_ref).map(ServiceAnswer::text));
        context.output.json_text(&document.to_json())?;
    }
    // The publication is reported also if the activation failed.
    let activated = activated?.filter(|_| !context.is_json());
    let Some(answer) = activated else { return Ok(Exit::Done) };
    context.say(format_args!("version {version} activated"))?;
    context.receipt(&answer)
}

fn change(
    act: &str,
    Version { version, note }: Version,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let body = note.map(|note| NoteRequest { note });
    let answer = context.send(&Method::POST, &format!("policy/{version}:{act}"), body.as_ref())?;
    let done = if act == "activate" { "activated" } else { "retired" };
    context.say(format_args!("version {version} {done}"))?;
    context.receipt(&answer)
}

fn diff(one: Option<u64>, other: Option<u64>, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let (mut active, mut newest) = (None, None);
    if one.is_none() || other.is_none() {
        active = context.read::<PolicyAnswer>("policy")?.active;
        newest = context.items::<PolicyAnswer>("policy")?.pop().map(|last| last.version);
    }
    let number = |given: Option<u64>, found: Option<String>| given.map(|given| given.to_string()).or(found);
    let (Some(one), Some(other)) = (number(one, active.or_else(|| newest.clone())), number(other, newest))
    else {
        context.output.line("no policy is published, so there is nothing to compare")?;
        return Ok(Exit::Done);
    };
    let path = format!("{}/diff", named("policy", &other));
    let answer = context.get(&with_query(&path, &json!({"from": one})))?;
    let PolicyDiffAnswer { from, to, differences } = answer.read()?;
    if context.is_json() {
        context.raw(&answer)?;
    } else {
        let before: PolicyDocumentAnswer = context.read(&named("policy", &one))?;
        let after: PolicyDocumentAnswer = context.read(&named("policy", &other))?;
        context.output.line(shortened(&format!("from version {from} to version {to}")))?;
        differences::write(&differences, &before.document, &after.document, &mut context.output)?;
    }
    Ok(if differences::is_none(&differences) { Exit::Done } else { Exit::Failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers_with_or_without_a_v() {
        assert_eq!([version("2"), version("v2")], [Ok(2), Ok(2)]);
        for text in ["abc", "", "v", "0", "-1", "vv2", "2.0"] {
            assert!(version(text).is_err(), "{text:?}");
        }
    }
}
