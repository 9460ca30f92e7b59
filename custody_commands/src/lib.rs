//! The commands of custody: those that keep, prove, move and erase a ledger's events.

use bitacora_command_kit::{error, exit, files, ledger_access, options, terminal};

pub mod archive;
pub mod erase;
pub mod export;
pub mod holds;
pub mod keys;
pub mod prove;
pub mod recover;
pub mod retention;
pub mod tiers;
pub mod verify;
