//! Roles: what each may.

use maud::{Markup, html};

/// Rights, and the roles that have them: agent, operator, admin, auditor.
const RIGHTS: [(&str, [bool; 4]); 7] = [
    ("Read events, decisions and evidence", [true, true, true, true]),
    ("Append events, ask before calls, report outcomes", [true, true, true, false]),
    ("Start a verification", [false, true, true, true]),
    ("Answer approvals; set trust, mode, budgets, rates", [false, true, true, false]),
    ("Publish policies, register tools, stop agents", [false, true, true, false]),
    ("Create and revoke tokens", [false, false, true, false]),
    ("Make ledgers, set one read-only, end the service", [false, false, true, false]),
];

pub(super) fn section() -> Markup {
    html! {
        section #roles {
            h2 { "Roles" }
            div.wide tabindex="0" role="region" aria-label="What each role may" {
                table.rights {
                    thead { tr { th scope="col" { "May" } @for role in ["Agent", "Operator", "Admin", "Auditor"] { th scope="col" { (role) } } } }
                    tbody { @for (right, may) in RIGHTS {
                        tr { th scope="row" { (right) } @for may in may { td { @if may { "yes" } @else { span.quiet-text { "no" } } } } }
                    } }
                }
            }
            p.note { "A token of role agent asks before its calls and reports them. It governs nothing." }
        }
    }
}
