//! The output of a quickstart: the contents of the ledger, and commands to try next.

use std::collections::{BTreeMap, HashSet};

use bitacora_formats::LedgerName;
use serde_json::{Value, json};

use super::Fed;
use super::folder::QuickstartFolder;
use crate::web_pages::link_line;
use bitacora_api::SignInLink;
use bitacora_client::ServiceUrl;
use bitacora_demo::DemoHour;
use bitacora_verify::{Report, Verdict};

pub(super) struct QuickstartSummary<'a> {
    pub(super) folder: &'a QuickstartFolder,
    pub(super) url: &'a ServiceUrl,
    /// The link that signs in to the console, where a person alone sees it.
    pub(super) sign_in: Option<SignInLink>,
    pub(super) ledger: &'a LedgerName,
    pub(super) hour: &'a DemoHour,
    pub(super) fed: &'a Fed,
    pub(super) report: &'a Report,
    /// Set when the default port was taken.
    pub(super) was_taken: bool,
    /// Set when the ledger goes on being served.
    pub(super) is_served: bool,
}

impl QuickstartSummary<'_> {
    pub(super) fn to_json(&self) -> Value {
        let Fed { head, json_bytes, stored_bytes, elapsed, decided, played } = self.fed;
        json!({
            "folder": self.folder.shown(),
            "data": self.folder.data(),
            "keyring": self.folder.keyring(),
            "adminToken": self.folder.admin_token().path(),
            "ledger": self.ledger.as_str(),
            "url": self.url.to_string(),
            "console": format!("{}/console", self.url),
            "served": self.is_served,
            "events": self.hour.events.len(),
            "agents": self.hour.agents,
            "types": self.kinds(),
            "jsonBytes": json_bytes,
            "storedBytes": stored_bytes,
            "elapsedMs": u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            "decisions": {
                "allow": decided.allowed,
                "review": decided.reviewed,
                "deny": decided.denied,
                "toolUnknown": decided.unregistered,
            },
            "live": played,
            "head": {"position": head.position, "hash": head.hash},
            "verified": {
                "verdict": self.verdict(),
                "events": self.report.events,
                "bytes": self.report.bytes,
                "signatures": self.report.signatures,
                "fault": self.report.fault.as_ref().map(ToString::to_string),
            },
            "commands": self.commands().into_iter().map(|(command, _)| command).collect::<Vec<_>>(),
        })
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = |label: &str, text: String| lines.push(format!("{label:<10} {text}"));
        line("ledger", format!("{} in {}, made for this", self.ledger, self.folder.shown()));
        if self.was_taken {
            line("", "port 7717 is taken by another program; a free one was chosen".to_owned());
        }
        if self.is_served {
            line("service", format!("{} (this machine alone)", self.url));
            line("console", self.console());
        }
        let token = self.folder.admin_token();
        line(
            "token",
            format!(
                "{} (an admin's; keep it from agents, which get tokens of their own)",
                token.path().display()
            ),
        );
        for (label, text) in self.holds() {
            line(label, text);
        }
        lines.push(String::new());
        lines.push(if self.is_served { "Try, in another terminal:" } else { "Try:" }.to_owned());
        lines.push(String::new());
        for (command, why) in self.commands() {
            lines.push(format!("  # {why}"));
            lines.push(format!("  {command}"));
        }
        if self.is_served {
            lines.push(String::new());
            lines.push("Serving; Ctrl-C ends it, and the folder stays.".to_owned());
        }
        lines
    }

    fn console(&self) -> String {
        match &self.sign_in {
            Some(link) => link_line(&self.url.to_string(), link),
            None => format!("{}/console (sign in with the token)", self.url),
        }
    }

    fn holds(&self) -> Vec<(&'static str, String)> {
        let Fed { head, json_bytes, stored_bytes, elapsed, decided, played } = self.fed;
        let (hour, kinds) = (self.hour, self.kinds());
        let count = |kind: &str| kinds.get(kind).copied().unwrap_or_default();
        let sessions: HashSet<_> = hour.events.iter().filter_map(|event| event.session.as_deref()).collect();
        let per_second = hour.events.len() as f64 / elapsed.as_secs_f64().max(0.001);
        let mut holds = vec![
            (
                "fed",
                format!(
                    "{} events of the last hour, invented: {} agents, {} sessions; over HTTP in {:.2} s ({per_second:.0}/s)",
                    hour.events.len(),
                    hour.agents,
                    sessions.len(),
                    elapsed.as_secs_f64(),
                ),
            ),
            (
                "calls",
                format!(
                    "{} of tools: {} completed, {} failed, {} blocked",
                    count("tool.requested"),
                    count("tool.completed"),
                    count("tool.failed"),
                    count("tool.blocked"),
                ),
            ),
            (
                "decided",
                format!(
                    "as the starter's policy would have: {} allowed, {} for a person to look at, {} denied",
                    decided.allowed, decided.reviewed, decided.denied,
                ),
            ),
            (
                "live",
                format!(
                    "decided just now: {} allowed and {} denied (console: Calls), {} waiting for a person (Approvals){}",
                    played.allowed,
                    played.denied,
                    played.waiting.len(),
                    if played.breaker_opened { "; a breaker opened (Trust)" } else { "" },
                ),
            ),
        ];
        if let Some(stored) = stored_bytes {
            let ratio = *json_bytes as f64 / (*stored).max(1) as f64;
            holds.push((
                "bytes",
                format!("{json_bytes} as JSON, {stored} stored, compressed and encrypted (1/{ratio:.1})"),
            ));
        }
        holds.push(("head", format!("position {}, hash {}", head.position, head.hash)));
        holds.push((
            "verified",
            match &self.report.fault {
                Some(fault) => format!("NO: {fault}"),
                None if self.report.verdict() != Verdict::Alone => {
                    "incomplete; run the verify command below".to_owned()
                }
                None => format!(
                    "{} events, every byte, signature and content, in {:.2} s",
                    self.report.events,
                    self.report.elapsed.as_secs_f64()
                ),
            },
        ));
        holds
    }

    fn verdict(&self) -> &'static str {
        match self.report.verdict() {
            Verdict::Confirmed | Verdict::Alone => "verified",
            Verdict::Incomplete => "incomplete",
            Verdict::Diverged => "another history",
            Verdict::Invalid => "invalid",
        }
    }

    fn kinds(&self) -> BTreeMap<&str, u64> {
        let mut kinds = BTreeMap::new();
        for event in &self.hour.events {
            *kinds.entry(&*event.kind).or_default() += 1;
        }
        kinds
    }

    /// Returns commands that work as they stand, each with a description.
    fn commands(&self) -> Vec<(String, &'static str)> {
        let program = quoted(&program());
        let (data, keyring) = (self.folder.data(), self.folder.keyring());
        let (data, keyring) = (quoted(&data.to_string_lossy()), quoted(&keyring.to_string_lossy()));
        let folder = format!("--data {data} --keyring {keyring}");
        let token = quoted(&self.folder.admin_token().path().to_string_lossy());
        let curl = format!("curl -s -H \"authorization: Bearer $(cat {token})\"");
        let name =
            if self.ledger.as_str() == "main" { String::new() } else { format!(" --ledger {}", self.ledger) };
        let way = match self.is_served {
            true => format!("--url {} --token-file {token}", self.url),
            false => folder.clone(),
        };
        let mut commands = vec![
            (format!("{program} read {way}{name} --backward --limit 10"), "the ten newest events"),
            (
                format!("{program} read {way}{name} --type tool.blocked --limit 5"),
                "calls that were kept from running",
            ),
            (
                format!("{program} calls {way}{name} --verdict deny --limit 10"),
                "calls that would have been denied; name one behind it to see all that is known of it",
            ),
            (format!("{program} costs {way}{name} --by model"), "what it cost"),
            (
                format!("{program} report learned {way}{name}"),
                "which rules what was observed speaks for, with the positions that say so",
            ),
        ];
        if self.is_served {
            let (url, ledger) = (self.url, self.ledger);
            let tail = format!("{program} tail {way}{name} --last 5");
            commands
                .push((tail, "the five newest, and from then on every new one as it comes; Ctrl-C ends it"));
            let events = format!("{curl} '{url}/v1/ledgers/{ledger}/events?type=tool.failed&limit=2'");
            commands.push((events, "calls that failed, over HTTP"));
            commands.push((format!("{curl} {url}/v1/ledgers/{ledger}/head"), "where the ledger stands"));
            let receipt = format!("{curl} {url}/v1/ledgers/{ledger}/receipts/10");
            commands.push((receipt, "that it has an event, under a signed tree head, to be kept elsewhere"));
            let event = r#"{"specversion":"1.0","id":"1","source":"me","type":"x.hello","subject":"greetings","data":{"hello":"ledger"}}"#;
            let append = format!("echo '{event}' | {program} append {way}{name}");
            commands.push((append, "an event of your own; a second time adds nothing"));
            let agents = quoted(&self.folder.agents_token().to_string_lossy());
            let create = format!("{program} token create {way}{name} --role agent --agent coder > {agents}");
            commands.push((
                create,
                "a token for an agent of yours, which writes under that name and approves nothing",
            ));
        }
        commands.push((
            format!("{program} verify --data {data}{name}"),
            "every byte, without keys (exit code 10: nothing external to compare with)",
        ));
        if !self.is_served {
            commands.push((
                format!("{program} prove 10{name} {folder} | {program} verify --evidence /dev/stdin"),
                "one event, proven with nothing of the ledger but a file",
            ));
            commands.push((format!("{program} serve {folder}"), "serve it"));
        }
        commands
    }
}

/// Returns the name that the program was called by, or `bitacora` where it has none.
fn program() -> String {
    let called = std::env::args_os().next().map(|called| called.to_string_lossy().into_owned());
    called.filter(|called| !called.is_empty()).unwrap_or_else(|| "bitacora".to_owned())
}

/// Quotes a text as one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,+@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_stays_one_word() {
        assert_eq!(quoted("target/release/bitacora"), "target/release/bitacora");
        assert_eq!(quoted("a folder"), "'a folder'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
