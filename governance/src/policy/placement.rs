//! The place of a rule about one dimension's calls among other rules.
//! It is chosen so that it overrules no prohibition, and no stricter rule about only some of these calls.

use bitacora_vocabulary::{Dimension, DimensionPart, Name, Risk, Rule, Score, Verdict};

use super::Policy;
use super::compiled_rule::CompiledRule;
use super::destinations::DestinationGlobs;
use crate::glob::GlobPattern;
use crate::tools::arguments::SEVERAL;

/// The rules of a policy, and one more among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulePlacement {
    /// All of them, in their order.
    pub rules: Vec<Rule>,
    /// The place of the new one among them, from 1.
    pub place: usize,
    /// The stricter rule that it stands behind, so that this goes on to hold; the last of them.
    pub behind: Option<Name>,
    /// Other rules before it that may match the same calls, and then decide.
    pub decided_before: Vec<Name>,
}

impl Policy {
    /// Puts a rule about the calls of a dimension in the first place where it weakens no other rule that has to hold. Such rules
    /// are prohibitions, and rules that single out some of these calls. The place is behind the last stricter rule that may match
    /// one of the calls. A review of all of them does not count as stricter, because a milder rule about them is meant to replace
    /// it. A rule of the same id goes.
    #[must_use]
    pub fn with_rule_about(&self, dimension: &Dimension, rule: Rule) -> RulePlacement {
        let others: Vec<&CompiledRule> = self.rules.iter().filter(|other| other.rule.id != rule.id).collect();
        let stays = |other: &CompiledRule| other.stays_before(dimension, &rule);
        let last = others.iter().rposition(|other| stays(other));
        let at = last.map_or(0, |last| last + 1);
        let before = others.iter().take(at).filter(|other| other.may_match(dimension) && !stays(other));
        let decided_before = before.map(|other| other.rule.id.clone()).collect();
        let behind = last.and_then(|last| others.get(last)).map(|other| other.rule.id.clone());
        let mut rules: Vec<Rule> = others.iter().map(|other| other.rule.clone()).collect();
        rules.insert(at, rule);
        RulePlacement { rules, place: at + 1, behind, decided_before }
    }
}

impl Policy {
    /// Returns `true` if a rule about the calls of a dimension would decide about any of them where [`Self::with_rule_about`] puts
    /// it. The calls are of a tool of this risk. No rule that stands before it there is then about all of them.
    pub(crate) fn would_apply(&self, dimension: &Dimension, rule: &Rule, risk: Option<Risk>) -> bool {
        let (before, _) = self.around(dimension, rule);
        !before.iter().any(|other| other.is_about_all(dimension, risk))
    }

    /// Returns `true` if its verdict on them would also differ from that of the rules behind it, or from the one without a rule. A
    /// rule that allows them in some folder is assumed to name the folders of these calls.
    pub(crate) fn would_change(&self, dimension: &Dimension, rule: &Rule, risk: Option<Risk>) -> bool {
        if !self.would_apply(dimension, rule, risk) {
            return false;
        }
        let least_score = rule.min_trust_score.filter(|_| rule.action == Verdict::Allow);
        let says_else = |other: &CompiledRule| match rule.action {
            Verdict::Allow => strictness(&other.rule, least_score) > 0,
            action => strictness_in_time(&other.rule) < strictness_of(action),
        };
        let (_, behind) = self.around(dimension, rule);
        for other in behind.iter().filter(|other| other.may_match(dimension) && other.is_of(risk)) {
            if says_else(other) {
                return true;
            }
            let in_some_folder =
                rule.action == Verdict::Allow && !other.singles_out_beside_folders(dimension);
            if in_some_folder || other.is_about_all(dimension, risk) {
                return false;
            }
        }
        rule.action != Verdict::Review
    }

    /// Returns the rules before and behind the place of a rule about a dimension.
    fn around(&self, dimension: &Dimension, rule: &Rule) -> (&[CompiledRule], &[CompiledRule]) {
        let last = self.rules.iter().rposition(|other| other.stays_before(dimension, rule));
        self.rules.split_at(last.map_or(0, |last| last + 1))
    }
}

const fn strictness_of(action: Verdict) -> u8 {
    match action {
        Verdict::Deny => 2,
        Verdict::Review => 1,
        Verdict::Allow => 0,
    }
}

/// Returns the strictness of a rule for calls that have earned all that can be earned.
const fn strictness_in_time(rule: &Rule) -> u8 {
    if rule.never_auto_approve && matches!(rule.action, Verdict::Allow) {
        1
    } else {
        strictness_of(rule.action)
    }
}

