//! A rule that is ready to be compared with calls.

use bitacora_vocabulary::{Glob, OneOrMany, Rule, RuleMatch, Verdict, ZoneName};

use super::arguments::PlaceCondition;
use super::destinations::DestinationGlobs;
use super::fit::ConditionMatch;
use super::places::PlaceTree;
use super::window::Window;
use super::{CallPart, PolicyError, PolicyQuestion, RuleVerdict};
use crate::glob::{Dialect, GlobPattern};
use crate::version::tells_servers_apart;

/// Begins a tool's name that says of which server it is.
const OF_SERVER: &str = "mcp__";
/// Ends the server in it. A server with these characters in its name is not told by the names of its tools.
const SERVER_END: &str = "__";

#[derive(Debug, Clone)]
pub(super) struct CompiledRule {
    pub(super) rule: Rule,
    pub(super) tool: Option<Box<[GlobPattern]>>,
    pub(super) server: Option<Box<[GlobPattern]>>,
    pub(super) context: Option<Box<[GlobPattern]>>,
    pub(super) destination: Option<DestinationGlobs>,
    pub(super) cwd: Option<Box<[GlobPattern]>>,
    pub(super) model: Option<Box<[GlobPattern]>>,
    pub(super) agent: Option<Box<[GlobPattern]>>,
    pub(super) role: Option<Box<[GlobPattern]>>,
    pub(super) task_type: Option<Box<[GlobPattern]>>,
    pub(super) window: Option<Window>,
    pub(super) arguments: Box<[PlaceCondition]>,
}

impl CompiledRule {
    pub(super) fn compile(rule: &Rule, places: &mut PlaceTree) -> Result<Self, PolicyError> {
        let id = rule.id.as_str();
        let RuleMatch {
            tool,
            server,
            context,
            destination,
            cwd,
            arguments,
            model,
            agent,
            role,
            task_type,
            in_session_folder: _,
            risk: _,
            time_window,
        } = &rule.matches;
        let texts = |member: &str, given: &Option<OneOrMany<Glob>>, dialect| {
            given.as_ref().map(|given| globs(id, &format!("match.{member}"), given, dialect)).transpose()
        };
        let window = time_window.as_ref().map(Window::compile).transpose();
        let conditions = arguments.iter().flatten().enumerate();
        Ok(Self {
            tool: texts("tool", tool, Dialect::Text)?,
            server: texts("server", server, Dialect::Text)?,
            context: texts("context", context, Dialect::Path)?,
            destination: DestinationGlobs::compile(texts("destination", destination, Dialect::Path)?, rule),
            cwd: texts("cwd", cwd, Dialect::Path)?,
            model: texts("model", model, Dialect::Text)?,
            agent: texts("agent", agent, Dialect::Text)?,
            role: texts("role", role, Dialect::Text)?,
            task_type: texts("task_type", task_type, Dialect::Text)?,
            window: window.map_err(|problem| PolicyError::Window { rule: id.to_owned(), problem })?,
            arguments: conditions
                .map(|(number, condition)| PlaceCondition::compile(id, number, condition, places))
                .collect::<Result<_, _>>()?,
            rule: rule.clone(),
        })
    }

    /// Returns whether it matches; conditions on arguments are asked for last.
    pub(super) fn fit(
        &self,
        question: &PolicyQuestion<'_>,
        arguments: impl FnOnce() -> ConditionMatch,
    ) -> ConditionMatch {
        let risk = match (&self.rule.matches.risk, question.risk) {
            (None, _) => ConditionMatch::Yes,
            (Some(_), None) => ConditionMatch::Perhaps,
            (Some(risks), Some(risk)) => ConditionMatch::from(risks.as_slice().contains(&risk)),
        };
        let in_time = self
            .window
            .as_ref()
            .map_or(ConditionMatch::Yes, |window| window.fit(question.time, question.local));
        let in_folder = match (self.rule.matches.in_session_folder, question.is_in_session_folder) {
            (None, _) => ConditionMatch::Yes,
            (Some(_), None) => ConditionMatch::Perhaps,
            (Some(asked), Some(is_in)) => ConditionMatch::from(asked == is_in),
        };
        if risk == ConditionMatch::No || in_folder == ConditionMatch::No || in_time == ConditionMatch::No {
            return ConditionMatch::No;
        }
        let parts = [
            (&self.tool, CallPart::Known(question.tool)),
            (&self.server, question.server),
            (&self.agent, question.agent),
            (&self.role, question.role),
            (&self.model, question.model),
            (&self.task_type, question.task_type),
            (&self.cwd, question.cwd),
            (&self.context, question.context),
        ];
        let mut fit = risk.min(in_folder).min(in_time);
        for (globs, part) in parts {
            let Some(globs) = globs else { continue };
            fit = fit.min(part.fit(globs));
            if fit == ConditionMatch::No {
                return ConditionMatch::No;
            }
        }
        if let Some(globs) = &self.destination {
            fit = fit.min(globs.fit(question));
        }
        fit = fit.min(self.means_tool(question));
        if self.arguments.is_empty() || fit == ConditionMatch::No { fit } else { fit.min(arguments()) }
    }

