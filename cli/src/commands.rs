//! The commands, one a file.

pub(crate) mod annotate;
pub(crate) mod append;
pub(crate) mod approvals;
pub(crate) mod bench;
pub(crate) mod breakers;
pub(crate) mod budgets;
pub(crate) mod calls;
pub(crate) mod checkpoints;
pub(crate) mod clock;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod connect;
pub(crate) mod console;
pub(crate) mod contracts;
pub(crate) mod costs;
pub(crate) mod decide;
pub(crate) mod doctor;
pub(crate) mod gaps;
pub(crate) mod grants;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod imports;
pub(crate) mod mcp;
pub(crate) mod mode;
pub(crate) mod outcome;
pub(crate) mod panic;
pub(crate) mod policy;
pub(crate) mod projections;
pub(crate) mod quickstart;
pub(crate) mod rates;
pub(crate) mod read;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod runs;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod starter;
pub(crate) mod status;
pub(crate) mod tail;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod watch;

pub(crate) use bitacora_custody_commands::{
    archive, erase, export, holds, keys, prove, recover, retention, tiers, verify,
};
