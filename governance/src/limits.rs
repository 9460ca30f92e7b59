//! The limits of the state: numbers of entries, and lifetimes.
//! A full map denies; entries leave by governed time alone.

use bitacora_formats::Micros;

/// Calls that were decided and have no outcome yet.
pub const MAX_OPEN_CALLS: usize = 100_000;
/// Those of one agent: the others go on when it has too many.
pub const MAX_OPEN_CALLS_OF_AGENT: usize = MAX_OPEN_CALLS / 4;
/// Approvals that wait, or were resolved a short time ago.
pub const MAX_APPROVALS: usize = 20_000;
/// Those of one agent.
pub const MAX_APPROVALS_OF_AGENT: usize = MAX_APPROVALS / 4;
/// Standing grants.
pub const MAX_GRANTS: usize = 1_000;
/// Idempotency keys.
pub const MAX_KEYS: usize = 200_000;
/// Those of one agent.
pub const MAX_KEYS_OF_AGENT: usize = MAX_KEYS / 4;
/// Dimensions with a trust record or a breaker of their own.
pub const MAX_DIMENSIONS: usize = 1_000_000;
/// Imports that came to their end.
pub const MAX_IMPORTS: usize = 100_000;
/// Sessions that had calls decided here and are remembered, so that no recording of them counts again.
pub const MAX_LIVE_SESSIONS: usize = 100_000;
/// Dimensions that the calls of one agent may begin on one UTC day.
pub const MAX_NEW_DIMENSIONS_OF_AGENT: usize = 10_000;
/// Dimensions of one tool and context that are looked at for one call; where there are more, a person looks.
pub const MAX_DIMENSIONS_LOOKED_AT: usize = 256;
/// Tools that calls named and nobody registered, once for each agent.
pub const MAX_TOOL_SIGHTINGS: usize = 4_096;
/// Those of one agent.
pub const MAX_TOOL_SIGHTINGS_OF_AGENT: usize = MAX_TOOL_SIGHTINGS / 16;
/// Versions of policies.
pub const MAX_POLICIES: usize = 1_000;
/// Scopes with a mode of their own.
pub const MAX_MODE_SCOPES: usize = 1_000;
/// Principals whose tokens are taken.
pub const MAX_PRINCIPALS: usize = 1_000;
/// Blocked dimensions whose calls are reviewed for a while.
pub const MAX_PROBES: usize = 1_000;
/// Agents that are suspended.
pub const MAX_SUSPENDED: usize = 10_000;
/// Legal holds in force.
pub const MAX_HOLDS: usize = 1_024;

/// Budgets that may be set.
pub const MAX_BUDGETS: usize = 1_024;
/// Those that one call counts in.
pub const MAX_BUDGETS_OF_CALL: usize = 16;
/// Runs and sessions that have a budget of their own, once for each budget.
pub const MAX_BUDGET_WINDOWS: usize = 100_000;
/// Those that one agent began.
pub const MAX_BUDGET_WINDOWS_OF_AGENT: usize = MAX_BUDGET_WINDOWS / 4;
/// Calls for which something is reserved.
pub const MAX_RESERVATIONS: usize = MAX_OPEN_CALLS;
/// Runs and sessions that are watched for loops.
pub const MAX_ROUNDS: usize = 100_000;
/// Those of one agent.
pub const MAX_ROUNDS_OF_AGENT: usize = MAX_ROUNDS / 4;
/// Runs whose end is awaited, so that a missing end is told. Runs past it are not awaited.
pub const MAX_AWAITED_RUNS: usize = MAX_ROUNDS;
/// Those of one agent.
pub const MAX_AWAITED_RUNS_OF_AGENT: usize = MAX_AWAITED_RUNS / 4;
/// Calls before which a check failed.
pub const MAX_BROKEN: usize = MAX_OPEN_CALLS;
/// Those of one agent.
pub const MAX_BROKEN_OF_AGENT: usize = MAX_BROKEN / 4;

/// Calls whose outcome was told, and behind which a check still counts.
pub const MAX_ENDED_CALLS: usize = MAX_OPEN_CALLS;
/// Those of one agent.
pub const MAX_ENDED_CALLS_OF_AGENT: usize = MAX_ENDED_CALLS / 4;

/// The longest time for which a blocked dimension is reviewed.
pub const MAX_PROBE_LIFE: Micros = hours(7 * 24);
/// An approval that nobody named a time for.
pub const APPROVAL_LIFE: Micros = hours(24);
/// The time in which a resolved approval can still be asked for.
pub const RESOLVED_APPROVAL_LIFE: Micros = hours(24);
/// The unused approvals of one action that are looked at for a call that names none.
pub const MAX_REUSABLE_APPROVALS: usize = 16;
/// The time after its decision in which a call may begin.
pub const START_LIFE: Micros = minutes(5);
/// The time that a call without a deadline of its own may take.
pub const CALL_LIFE: Micros = hours(1);
/// The age at which a run that has told no end is told of.
pub const RUN_LIFE: Micros = hours(24);
/// The time after its last outcome for which critical calls of a blocked dimension are denied; from then on a person looks at them.
pub const BLOCKED_LIFE: Micros = hours(24);
/// The time after its deadline for which the outcome of an allowed call is still taken.
pub const LATE_OUTCOME_LIFE: Micros = hours(1);
/// The lifetime of an idempotency key, where no policy sets another one.
pub const KEY_LIFE: Micros = hours(24);
/// The time after that for which it is remembered, to be refused as too old.
pub const STALE_KEY_LIFE: Micros = hours(24);

/// The time after its last outcome for which a dimension is remembered: two years.
pub use bitacora_vocabulary::DIMENSION_LIFE;
/// The time after the last event in it for which a run or session is watched.
pub const ROUND_LIFE: Micros = hours(24);
/// The time after the last call within which calls without a session and a run go on from those before.
pub const ALONE_LIFE: Micros = minutes(10);
/// The time after its last spending for which a run or session keeps the spending of its own budgets.
pub const BUDGET_WINDOW_LIFE: Micros = hours(30 * 24);

/// The time after its last spending for which an ended run keeps the spending of its own budgets.
pub const ENDED_WINDOW_LIFE: Micros = hours(24);

const fn hours(hours: u64) -> Micros {
    minutes(hours * 60)
}

const fn minutes(minutes: u64) -> Micros {
    Micros(minutes * 60 * 1_000_000)
}
/// The most entries of one list.
pub(crate) const MAX_LISTED: usize = 1_000;
