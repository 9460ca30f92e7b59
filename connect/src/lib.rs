//! Connections of coding agents: the hook process, its spool, and the settings files that name it.
//!
//! `connect` writes a *connection* (where the service is, whose token, which settings were changed) and the harness's
//! settings. The harness then runs the hook process, which reads the connection, asks the service, and prints the answer.
//! This crate parses no flags and prints nothing; its errors are types.

mod command_line;
mod conflict;
mod connection;
mod error;
mod examination;
mod hook;
mod install;
mod key_fingerprint;
mod limits;
mod lock;
mod loss_report;
mod losses;
mod pending_token;
mod places;
mod program_version;
mod remnants;
mod service_examination;
mod settings_file;
mod spool;
mod spool_contents;
#[cfg(test)]
mod tests;
mod watch_unit;

pub use command_line::USUAL_WAIT_S;
pub use conflict::{ConflictError, refuse_conflict};
pub use connection::{Connection, make_private_folder, write_private};
pub use error::{ConnectionError, HookFailure, SpoolError};
pub use examination::{
    OtherSettings, SettingsObstacle, examine_other_settings, examine_settings, settings_obstacles,
};
pub use hook::{
    Delivered, DeliveryPlace, HookArguments, HookExit, deliver_before, deliver_spooled, is_final, run_hook,
};
pub use install::{
    Credentials, Disconnected, HookProgram, InstallError, Installed, Preparation, install, marker, uninstall,
};
pub use key_fingerprint::key_fingerprint;
pub use lock::ConnectLock;
pub use loss_report::LossCounts;
pub use pending_token::PendingToken;
pub use places::Places;
pub use program_version::{ProgramFault, output_of, version_of};
pub use service_examination::{LastEvent, ServiceExamination, ServiceFault, examine_service};
pub use settings_file::{SettingsFileError, SettingsScope, settings_path};
pub use spool::{Spool, SpoolCounts};
pub use spool_contents::SpoolContents;
pub use watch_unit::{WatchUnit, WatchUnitError};
