//! The places that calls reach, compared with the globs of a rule.

use bitacora_vocabulary::{FileAccess, OneOrMany, Rule, Verdict};

use super::file_guard::expanded;
use super::fit::ConditionMatch;
use super::names::{as_windows_opens, folded, folded_glob};
use super::{CallPart, Destinations, PolicyQuestion};
use crate::glob::{Dialect, GlobPattern};
use crate::tools::arguments::{PlaceText, Reach, is_cut};
use crate::version::guards_files;

/// Patterns of one call that are compared with a rule; where there are more, the rule perhaps matches.
const MAX_COMPARED_PATTERNS: usize = 16;

/// Stands for any place deep in a folder: only `**` matches it.
const DEEP_NAME: &str = "/q7/q7.q7";

/// The globs of a rule for the places that a call reaches.
#[derive(Debug, Clone)]
pub(super) struct DestinationGlobs {
    globs: Box<[GlobPattern]>,
    /// The same globs for names as file systems compare them; only for a rule that denies or reviews.
    folded: Box<[GlobPattern]>,
}

impl DestinationGlobs {
    pub(super) fn compile(globs: Option<Box<[GlobPattern]>>, rule: &Rule) -> Option<Self> {
        let given = rule.matches.destination.as_ref().filter(|_| rule.action != Verdict::Allow);
        let given = given.into_iter().flat_map(OneOrMany::as_slice);
        let folded = given.filter_map(|glob| GlobPattern::compile(&folded(glob), Dialect::Path).ok());
        Some(Self { globs: globs?, folded: folded.collect() })
    }

    /// Returns the globs as they are written.
    pub(super) fn globs(&self) -> &[GlobPattern] {
        &self.globs
    }

    /// Returns whether a call reaches there. If only some of its destinations match, the rule perhaps matches, and the strictest
    /// verdict counts. The same holds of patterns and folders in which a match may lie.
    pub(super) fn fit(&self, question: &PolicyQuestion<'_>) -> ConditionMatch {
        let named = match question.destinations {
            Destinations::Known(places) => {
                let is_folded = guards_files(question.reactor_version);
                let fits = || places.iter().map(|place| self.fit_of(place, is_folded));
                let (least, most) =
                    (fits().min().unwrap_or(ConditionMatch::No), fits().max().unwrap_or(ConditionMatch::No));
                if least == most { least } else { ConditionMatch::Perhaps }
            }
            Destinations::None => ConditionMatch::No,
            Destinations::Unknown => ConditionMatch::Perhaps,
        };
        let Some(reach) = question.reach else { return named };
        let may_reach_more = match named {
            ConditionMatch::Perhaps => false,
            // That all places match says nothing of what patterns stand for, or of what lies deeper in a folder.
            ConditionMatch::Yes => !reach.patterns.is_empty() || self.may_leave(question.destinations, reach),
            ConditionMatch::No => self.may_lie_in(question.destinations, reach),
        };
        if may_reach_more { ConditionMatch::Perhaps } else { named }
    }

    fn fit_of(&self, place: &PlaceText, is_folded: bool) -> ConditionMatch {
        if is_cut(place) {
            return ConditionMatch::Perhaps;
        }
        let found = CallPart::Known(place).fit(&self.globs);
        if found == ConditionMatch::Yes || self.folded.is_empty() || !is_folded {
            return found;
        }
        let name = folded(place);
        let opened = as_windows_opens(&name);
        let matches = |name: &str| self.folded.iter().any(|glob| glob.matches(name));
        ConditionMatch::from(matches(&name) || opened.as_deref().is_some_and(matches))
    }

