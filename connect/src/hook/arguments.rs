//! The command line of the hook process, as the settings of a harness hold it.

use std::ffi::OsString;
use std::path::PathBuf;

use bitacora_harness::Dialect;

use crate::error::HookFailure;

/// The arguments of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookArguments {
    /// The harness's dialect.
    pub dialect: Dialect,
    /// The connection's file.
    pub connection: PathBuf,
    /// `true` if the settings name this hook before calls alone.
    pub gate: bool,
    /// `true` if a call that nobody decided is blocked.
    pub enforce: bool,
}

impl HookArguments {
    /// The flag that blocks calls that nobody decided.
    pub const ENFORCE: &'static str = "--enforce";
    /// The flag of the hook before calls. Settings of earlier versions have none; their hook goes by the input's event.
    pub const GATE: &'static str = "--gate";
    /// The flag before the connection's file.
    pub const CONNECTION: &'static str = "--connection";

    /// Parses `DIALECT --connection FILE [--gate] [--enforce]`.
    ///
    /// # Errors
    /// They are anything else.
    pub fn parse(arguments: &[OsString]) -> Result<Self, HookFailure> {
        let (mut dialect, mut connection, mut gate, mut enforce) = (None, None, false, false);
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.to_str() {
                Some(Self::ENFORCE) => enforce = true,
                Some(Self::GATE) => gate = true,
                Some(Self::CONNECTION) => connection = rest.next().map(PathBuf::from),
                Some(name) if dialect.is_none() => {
                    let named: Dialect =
                        name.parse().map_err(|error| HookFailure::Arguments(format!("{error}")))?;
                    dialect = Some(named);
                }
                _ => return Err(HookFailure::Arguments(argument.to_string_lossy().into_owned())),
            }
        }
        match (dialect, connection) {
            (Some(dialect), Some(connection)) => Ok(Self { dialect, connection, gate, enforce }),
            (None, _) => Err(HookFailure::Arguments("no harness is named".to_owned())),
            (_, None) => Err(HookFailure::Arguments("no connection is named".to_owned())),
        }
    }
}
