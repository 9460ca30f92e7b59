//! Which rules of a policy may be about a tool, so that few globs are tried.

use std::collections::BTreeMap;

use super::glob::GlobPattern;

/// Rules by the tools they are about, each list ascending.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolIndex {
    /// Rules that name a tool.
    by_name: BTreeMap<Box<str>, Vec<u32>>,
    /// Rules whose tools begin with a text; those about every tool stand under the empty one.
    by_prefix: BTreeMap<Box<str>, Vec<u32>>,
    /// The lengths of these texts, ascending, each once.
    prefix_lengths: Vec<usize>,
}

impl ToolIndex {
    /// Adds a rule, which must come after those that were added before. Without globs it is about every tool.
    pub(super) fn add(&mut self, rule: u32, globs: Option<&[GlobPattern]>) {
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

    /// The rules that may be about a tool, in order, each once. Globs are still to be tried.
    pub(super) fn candidates<'i>(&'i self, tool: &str) -> Candidates<'i> {
        let lengths = self.prefix_lengths.iter().take_while(|length| **length <= tool.len());
        let prefixes = lengths.filter_map(|length| tool.get(..*length));
        let by_prefix = prefixes.filter_map(|prefix| self.by_prefix.get(prefix));
        Candidates { lists: by_prefix.chain(self.by_name.get(tool)).map(Vec::as_slice).collect() }
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
