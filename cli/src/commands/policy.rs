//! `policy`: versions of the rules that decide calls.

pub(super) mod differences;
mod trial;

use std::path::PathBuf;

use bitacora_api::{PolicyAnswer, PolicyDiffAnswer, PolicyDocumentAnswer, PolicyPublishedAnswer};
use bitacora_governance::STARTER_POLICY;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::starter::OUTDATED;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::document::Document;
use crate::ledger_access::merge_pages::MergedPages;
use crate::ledger_access::pages::{each_page, pages_to_show};
use crate::ledger_access::service::{ServiceAnswer, ServiceClient, with_query, with_service};
use crate::options::global::Global;
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{TextTable, shortened};
use bitacora_client::percent_encoded;
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PolicyArguments {
    #[command(subcommand)]
    command: Option<PolicyCommand>,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
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
#[derive(Debug, Args)]
struct TrialCalls {
    /// The most calls to try, the newest. [default: 1000]
    #[arg(long, value_name = "CALLS")]
    limit: Option<u32>,
    /// Only calls of this tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
}

#[derive(Debug, Args)]
struct Version {
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

pub(crate) fn run(
    arguments: &PolicyArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match arguments.command.as_ref().unwrap_or(&PolicyCommand::Show { version: None }) {
        PolicyCommand::Show { version } => {
            with_service(global, |service| show(*version, service, global, output))?;
        }
        PolicyCommand::Starter => output.bytes(STARTER_POLICY.as_bytes())?,
        PolicyCommand::Publish { file, activate, .. } => {
            let brought = file.as_deref().map(Document::read).transpose()?;
            let body = brought.as_ref().map_or(STARTER_POLICY, Document::text);
            with_service(global, |service| publish(body, *activate, service, global, output))?;
        }
        PolicyCommand::DryRun { file, calls, .. } => {
            let brought = file.as_deref().map(Document::read).transpose()?;
            let body = brought.as_ref().map_or(STARTER_POLICY, Document::text).to_owned();
            with_service(global, |service| {
                let answer = service.ask_with(&calls.of("policy:dry-run", None), Some(body))?;
                trial::write(&answer, global, output)
            })?;
        }
        PolicyCommand::WhatIf { version, calls } => with_service(global, |service| {
            let answer = service.get(&calls.of("replay", Some(&version.to_string())))?;
            trial::write(&answer, global, output)
        })?,
        PolicyCommand::Activate(version) => change("activate", version, global, output)?,
        PolicyCommand::Retire(version) => change("retire", version, global, output)?,
        PolicyCommand::Diff { one, other } => {
            return with_service(global, |service| diff(*one, *other, service, global, output));
        }
    }
    Ok(Exit::Done)
}

impl TrialCalls {
    /// Returns the resource that tries a policy on these calls.
    fn of(&self, path: &str, policy: Option<&str>) -> String {
        let limit = self.limit.map(|limit| limit.to_string());
        let tool = self.tool.as_deref();
        with_query(path, &[("policy", policy), ("limit", limit.as_deref()), ("tool", tool)])
    }
}

fn show(
    version: Option<u64>,
    service: &mut ServiceClient,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let version = version.map(|version| version.to_string());
    let path = with_query("policy", &[("version", version.as_deref())]);
    let Some(pages) = pages_to_show::<PolicyAnswer>(service, &path, global, output)? else { return Ok(()) };
    let Some(policy) = pages.first() else { return Ok(()) };
    let mut versions = TextTable::new(&["version", "is", "rules", "author", "note"]);
    for version in pages.iter().flat_map(|page| &page.versions) {
        let is = match &policy.active {
            Some(active) if *active == version.version => "active",
            _ if version.retired => "retired",
            _ => "published",
        };
        let note = version.note.as_deref().unwrap_or("-");
        versions.row(&[&version.version, is, &version.rules.to_string(), &version.author, note]);
    }
    versions.write(
        "no policy is published, so every call is reviewed; `bitacora policy publish --starter --activate`",
        output,
    )?;
    if policy.starter == "outdated" {
        output.line(OUTDATED)?;
    }
    if let Some(document) = &policy.document {
        output.line("")?;
        rules(document, output)?;
    }
    Ok(())
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
        table.row(&[&text(rule, "id"), &text(rule, "action"), &matches, &text(rule, "reason")]);
    }
    table.write("none: every call is reviewed", output)
}

fn publish(
    body: &str,
    activate: bool,
    service: &mut ServiceClient,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let answer = service.put("policy", body.to_owned())?;
    let published: PolicyPublishedAnswer = answer.read()?;
    let version = printable(&published.version);
    if !global.json {
        output.line(format_args!(
            "version {version} published at position {}",
            printable(&published.position)
        ))?;
    }
    let activated =
        activate.then(|| service.post(&format!("policy/{}:activate", published.version), None)).transpose();
    if global.json {
        let mut document = MergedPages::new(&[]);
        document.take(answer.text())?;
        let act = activated.as_ref().ok().and_then(Option::as_ref).map(ServiceAnswer::text);
        output.json_text(&document.add_to(JsonObject::new()).maybe_raw("activated", act).end())?;
        // The publication is reported also if the activation failed.
        activated?;
        return Ok(());
    }
    match activated? {
        Some(answer) => write_change("activate", &version, &answer, global, output),
        None => {
            Ok(output
                .line(format_args!("calls are judged by it after `bitacora policy activate {version}`"))?)
        }
    }
}

fn change(act: &str, version: &Version, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let path = format!("policy/{}:{act}", version.version);
    let body = version.note.as_deref().map(|note| JsonObject::new().text("note", note).end());
    with_service(global, |service| {
        let answer = service.post(&path, body)?;
        write_change(act, &version.version.to_string(), &answer, global, output)
    })
}

fn write_change(
    act: &str,
    version: &str,
    answer: &ServiceAnswer,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    if !global.json {
        let done = if act == "activate" { "activated" } else { "retired" };
        output.line(format_args!("version {version} {done}"))?;
    }
    answer.write_act(global, output)
}

fn diff(
    one: Option<u64>,
    other: Option<u64>,
    service: &mut ServiceClient,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let (mut active, mut newest) = (None, None);
    if one.is_none() || other.is_none() {
        each_page(service, "policy", |_, page: PolicyAnswer| {
            newest = page.versions.last().map(|last| last.version.clone()).or(newest.take());
            active = page.active;
            Ok(())
        })?;
    }
    let number = |named: Option<u64>, found: Option<String>| named.map(|named| named.to_string()).or(found);
    let (Some(one), Some(other)) = (number(one, active.or_else(|| newest.clone())), number(other, newest))
    else {
        output.line("no policy is published, so there is nothing to compare")?;
        return Ok(Exit::Done);
    };
    let path = format!("policy/{}/diff", percent_encoded(&other));
    let answer = service.get(&with_query(&path, &[("from", Some(&one))]))?;
    let compared: PolicyDiffAnswer = answer.read()?;
    if global.json {
        output.json_text(answer.text())?;
    } else {
        let mut document = |version: &str| -> Result<PolicyDocumentAnswer, CommandError> {
            Ok(service.get(&format!("policy/{}", percent_encoded(version)))?.read()?)
        };
        let (before, after) = (document(&one)?.document, document(&other)?.document);
        let PolicyDiffAnswer { from, to, differences } = &compared;
        output.line(shortened(&format!("from version {from} to version {to}")))?;
        differences::write(differences, &before, &after, output)?;
    }
    Ok(if differences::is_none(&compared.differences) { Exit::Done } else { Exit::Failed })
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