/// Returns the strictness of a rule beside one that allows from a score on.
fn strictness(rule: &Rule, least_score: Option<Score>) -> u8 {
    let is_held_back = rule.never_auto_approve || rule.min_trust_score > least_score;
    if is_held_back { strictness_of(rule.action).max(1) } else { strictness_of(rule.action) }
}

impl CompiledRule {
    /// Returns `true` if it may match a call of this dimension: unknown parts of these calls may be anything.
    fn may_match(&self, dimension: &Dimension) -> bool {
        let [tool, context, model, task_type] = dimension.parts();
        let (server, tool) = tool.split_once('/').map_or((None, tool), |(server, tool)| (Some(server), tool));
        let of_server = match (&self.server, server) {
            (None, _) => true,
            (Some(_), None) => tool == DimensionPart::UNKNOWN,
            (Some(globs), Some(server)) => globs.iter().any(|glob| glob.matches(server)),
        };
        of_server
            && self.is_about_server(tool, server)
            && may(self.tool.as_deref(), tool)
            && (context.starts_with(SEVERAL) || may(self.context.as_deref(), context))
            && may(self.model.as_deref(), model)
            && may(self.task_type.as_deref(), task_type)
    }

    /// Returns `true` if a new rule about a dimension goes behind it, so that it goes on to hold.
    fn stays_before(&self, dimension: &Dimension, new: &Rule) -> bool {
        self.may_match(dimension)
            && strictness(&self.rule, new.min_trust_score) > strictness(new, new.min_trust_score)
            && (self.rule.action == Verdict::Deny || self.singles_out(dimension))
    }

    /// Returns `true` if it may be about tools of this risk.
    fn is_of(&self, risk: Option<Risk>) -> bool {
        let asked = self.rule.matches.risk.as_ref();
        asked.is_none_or(|asked| risk.is_some_and(|risk| asked.as_slice().contains(&risk)))
    }

    /// Returns `true` if it decides about every call of this dimension, of a tool of this risk, that no rule before it decides
    /// about.
    fn is_about_all(&self, dimension: &Dimension, risk: Option<Risk>) -> bool {
        self.may_match(dimension)
            && self.is_of(risk)
            && !asks(self.cwd.as_deref())
            && !self.singles_out_beside_folders(dimension)
    }

    /// Returns `true` if it has further conditions, besides a call being of this dimension.
    fn singles_out(&self, dimension: &Dimension) -> bool {
        asks(self.cwd.as_deref())
            || self.rule.matches.risk.is_some()
            || self.singles_out_beside_folders(dimension)
    }

    /// Does the same without the working folder and the risk of the tool.
    fn singles_out_beside_folders(&self, dimension: &Dimension) -> bool {
        let [_, context, model, task_type] = dimension.parts();
        let asks_for_unknown = |globs: &Option<Box<[GlobPattern]>>, part: &str| {
            (part == DimensionPart::UNKNOWN || part.starts_with(SEVERAL)) && asks(globs.as_deref())
        };
        asks(self.destination.as_ref().map(DestinationGlobs::globs))
            || asks(self.agent.as_deref())
            || asks(self.role.as_deref())
            || self.window.is_some()
            || self.rule.matches.in_session_folder.is_some()
            || !self.arguments.is_empty()
            || asks_for_unknown(&self.context, context)
            || asks_for_unknown(&self.model, model)
            || asks_for_unknown(&self.task_type, task_type)
    }
}

/// Returns `true` if these globs do not let everything through.
fn asks(globs: Option<&[GlobPattern]>) -> bool {
    globs.is_some_and(|globs| !globs.iter().any(GlobPattern::is_everything))
}

fn may(globs: Option<&[GlobPattern]>, part: &str) -> bool {
    part == DimensionPart::UNKNOWN || globs.is_none_or(|globs| globs.iter().any(|glob| glob.matches(part)))
}

#[cfg(test)]
mod tests {
    use bitacora_vocabulary::TrustRules;
    use serde_json::{Value, json};

    use super::*;

    fn rule(id: &str, matches: &Value, action: &str) -> Rule {
        serde_json::from_value(json!({"id": id, "match": matches, "action": action, "reason": "why"}))
            .unwrap()
    }

    /// Returns the place of a rule of this action about `git` by the shell. With it come the rule that it stands behind, and those
    /// that decide before it.
    fn place(rules: &[Rule], action: &str) -> (usize, Option<String>, Vec<String>) {
        place_for(&Dimension::new("sh", "git", "m", "-").unwrap(), rules, action)
    }