    /// Returns whether a place that matches may be among those that a pattern names, or in a folder of which the contents are read.
    fn may_lie_in(&self, destinations: Destinations<'_>, reach: &Reach) -> bool {
        if reach.patterns.len() > MAX_COMPARED_PATTERNS {
            return true;
        }
        let places = if let Destinations::Known(places) = destinations { places } else { &[] };
        let is_read = |access: &Option<FileAccess>| match access {
            Some(FileAccess::ReadTree) => true,
            Some(FileAccess::Read) => reach.shows_tracked,
            Some(FileAccess::List | FileAccess::Write) | None => false,
        };
        let folders = places.iter().zip(&reach.uses).filter(|(_, access)| is_read(access));
        let below = |folder: &str| format!("{}/**", escaped(folder.trim_end_matches('/')));
        reach.patterns.iter().any(|(_, pattern)| is_cut(pattern) || self.may_meet_pattern(pattern))
            || folders.into_iter().any(|(folder, _)| {
                may_meet(&self.globs, &below(folder)) || may_meet(&self.folded, &below(&folded(folder)))
            })
    }

    /// Returns whether a folder that is read as a whole may hold a place that does not match.
    fn may_leave(&self, destinations: Destinations<'_>, reach: &Reach) -> bool {
        let places = if let Destinations::Known(places) = destinations { places } else { &[] };
        let mut trees =
            places.iter().zip(&reach.uses).filter(|(_, access)| **access == Some(FileAccess::ReadTree));
        trees.any(|(folder, _)| {
            let deep = format!("{}{DEEP_NAME}", folder.trim_end_matches('/'));
            !self.globs.iter().any(|glob| glob.matches(&deep))
        })
    }

    fn may_meet_pattern(&self, pattern: &str) -> bool {
        let Some(alternatives) = expanded(pattern) else { return true };
        alternatives.iter().any(|pattern| {
            let is_met = |pattern: String| may_meet(&self.folded, &pattern);
            may_meet(&self.globs, pattern) || folded_glob(pattern).is_none_or(is_met)
        })
    }
}

/// Returns whether one text may match a glob and a pattern. A text that is no pattern of this dialect may stand for any.
fn may_meet(globs: &[GlobPattern], pattern: &str) -> bool {
    let pattern = GlobPattern::compile(pattern, Dialect::Path);
    !globs.is_empty() && pattern.map_or(true, |pattern| globs.iter().any(|glob| glob.may_meet(&pattern)))
}

