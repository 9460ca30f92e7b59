//! A page before it is laid out, and what an act comes to.

use maud::Markup;

use crate::response::ConsoleBody;
use crate::table::Table;

/// The part of the console that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Now,
    Approvals,
    Sessions,
    Runs,
    Calls,
    Trust,
    Policy,
    Costs,
    Evidence,
    Admin,
}

impl Section {
    /// All of them, in the order of the menu.
    pub(crate) const ALL: [Self; 10] = [
        Self::Now,
        Self::Approvals,
        Self::Sessions,
        Self::Runs,
        Self::Calls,
        Self::Trust,
        Self::Policy,
        Self::Costs,
        Self::Evidence,
        Self::Admin,
    ];

    /// Returns the part of its address, and its name in the menu.
    pub(crate) const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Now => ("now", "Now"),
            Self::Approvals => ("approvals", "Approvals"),
            Self::Sessions => ("sessions", "Sessions"),
            Self::Runs => ("runs", "Runs"),
            Self::Calls => ("calls", "Calls"),
            Self::Trust => ("trust", "Trust"),
            Self::Policy => ("policy", "Policy"),
            Self::Costs => ("costs", "Costs"),
            Self::Evidence => ("evidence", "Evidence"),
            Self::Admin => ("admin", "Admin"),
        }
    }
}

/// A page of one ledger.
#[derive(Debug)]
pub(crate) struct Page {
    /// The heading. Names that somebody chose stand in it between backticks.
    pub(crate) title: String,
    pub(crate) section: Section,
    /// The position of the state that it shows.
    pub(crate) position: Option<u64>,
    pub(crate) content: Markup,
    /// The rows that the page offers as a file.
    pub(crate) table: Option<Table>,
    /// `true` if those rows are a page of a longer list.
    pub(crate) is_cut: bool,
    /// The file that is sent in the place of those rows, of a list that has more than a page.
    pub(crate) file: Option<ConsoleBody>,
    /// The path of the interface that gives the same as JSON.
    pub(crate) json: Option<String>,
    /// The further paths that a page is made of, each with its name.
    pub(crate) json_parts: Vec<(&'static str, String)>,
    /// The command line that prints the same.
    pub(crate) command: Option<String>,
}

impl Page {
    /// A page with this content, which offers nothing else.
    pub(crate) fn new(section: Section, title: impl Into<String>, content: Markup) -> Self {
        Self {
            title: title.into(),
            section,
            position: None,
            content,
            table: None,
            is_cut: false,
            file: None,
            json: None,
            json_parts: Vec::new(),
            command: None,
        }
    }
}

impl Page {
    /// Returns the path of the interface that gives a part of this page as JSON; the main one where no part is named. On a page with a single
    /// JSON, `part` is a part of its timeline.
    pub(crate) fn json_at(&self, part: Option<&str>) -> Option<&str> {
        let Some(part) = part.filter(|_| !self.json_parts.is_empty()) else { return self.json.as_deref() };
        self.json_parts.iter().find(|(name, _)| *name == part).map(|(_, path)| path.as_str())
    }
}

/// An act that was done: the page that is shown next, and what it says of the act.
pub(crate) struct Done {
    pub(crate) to: String,
    pub(crate) notice: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_a_part_is_that_of_the_page_or_of_one_of_its_json_parts() {
        let mut page = Page::new(Section::Sessions, "Session", Markup::default());
        assert_eq!(page.json_at(Some("calls")), None);
        page.json = Some("/all".to_owned());
        assert_eq!([page.json_at(Some("calls")), page.json_at(None)], [Some("/all"); 2]);
        page.json_parts = vec![("mode", "/mode".to_owned())];
        let found = [Some("mode"), Some("keys"), None].map(|part| page.json_at(part));
        assert_eq!(found, [Some("/mode"), None, Some("/all")]);
    }
}
