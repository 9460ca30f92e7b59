//! The real program as a process: killed at random, and fed with real events.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]
#![expect(clippy::indexing_slicing, clippy::panic, reason = "a test that cannot go on must fail")]

mod anchors;
mod caches;
mod cold;
mod erased;
mod executors;
mod following;
mod full_disk;
mod imports;
mod kills;
mod moved;
mod own_events;
mod read_models;
mod real_actions;
mod replaying;
mod stored_anchor;
mod stored_objects;
mod subscribers;
mod threads;
mod witnessed;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_bitacora-under-test");