    /// Returns whether it means the tool of this name. Servers name their tools as they like. So an allowing rule that names no
    /// server means only tools without one, and tools whose names show their server. A glob allows no tool whose calls may reach
    /// unseen places.
    fn means_tool(&self, question: &PolicyQuestion<'_>) -> ConditionMatch {
        if self.rule.action != Verdict::Allow || !tells_servers_apart(question.reactor_version) {
            return ConditionMatch::Yes;
        }
        let is_named = |globs: &[GlobPattern]| globs.iter().any(|glob| glob.exact() == Some(question.tool));
        if question.unlisted && !self.tool.as_deref().is_none_or(is_named) {
            return ConditionMatch::No;
        }
        match question.server {
            CallPart::Known(server) => {
                ConditionMatch::from(self.names_server() || is_called_after(question.tool, server))
            }
            CallPart::Unknown if !self.names_server() => ConditionMatch::Perhaps,
            CallPart::None | CallPart::Unknown => ConditionMatch::Yes,
        }
    }

    /// Returns `true` if it names its servers.
    pub(super) const fn names_server(&self) -> bool {
        self.server.is_some()
    }

    /// Returns `true` if the rule, where it is about a tool of this name, also means the tool of this server, or of none.
    pub(super) fn is_about_server(&self, tool: &str, server: Option<&str>) -> bool {
        self.rule.action != Verdict::Allow
            || self.names_server()
            || server.is_none_or(|server| is_called_after(tool, server))
    }

    /// Returns the time zone that it holds by, where it names one.
    pub(super) fn zone(&self) -> Option<&ZoneName> {
        self.window.as_ref()?.zone()
    }

    pub(super) fn verdict(&self) -> RuleVerdict<'_> {
        RuleVerdict {
            verdict: self.rule.action,
            rule: Some(&self.rule),
            min_trust_score: self.rule.min_trust_score,
            never_auto_approve: self.rule.never_auto_approve,
            trust: self.rule.trust,
            certain: true,
        }
    }
}

impl CallPart<'_> {
    pub(super) fn fit(self, globs: &[GlobPattern]) -> ConditionMatch {
        match self {
            Self::Known(text) => ConditionMatch::from(globs.iter().any(|glob| glob.matches(text))),
            Self::None => ConditionMatch::No,
            Self::Unknown => ConditionMatch::Perhaps,
        }
    }
}

/// Returns `true` if a tool's name says that it is of this server: `mcp__server__tool`.
fn is_called_after(tool: &str, server: &str) -> bool {
    let named = tool.strip_prefix(OF_SERVER).and_then(|rest| rest.split_once(SERVER_END));
    named.is_some_and(|(named, own)| named == server && !own.is_empty())
}

/// Reads the globs of one member of a rule.
pub(super) fn globs(
    rule: &str,
    member: &str,
    given: &OneOrMany<Glob>,
    dialect: Dialect,
) -> Result<Box<[GlobPattern]>, PolicyError> {
    let glob = |glob: &Glob| {
        GlobPattern::compile(glob, dialect).map_err(|problem| PolicyError::Glob {
            rule: rule.to_owned(),
            member: member.to_owned(),
            glob: glob.to_string(),
            problem,
        })
    };
    given.as_slice().iter().map(glob).collect()
}

#[cfg(test)]
mod tests {
    use bitacora_vocabulary::TrustRules;

    use super::super::{ArgumentMatches, Policy};
    use super::*;
    use crate::version::{OLDEST_REACTOR_VERSION, REACTOR_VERSION};

    /// Returns the verdicts of a rule that allows tools by these globs on a tool of a server, by the rules of each version.
    fn verdicts(tool: &str, unlisted: bool) -> Vec<Verdict> {
        let rule =
            format!(r#"[{{"id": "r", "match": {{"tool": "{tool}"}}, "action": "allow", "reason": "r"}}]"#);
        let rules: Vec<Rule> = serde_json::from_str(&rule).unwrap();
        let policy = Policy::compile(&rules, &TrustRules::v2()).unwrap();
        let hidden = ArgumentMatches::hidden();
        let server = if unlisted { CallPart::None } else { CallPart::Known("s") };
        let question = |reactor_version| PolicyQuestion {
            server,
            unlisted,
            reactor_version,
            ..PolicyQuestion::of("Task", &hidden)
        };
        (OLDEST_REACTOR_VERSION..=REACTOR_VERSION)
            .map(|version| policy.judge(&question(version)).verdict)
            .collect()
    }

    #[test]
    fn rules_of_before_take_a_servers_tool_for_the_one_of_that_name() {
        let mut expected = vec![Verdict::Allow; 5];
        expected.resize(REACTOR_VERSION as usize, Verdict::Review);
        assert_eq!(verdicts("Task", false), expected, "of a server");
        assert_eq!(verdicts("Ta*", true), expected, "by a glob");
        assert_eq!(verdicts("Task", true), vec![Verdict::Allow; REACTOR_VERSION as usize]);
    }

    #[test]
    fn of_a_server_that_is_not_known_it_is_not_known() {
        let rule = r#"[{"id": "r", "match": {"tool": "Task"}, "action": "allow", "reason": "r"}]"#;
        let rules: Vec<Rule> = serde_json::from_str(rule).unwrap();
        let rule = CompiledRule::compile(&rules[0], &mut PlaceTree::default()).unwrap();
        let hidden = ArgumentMatches::hidden();
        let question = PolicyQuestion { server: CallPart::Unknown, ..PolicyQuestion::of("Task", &hidden) };
        assert_eq!(rule.fit(&question, || ConditionMatch::Yes), ConditionMatch::Perhaps);
    }
}
