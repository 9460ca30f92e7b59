//! An index of the rules of a policy, so that few globs are tried for a call.

use std::collections::BTreeMap;

use crate::glob::GlobPattern;

/// The indexes over the rules of a policy.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleIndex {
    /// All of them, by tool: for calls whose context is not known.
    by_tool: TextIndex,
    /// Those about contexts that begin with something, by context.
    by_context: TextIndex,
    /// The others, by tool.
    by_tool_alone: TextIndex,
}

impl RuleIndex {
    /// Adds a rule, which must come after those that were added before.
    pub(super) fn add(&mut self, rule: u32, tools: Option<&[GlobPattern]>, contexts: Option<&[GlobPattern]>) {
        self.by_tool.add(rule, tools);
        match contexts.filter(|globs| globs.iter().all(|glob| !glob.prefix().is_empty())) {
            Some(contexts) => self.by_context.add(rule, Some(contexts)),
            None => self.by_tool_alone.add(rule, tools),
        }
    }

    /// Returns the rules that may be about a tool, in order, each once. Globs are still to be tried.
    pub(super) fn about_tool(&self, tool: &str) -> Candidates<'_> {
        Candidates { lists: self.by_tool.lists(tool).collect() }
    }

    /// Returns the rules that may be about a tool in a context, in order, each once. Globs are still to be tried.
    pub(super) fn about(&self, tool: &str, context: &str) -> Candidates<'_> {
        let lists = self.by_tool_alone.lists(tool).chain(self.by_context.lists(context));
        Candidates { lists: lists.collect() }
    }
}

/// Rules by a text that they are about, each list ascending.
#[derive(Debug, Clone, Default)]
struct TextIndex {
    /// Rules that name one.
    by_name: BTreeMap<Box<str>, Vec<u32>>,
    /// Rules whose texts begin with something; those about every text stand under the empty one.
    by_prefix: BTreeMap<Box<str>, Vec<u32>>,
    /// The lengths of these texts, ascending, each once.
    prefix_lengths: Vec<usize>,
}

impl TextIndex {
    /// Adds a rule. Without globs it is about every text.
    fn add(&mut self, rule: u32, globs: Option<&[GlobPattern]>) {
        for glob in globs.unwrap_or_default() {
            match glob.exact() {
                Some(name) => push(&mut self.by_name, name, rule),
                None => self.add_prefix(glob.prefix(), rule),
            }
        }
        if globs.is_none() {
            self.add_prefix("", rule);
        }
    }

    fn add_prefix(&mut self, prefix: &str, rule: u32) {
        push(&mut self.by_prefix, prefix, rule);
        if let Err(at) = self.prefix_lengths.binary_search(&prefix.len()) {
            self.prefix_lengths.insert(at, prefix.len());
        }
    }

    /// Returns the rules that may be about a text: lists in which one rule may stand several times.
    fn lists<'i>(&'i self, text: &str) -> impl Iterator<Item = &'i [u32]> {
        let lengths = self.prefix_lengths.iter().take_while(|length| **length <= text.len());
        let prefixes = lengths.filter_map(|length| text.get(..*length));
        let by_prefix = prefixes.filter_map(|prefix| self.by_prefix.get(prefix));
        by_prefix.chain(self.by_name.get(text)).map(Vec::as_slice)
    }
}

fn push(map: &mut BTreeMap<Box<str>, Vec<u32>>, key: &str, rule: u32) {
    if let Some(rules) = map.get_mut(key) {
        if rules.last() != Some(&rule) {
            rules.push(rule);
        }
    } else {
        map.insert(key.into(), vec![rule]);
    }
}

/// Ascending lists of rules, merged.
pub(super) struct Candidates<'i> {
    lists: Vec<&'i [u32]>,
}

impl Iterator for Candidates<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let next = *self.lists.iter().filter_map(|list| list.first()).min()?;
        for list in &mut self.lists {
            if let Some((first, rest)) = list.split_first()
                && *first == next
            {
                *list = rest;
            }
        }
        Some(next)
    }
}
