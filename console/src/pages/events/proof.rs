//! The inclusion proof of an event, explained, and how it is checked without trusting this service.

use bitacora_api::{InclusionAnswer, StoredEvent, paths};
use maud::{Markup, html};

use crate::command_line::CommandLine;
use crate::components::{grouped, moment, sentence, text};
use crate::form::query;
use crate::page_error::PageError;
use crate::visit::Visit;

/// Returns the part of the page about the proof.
pub(super) async fn proof(visit: &Visit, stored: &StoredEvent) -> Result<Markup, PageError> {
    let asked = query([("position", stored.position.as_str())].into_iter());
    let proof = match visit.get::<InclusionAnswer>(paths::INCLUSION, &[], &asked).await {
        Ok(answered) => answered.value,
        Err(error) => {
            return Ok(html! { h2 { "Proof" } p.notice.refusal { (sentence(&error.to_string())) } });
        }
    };
    Ok(html! {
        h2 { "Proof that it is in the log" }
        (explained(visit, stored, &proof))
        (commands(visit, stored))
    })
}

fn explained(visit: &Visit, stored: &StoredEvent, proof: &InclusionAnswer) -> Markup {
    html! {
        ol.proof {
            li { strong { "The leaf. " } "SHA-256 over a zero byte and 48 bytes (position " (stored.position) ", the time "
                (moment(&visit.zone, &stored.recorded_at)) ", and the commitment to the contents, " code { (text(&stored.commitment)) } ") is "
                code { (text(&proof.leaf_hash)) } "." }
            li { strong { "The path. " } "Hashed with the " (proof.hashes.len()) " hashes below, from the lowest up, the leaf gives the root "
                code #root { (text(&proof.root)) } " over all " (grouped(&proof.size)) " events. One changed byte anywhere gives another root." }
            li { strong { "The anchor. " } "This page shows what the service says. Compare the root with a signed tree head that somebody else keeps: the commands below do so offline." }
        }
        details {
            summary { "The " (proof.hashes.len()) " hashes, and the 48 bytes" }
            pre { "entry " (text(&proof.entry)) "\n" @for hash in &proof.hashes { (text(hash)) "\n" } }
        }
    }
}

fn commands(visit: &Visit, stored: &StoredEvent) -> Markup {
    let position = &stored.position;
    let name = format!("event-{position}");
    let receipt =
        CommandLine::new(visit, &format!("prove {position} --receipt --out {name}.tlog-proof")).line();
    let evidence = CommandLine::new(
        visit,
        &format!("prove {position} --data DATA --keyring KEYRING --out {name}.proof.json"),
    )
    .line();
    let copied = |id: &str, command: &str| {
        html! {
            div.copied { pre id=(id) { (text(command)) } button.quiet type="button" data-copy=(id) { "Copy" } }
        }
    };
    html! {
        h3 { "Check it offline" }
        p.note { "A receipt from this service: position, time and commitment, and nothing of the contents. " code { "KEY" } " is the ledger's verifier key, from somebody who keeps it." }
        (copied("receipt", &receipt))
        (copied("check-receipt", &format!("bitacora verify --evidence {name}.tlog-proof --vkey KEY")))
        p.note { "Evidence with the contents, made beside the data folder." }
        (copied("evidence", &evidence))
        (copied("check-evidence", &format!("bitacora verify --evidence {name}.proof.json --vkey KEY")))
    }
}
