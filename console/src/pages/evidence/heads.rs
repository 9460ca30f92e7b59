//! Signed tree heads, and who cosigned them.

use bitacora_api::paths;
use maud::{Markup, html};

use crate::components::{Fact, facts, grouped, text};
use crate::head_note::HeadNote;
use crate::visit::Visit;

/// The last signed head, and the last cosigned one where that is another.
pub(super) fn section(visit: &Visit, signed: Option<&HeadNote>, cosigned: Option<&HeadNote>) -> Markup {
    html! {
        h2 { "Signed tree heads" }
        @match signed {
            None => { p.empty { "No tree head is signed yet. The first one follows within a second of the first event." } }
            Some(head) => { (card(visit, head, "Last signed", paths::TREE_HEAD)) }
        }
        @if let Some(head) = cosigned.filter(|head| head.cosigners().next().is_some()) {
            (card(visit, head, "Last cosigned by a quorum", paths::TREE_CHECKPOINT))
        } @else {
            p.note { "No witness has cosigned a head. " code { "serve --witnesses FILE" } " names witnesses; without them, keep heads elsewhere yourself." }
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
                Fact::new("Events", html! { (grouped(&head.size)) }),
                Fact::new("Root", html! { code { (text(&head.root)) } }),
                Fact::new("Cosigned by", html! { @if cosigners.is_empty() { "nobody" } @else { (text(&cosigners.join(", "))) } }),
            ]))
            details { summary { "The note, to keep elsewhere" } pre { (text(&head.note)) }
                p.note { "As a file: " code { "GET " (visit.api(template, &[], "")) } } }
        }
    }
}