    fn place_for(
        dimension: &Dimension,
        rules: &[Rule],
        action: &str,
    ) -> (usize, Option<String>, Vec<String>) {
        let policy = Policy::compile(rules, &TrustRules::v2()).unwrap();
        let new = rule("new", &json!({"tool": "sh", "context": "git", "model": "m"}), action);
        let placed = policy.with_rule_about(dimension, new);
        assert_eq!(placed.rules.len(), rules.len() + 1);
        assert_eq!(placed.rules[placed.place - 1].id.as_str(), "new");
        let texts = |names: Vec<Name>| names.iter().map(ToString::to_string).collect();
        (placed.place, placed.behind.map(|name| name.to_string()), texts(placed.decided_before))
    }

    #[test]
    fn what_forbids_comes_first_and_what_allows_behind_all_that_may_forbid_the_same_calls() {
        let rules = [
            rule("other-tool", &json!({"tool": "fs.*"}), "deny"),
            rule(
                "force",
                &json!({"tool": "sh", "arguments": [{"pointer": "/command", "glob": "*--force*"}]}),
                "deny",
            ),
            rule("intern", &json!({"agent": "intern"}), "deny"),
            rule("other-context", &json!({"context": "rm"}), "deny"),
            rule("other-model", &json!({"model": "n"}), "deny"),
            rule("rest", &json!({}), "review"),
        ];
        assert_eq!(place(&rules, "deny"), (1, None, vec![]));
        let behind_intern = (4, Some("intern".to_owned()), vec![]);
        assert_eq!(place(&rules, "allow"), behind_intern);
        assert_eq!(place(&rules, "review"), behind_intern);
    }

    #[test]
    fn a_review_of_all_such_calls_is_what_an_allow_is_for_and_one_of_some_of_them_stays() {
        let all = rule("all", &json!({"tool": "sh"}), "review");
        assert_eq!(place(std::slice::from_ref(&all), "allow"), (1, None, vec![]));
        let pushes = json!({"tool": "sh", "arguments": [{"pointer": "/command", "glob": "*push*"}]});
        let some = rule("push", &pushes, "review");
        assert_eq!(place(&[some.clone(), all.clone()], "allow"), (2, Some("push".to_owned()), vec![]));
        // One that would be asked first for all of them makes the new one idle; that is told.
        assert_eq!(place(&[all, some], "allow"), (3, Some("push".to_owned()), vec!["all".to_owned()]));
    }

    #[test]
    fn an_allow_that_a_person_has_to_confirm_counts_as_a_review() {
        let mut held = rule("held", &json!({"tool": "sh", "agent": "intern"}), "allow");
        assert_eq!(place(&[held.clone()], "allow").0, 1);
        held.never_auto_approve = true;
        assert_eq!(place(&[held], "allow").0, 2);
    }

    #[test]
    fn of_what_is_not_known_anything_may_be_meant() {
        let nothing = Dimension::new("sh", "-", "-", "-").unwrap();
        let rules = [rule("git", &json!({"tool": "sh", "context": "git"}), "review")];
        assert_eq!(place_for(&nothing, &rules, "allow").0, 2);
        let several = Dimension::new("sh", "several:cd,git", "-", "-").unwrap();
        assert_eq!(place_for(&several, &[rule("cd", &json!({"context": "cd"}), "deny")], "allow").0, 2);
        let served = Dimension::new("server/sh", "git", "-", "-").unwrap();
        let of_server = |server: &str| [rule("server", &json!({"server": server}), "deny")];
        assert_eq!(place_for(&served, &of_server("s*"), "allow").0, 2);
        assert_eq!(place_for(&served, &of_server("t*"), "allow").0, 1);
        assert_eq!(place(&of_server("*"), "allow").0, 1, "a tool without a server");
    }

    #[test]
    fn what_the_first_rule_about_all_such_calls_allows_needs_no_other() {
        let git = Dimension::new("sh", "git", "m", "-").unwrap();
        let new = Rule {
            min_trust_score: Some(Score::clamped(9_000)),
            ..rule("new", &json!({"tool": "sh"}), "allow")
        };
        let allowed = |rules: &[Rule]| {
            let policy = Policy::compile(rules, &TrustRules::v2()).unwrap();
            !policy.would_change(&git, &new, Some(Risk::Read))
        };
        let all = |action| rule(action, &json!({"tool": "sh", "context": ["git", "ls"]}), action);
        let some = rule("intern", &json!({"agent": "intern"}), "deny");
        assert!(allowed(&[all("allow")]) && allowed(&[some.clone(), all("allow")]));
        assert!(!allowed(&[]) && !allowed(&[all("review"), all("allow")]));
        assert!(!allowed(&[rule("intern", &json!({"agent": "intern"}), "allow"), all("review")]));
        let in_a_folder = json!({"tool": "sh", "cwd": "/home/**"});
        assert!(allowed(&[rule("home", &in_a_folder, "allow"), all("review")]));
        for (risk, is_allowed) in [("read", true), ("write", false)] {
            assert_eq!(allowed(&[rule("risk", &json!({"risk": risk}), "allow")]), is_allowed, "{risk}");
        }
        for (least, is_allowed) in [(9_000, true), (9_001, false)] {
            let from = Rule { min_trust_score: Some(Score::clamped(least)), ..all("allow") };
            assert_eq!(allowed(&[from]), is_allowed, "{least}");
        }
        assert!(!allowed(&[Rule { never_auto_approve: true, ..all("allow") }]));
        let several = Dimension::new("sh", "several:git,rm", "m", "-").unwrap();
        let policy = Policy::compile(&[all("allow")], &TrustRules::v2()).unwrap();
        assert!(policy.would_change(&several, &new, None), "the others may be anything");
    }

