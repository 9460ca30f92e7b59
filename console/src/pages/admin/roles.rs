//! Roles: what each may.

use maud::{Markup, html};

/// Rights, and the roles that have them: agent, operator, admin, auditor, metrics.
const RIGHTS: [(&str, [bool; 5]); 8] = [
    ("Read events, decisions and evidence", [true, true, true, true, false]),
    ("Append events, ask before calls, report outcomes", [true, true, true, false, false]),
    ("Start a verification", [false, true, true, true, false]),
    ("Answer approvals; set trust, mode, budgets, rates", [false, true, true, false, false]),
    ("Publish policies, register tools, stop agents", [false, true, true, false, false]),
    ("Create and revoke tokens", [false, false, true, false, false]),
    ("Make ledgers, set one read-only, end the service", [false, false, true, false, false]),
    ("Collect metrics", [true, true, true, true, true]),
];

pub(super) fn section() -> Markup {
    html! {
        section #roles {
            h2 { "Roles" }
            div.wide tabindex="0" role="region" aria-label="What each role may" {
                table.rights {
                    thead { tr { th scope="col" { "May" } @for role in ["Agent", "Operator", "Admin", "Auditor", "Metrics"] { th scope="col" { (role) } } } }
                    tbody { @for (right, may) in RIGHTS {
                        tr { th scope="row" { (right) } @for may in may { td { @if may { "yes" } @else { span.quiet-text { "no" } } } } }
                    } }
                }
            }
            p.note { "A token of role agent asks before its calls and reports them. It governs nothing." }
        }
    }
}
