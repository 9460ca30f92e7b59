//! The promises of the ledger, one module each. See the table in the README.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]
#![expect(clippy::indexing_slicing, clippy::panic, reason = "a test that cannot go on must fail")]

mod archived;
mod counted_time;
/// Shared with the archiver's tests.
#[path = "../../../archiver/tests/way/expiring_ledger.rs"]
mod expiring_ledger;
#[expect(dead_code, reason = "the archiver's tests need more of it")]
#[path = "../../../archiver/tests/way/fixture.rs"]
mod fixture;
mod indexed;
mod leaves;
mod lost_answers;
mod p10_confidential;
mod p11_forgettable;
mod p11_sealed_calls;
mod p11_slow_anchor;
mod p12_bounded;
mod p1_durable;
mod p1_moved;
mod p1_put_back;
mod p1_subject_keys;
mod p2_visible_is_durable;
mod p3_dense;
mod p4_once;
mod p5_recorded_removals;
mod p5_tamper_evident;
mod p6_events_behind_damage;
mod p6_no_silent_repair;
mod p7_declared_loss;
mod p7_forged_files;
mod p7_given_up;
mod p7_no_rollback;
mod p8_no_allow_by_a_clock_that_jumped;
mod p8_no_allow_where_a_step_fails;
mod p8_no_allow_without_a_record;
mod p9_any_history;
mod p9_expired_state;
mod p9_read_models;
mod p9_replayable;
mod p9_trust_at;
mod padding_costs;
mod proofs;
/// Shared with the tests of what decides alone.
#[path = "../../../governance/tests/decisions/random_acts.rs"]
mod random_acts;
mod reactor_seam;
mod reading_only;
mod reopening;
mod repacked;
mod sealed_acts;
mod state_snapshots;
mod tree_heads;
mod witnesses;
mod workload;