    #[test]
    fn a_rule_that_others_answer_before_or_that_says_what_they_say_would_change_nothing() {
        let git = Dimension::new("sh", "git", "m", "-").unwrap();
        let changes = |rules: &[Rule], action: &str| {
            let policy = Policy::compile(rules, &TrustRules::v2()).unwrap();
            let new = rule("new", &json!({"tool": "sh", "context": "git", "model": "m"}), action);
            policy.would_change(&git, &new, Some(Risk::Read))
        };
        let all = |action| rule(action, &json!({"tool": "sh"}), action);
        let pushes = json!({"tool": "sh", "arguments": [{"pointer": "/command", "glob": "*push*"}]});
        let some = |action| rule("push", &pushes, action);
        let at_home = |action| rule("home", &json!({"cwd": "/home/**"}), action);
        // A rule behind one about all of them is never asked.
        assert!(!changes(&[all("deny")], "allow") && !changes(&[all("deny")], "review"));
        assert!(!changes(&[some("deny"), all("deny")], "allow"));
        assert!(!changes(&[all("review"), some("review")], "allow"));
        assert!(changes(&[some("deny"), all("review")], "allow"));
        assert!(changes(&[at_home("deny"), all("review")], "allow"), "elsewhere it is asked");
        // A rule with the same verdict as those behind it changes nothing.
        assert!(!changes(&[all("deny")], "deny") && !changes(&[all("review")], "review"));
        assert!(changes(&[all("review")], "deny") && changes(&[all("allow")], "review"));
        assert!(changes(&[some("allow"), all("deny")], "deny") && changes(&[some("deny")], "deny"));
        assert!(changes(&[], "deny") && !changes(&[], "review"), "what no rule matches is reviewed");
        assert!(changes(&[at_home("deny")], "deny") && changes(&[at_home("allow")], "review"));
        let earned = Rule { min_trust_score: Some(Score::clamped(9_000)), ..all("allow") };
        assert!(changes(&[earned], "review"));
        assert!(!changes(&[Rule { never_auto_approve: true, ..all("allow") }], "review"));
        let of_writers = rule("write", &json!({"risk": "write"}), "deny");
        assert!(changes(std::slice::from_ref(&of_writers), "deny"), "it is about tools of another risk");
        // A rule that only says more is asked where no other one answers first.
        let speaks = |rules: &[Rule]| {
            let policy = Policy::compile(rules, &TrustRules::v2()).unwrap();
            policy.would_apply(&git, &rule("new", &json!({"tool": "sh"}), "review"), Some(Risk::Read))
        };
        assert!(speaks(&[all("review")]) && speaks(&[of_writers]) && !speaks(&[all("deny")]));
    }

    #[test]
    fn what_allows_without_a_server_says_nothing_of_a_servers_tool() {
        let served = Dimension::new("server/sh", "git", "m", "-").unwrap();
        let new = rule("new", &json!({"tool": "sh", "server": "server"}), "allow");
        let changes = |matches: &Value| {
            let policy = Policy::compile(&[rule("own", matches, "allow")], &TrustRules::v2()).unwrap();
            policy.would_change(&served, &new, Some(Risk::Read))
        };
        assert!(changes(&json!({"tool": "sh"})) && !changes(&json!({"tool": "sh", "server": "*"})));
    }

    #[test]
    fn a_rule_of_the_same_id_goes() {
        let old = rule("new", &json!({}), "deny");
        let policy = Policy::compile(&[old], &TrustRules::v2()).unwrap();
        let new = rule("new", &json!({"tool": "sh"}), "allow");
        let placed = policy.with_rule_about(&Dimension::new("sh", "-", "-", "-").unwrap(), new.clone());
        assert_eq!((placed.rules, placed.place), (vec![new], 1));
    }
}
