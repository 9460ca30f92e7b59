//! The settings of a service: a TOML file, variables and options, and the source of each value.
//!
//! The keys of the file are the long options of a `clap` command, so no second list of them can drift. Values of the file become defaults
//! of that command: its own parsers check them, and variables and options override them.
//!
//! This crate may not know files, the environment, or any other crate of this workspace.

mod document;
mod fault;
mod keys;
mod layers;
mod nearest;
mod source;
mod variables;

pub use document::SettingsDocument;
pub use fault::{FaultKind, SettingsFault};
pub use keys::{SettingKey, SettingKeys, SettingKind};
pub use layers::{with_document, with_variables};
pub use nearest::nearest;
pub use source::{Setting, SettingSource, settings};
pub use variables::unknown_variables;
