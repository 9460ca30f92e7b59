//! Connections of coding agents: the hook process, its spool, and the settings files that name it.
//!
//! `connect` writes a *connection* (where the service is, whose token, which settings were changed) and the harness's
//! settings. The harness then runs the hook process, which reads the connection, asks the service, and prints the answer.
//! This crate parses no flags and prints nothing; its errors are types.

mod connection;
mod error;
mod hook;
mod install;
mod limits;
mod places;
mod settings_file;
mod spool;
#[cfg(test)]
mod tests;

pub use connection::Connection;
pub use error::{ConnectionError, HookFailure, SpoolError};
pub use hook::{HookArguments, HookExit, deliver_before, run_hook};
pub use install::{Disconnected, HookProgram, InstallError, install, marker, uninstall};
pub use places::Places;
pub use settings_file::{SettingsFileError, SettingsScope, settings_path};
pub use spool::{Spool, SpoolCounts};
