//! Decisions, from an empty ledger on, without a log.

#![expect(clippy::needless_pass_by_value, reason = "`json!` makes values")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on must fail"
)]

mod approval_ids;
mod approvals;
mod attacks;
mod bad_input;
mod bounds;
mod breakers;
mod budget_ends;
mod budget_limits;
mod budget_model;
mod budgets;
mod checks_failed;
mod clocks;
mod contracts;
mod corrections;
mod cycles;
mod desk;
mod evasion;
mod everything;
mod failures;
mod gate_history;
mod golden;
mod healing;
mod holds;
mod imports;
mod isolation;
mod judged_again;
mod live_actions;
mod measured;
mod persons;
mod principals;
mod published;
mod random_acts;
mod real_actions;
mod recoveries;
mod refusals;
mod repeats;
mod replays;
mod replicas;
mod rolling_rates;
mod rounds;
mod rounds_history;
mod rules;
mod run_budgets;
mod servers;
mod session_folders;
mod steps;
mod stops;
mod stored_states;
mod times;
mod times_history;
mod what_ifs;
mod workspaces;
mod zones;
