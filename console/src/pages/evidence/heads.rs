//! Signed tree heads, and who cosigned them.

use bitacora_api::paths;
use maud::{Markup, html};

use crate::components::{Fact, facts, text};
use crate::page_error::PageError;
use crate::visit::Visit;

/// The code of a ledger that has signed no tree head yet.
const NO_TREE_HEAD: &str = "no-tree-head";

/// A tree head as its note shows it (c2sp.org/signed-note, c2sp.org/tlog-checkpoint). Nothing of it is verified here.
pub(super) struct HeadNote {
    note: String,
    origin: String,
    pub(super) size: String,
    root: String,
    signers: Vec<String>,
}

impl HeadNote {
    /// Asks for the head at this path; `None` where none is signed yet.
    pub(super) async fn of(visit: &Visit, template: &str) -> Result<Option<Self>, PageError> {
        match visit.interface.get_text(&visit.api(template, &[], "")).await {
            Ok(answered) => Ok(Self::parse(answered.value)),
            Err(error) if error.is(NO_TREE_HEAD) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn parse(note: String) -> Option<Self> {
        let (body, signatures) = note.split_once("\n\n")?;
        let mut lines = body.lines().map(str::to_owned);
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let signers = signatures
            .lines()
            .filter_map(|line| line.strip_prefix("— ")?.split(' ').next().map(str::to_owned));
        let signers = signers.collect();
        Some(Self { origin, size, root, signers, note })
    }

    /// Those who signed beside the ledger itself.
    fn cosigners(&self) -> impl Iterator<Item = &str> {
        self.signers.iter().map(String::as_str).filter(|signer| *signer != self.origin)
    }
}

/// The last signed head, and the last cosigned one where that is another.
pub(super) fn section(visit: &Visit, signed: Option<&HeadNote>, cosigned: Option<&HeadNote>) -> Markup {
    html! {
        h2 { "Signed tree heads" }
        @match signed {
            None => { p.empty { "No tree head is signed yet. One is within a second of the first event." } }
            Some(head) => { (card(visit, head, "Last signed", paths::TREE_HEAD)) }
        }
        @if let Some(head) = cosigned.filter(|head| head.cosigners().next().is_some()) {
            (card(visit, head, "Last cosigned by a quorum", paths::TREE_CHECKPOINT))
        } @else {
            p.note { "No witness has cosigned a head. " code { "serve --witnesses FILE" } " brings heads to witnesses; without them, keep heads elsewhere yourself." }
        }
    }
}

fn card(visit: &Visit, head: &HeadNote, title: &str, template: &str) -> Markup {
    let cosigners: Vec<_> = head.cosigners().collect();
    html! {
        div.sheet {
            h3 { (title) }
            (facts([
                Fact::text("Origin", Some(&head.origin)),
                Fact::text("Events", Some(&head.size)),
                Fact::new("Root", html! { code { (text(&head.root)) } }),
                Fact::new("Cosigned by", html! { @if cosigners.is_empty() { "nobody" } @else { (text(&cosigners.join(", "))) } }),
            ]))
            details { summary { "The note, to keep elsewhere" } pre { (text(&head.note)) }
                p.note { "As a file: " code { "GET " (visit.api(template, &[], "")) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_shows_its_head_and_who_signed_it() {
        let note = "main/a0/g1\n2\nmobQ=\n\n— main/a0/g1 jhnp\n— witness.example/w1 abcd\n".to_owned();
        let head = HeadNote::parse(note).unwrap();
        assert_eq!(
            (head.origin.as_str(), head.size.as_str(), head.root.as_str()),
            ("main/a0/g1", "2", "mobQ=")
        );
        assert_eq!(head.cosigners().collect::<Vec<_>>(), ["witness.example/w1"]);
        for none in ["", "main\n2\n", "main\n\n— x y", "a\nb\n\n"] {
            assert!(HeadNote::parse(none.to_owned()).is_none(), "{none:?}");
        }
    }
}
