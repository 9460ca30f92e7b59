//! Commands that check all of it without this service.

use bitacora_api::KeysAnswer;
use maud::{Markup, html};

use crate::components::text;
use crate::visit::Visit;

/// The commands, each with what it shows.
pub(super) fn section(visit: &Visit, keys: &KeysAnswer) -> Markup {
    let ledger = &visit.ledger;
    let key = keys.verifier_key.as_deref().unwrap_or("KEY");
    let steps: [(&str, String); 5] = [
        (
            "Keep the key and a tree head, on a machine where nobody of this service writes. One head a day is enough to notice a rollback of a day.",
            format!("echo '{key}' > ledger.vkey\ncurl -fsS -H \"authorization: Bearer $TOKEN\" $SERVICE/v1/ledgers/{ledger}/treehead > head.txt"),
        ),
        (
            "Copy the data folder, or use a backup of it. No key of the ledger is needed to check it.",
            "rsync -a service:/var/lib/bitacora/data/ ./copy/".to_owned(),
        ),
        (
            "Check every byte of the copy against the key and the head. Exit code 0: this ledger, and all of it up to the head. 30: rolled back or replaced. 40: the first fault is named.",
            format!("bitacora verify --ledger {ledger} --data ./copy --vkey \"$(cat ledger.vkey)\" --known-head head.txt"),
        ),
        (
            "Check it again with the second verifier, which shares no code with the first.",
            format!("python3 bitacora_verify.py ./copy/ledgers/{ledger} --vkey \"$(cat ledger.vkey)\" --known-head head.txt"),
        ),
        (
            "Check a bundle, on any machine with Python.",
            "tar xf evidence.tar bitacora_verify.py\npython3 -m pip install blake3 cryptography\npython3 bitacora_verify.py --bundle evidence.tar --vkey \"$(cat ledger.vkey)\"".to_owned(),
        ),
    ];
    html! {
        section #offline.sheet {
            h2 { "Check it yourself, offline" }
            ol.steps { @for (index, (words, command)) in steps.iter().enumerate() {
                li {
                    p { (words) }
                    pre id=(format!("step-{index}")) { (text(command)) }
                    button.quiet type="button" data-copy=(format!("step-{index}")) { "Copy" }
                }
            } }
        }
    }
}
