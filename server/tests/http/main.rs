//! The service over loopback: its answers, and faulty requests that change nothing.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect ends, and says where"
)]

mod absurd_input;
mod acting;
mod acting_as;
mod administering;
mod appending;
mod approving;
mod archiving;
mod at_once;
mod bodies;
mod bounds;
mod budgets;
mod bundles;
mod checkpoints;
mod clocks;
mod closed;
mod contents;
mod deciding;
mod doubt;
mod erasing;
mod event_stream;
mod expiring;
mod exports;
mod flooding;
mod following;
mod framing;
mod governed;
mod holders;
mod holding;
mod hooks;
mod identities;
mod imports;
mod ingesting;
mod kept_apart;
mod learning;
mod ledgers;
mod lengths;
mod lifecycle;
mod long_answers;
mod metering;
mod modelled;
mod names;
mod never_run;
mod notices;
mod openapi;
mod origin;
mod pace;
mod paging;
mod policy_cache;
mod projections;
mod proofs;
mod reading;
mod remembering;
mod repeating;
mod replicas;
mod requiring;
mod reusing;
mod schemas;
mod sdks;
mod secured;
mod service;
mod sessions;
mod sharing;
mod sign_in;
mod signed_answers;
mod tiers;
mod times;
mod tlog_client;
mod tree_heads;
mod trying;
mod undone;
mod unlisted;
mod unregistered;
mod usage;
mod vocabulary;
mod warm;
mod watching;
mod wire;