/// Returns a glob that matches this text alone.
fn escaped(text: &str) -> String {
    let mut glob = String::new();
    for c in text.chars() {
        if "*?[]{}\\".contains(c) {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}

#[cfg(test)]
mod tests {
    use bitacora_vocabulary::TrustRules;

    use super::*;
    use crate::policy::{ArgumentMatches, Policy};
    use crate::version::REACTOR_VERSION;

    fn place(text: &str) -> PlaceText {
        PlaceText::new(text).unwrap()
    }

    /// Returns the verdict of a rule for a folder on a call that reaches these places.
    fn verdict_of(action: &str, places: &[(&str, FileAccess)], reach: Reach, version: u32) -> Verdict {
        let rule = format!(
            r#"[{{"id": "r", "match": {{"destination": "/home/ana/p/private/**"}}, "action": "{action}", "reason": "r"}},
                {{"id": "all", "match": {{}}, "action": "allow", "reason": "r"}}]"#
        );
        let rules: Vec<Rule> = serde_json::from_str(&rule).unwrap();
        let policy = Policy::compile(&rules, &TrustRules::v2()).unwrap();
        let named: Vec<PlaceText> = places.iter().map(|(text, _)| place(text)).collect();
        let uses = places.iter().map(|(_, access)| Some(*access)).collect();
        let reach = Reach { uses, ..reach };
        let hidden = ArgumentMatches::hidden();
        let question = PolicyQuestion {
            destinations: if named.is_empty() { Destinations::None } else { Destinations::Known(&named) },
            reach: Some(&reach),
            reactor_version: version,
            ..PolicyQuestion::of("Read", &hidden)
        };
        policy.judge(&question).verdict
    }

    fn denied(places: &[(&str, FileAccess)], reach: Reach) -> bool {
        verdict_of("deny", places, reach, REACTOR_VERSION) == Verdict::Deny
    }

    #[test]
    fn a_rule_that_denies_a_folder_is_met_by_every_way_to_name_what_lies_there() {
        use FileAccess::{List, Read, ReadTree};
        for pattern in
            ["/home/ana/p/private/?.txt", "/home/ana/p/priv?te/a", "**/private/a", "**/{x,private}/a", "**"]
        {
            assert!(denied(&[], pattern_reach(pattern)), "{pattern}");
        }
        for name in ["/home/ana/p/PRIVATE/a", "/home/ana/p/private./a", "/home/ana/p/pr\u{200d}ivate/a"] {
            assert!(denied(&[(name, Read)], Reach::default()), "{name}");
            assert_eq!(
                verdict_of("deny", &[(name, Read)], Reach::default(), 5),
                Verdict::Allow,
                "as it was judged"
            );
        }
        assert!(denied(&[("/home/ana/p", ReadTree)], Reach::default()));
        assert!(denied(&[("/home/ana/p/private", Read)], Reach { shows_tracked: true, ..Reach::default() }));
        // And by nothing else.
        assert!(!denied(&[("/home/ana/p", List)], Reach::default()));
        assert!(!denied(&[("/home/ana/p/src", ReadTree)], Reach::default()));
        assert!(!denied(&[("/home/ana/p/[id]", ReadTree)], Reach::default()));
        assert!(!denied(&[("/home/ana/p/src/a", Read)], pattern_reach("/home/ana/p/src/*")));
    }

    #[test]
    fn a_rule_that_allows_a_folder_allows_no_pattern_with_it() {
        let inside = [("/home/ana/p/private/a", FileAccess::Read)];
        let with = pattern_reach("/etc/*");
        let only = r#"[{"id": "r", "match": {"destination": "/home/ana/p/private/**"}, "action": "allow", "reason": "r"}]"#;
        let policy =
            Policy::compile(&serde_json::from_str::<Vec<Rule>>(only).unwrap(), &TrustRules::v2()).unwrap();
        let named = [place(inside[0].0)];
        let hidden = ArgumentMatches::hidden();
        let judged = |reach: &Reach| {
            let question = PolicyQuestion {
                destinations: Destinations::Known(&named),
                reach: Some(reach),
                ..PolicyQuestion::of("Read", &hidden)
            };
            policy.judge(&question).verdict
        };
        assert_eq!(judged(&Reach::default()), Verdict::Allow);
        let tree = Reach { uses: vec![Some(FileAccess::ReadTree)], ..Reach::default() };
        assert_eq!(judged(&tree), Verdict::Allow, "`**` takes what lies deeper");
        assert_eq!(judged(&with), Verdict::Review);
    }

    #[test]
    fn a_rule_that_allows_one_step_allows_no_whole_folder() {
        let rule =
            r#"[{"id": "r", "match": {"destination": "/home/ana/p/*"}, "action": "allow", "reason": "r"}]"#;
        let policy =
            Policy::compile(&serde_json::from_str::<Vec<Rule>>(rule).unwrap(), &TrustRules::v2()).unwrap();
        let named = [place("/home/ana/p/private")];
        let hidden = ArgumentMatches::hidden();
        for (access, verdict) in [(FileAccess::Read, Verdict::Allow), (FileAccess::ReadTree, Verdict::Review)]
        {
            let reach = Reach { uses: vec![Some(access)], ..Reach::default() };
            let destinations = Destinations::Known(&named);
            let question =
                PolicyQuestion { destinations, reach: Some(&reach), ..PolicyQuestion::of("Read", &hidden) };
            assert_eq!(policy.judge(&question).verdict, verdict, "{access:?}");
        }
    }

    fn pattern_reach(text: &str) -> Reach {
        Reach { patterns: vec![(FileAccess::Read, place(text))], ..Reach::default() }
    }
}
