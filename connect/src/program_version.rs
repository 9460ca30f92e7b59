//! The output of a program that is asked for its version or settings, within a time.

use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

use crate::limits::{LOCK_POLL, MAX_OUTPUT_BYTES, VERSION_PATIENCE};

/// The permissions with which somebody may run a file.
const EXECUTABLE: u32 = 0o111;

/// The reason why a program does not answer its version.
#[derive(Debug, thiserror::Error)]
pub enum ProgramFault {
    /// There is no such file.
    #[error("no file is there")]
    Missing,
    /// It is no file that may be run.
    #[error("found no file that may be run")]
    NotExecutable,
    /// It does not run.
    #[error("it does not run: {0}")]
    Run(#[from] io::Error),
    /// It answers nothing, or fails.
    #[error("it answers nothing, or fails")]
    Silent,
    /// It does not answer in time.
    #[error("it did not answer within {} s", VERSION_PATIENCE.as_secs())]
    Late,
}

/// Asks a program for its version: the first line of what it writes.
///
/// # Errors
/// It gives none.
pub fn version_of(program: &Path) -> Result<String, ProgramFault> {
    let text = output_of(program, &["--version"])?;
    let line = text.lines().next().map(str::trim).filter(|line| !line.is_empty());
    line.map(|line| line.chars().take(80).collect()).ok_or(ProgramFault::Silent)
}

/// Runs a program and returns what it writes.
///
/// # Errors
/// It does not run, fails, or takes too long.
pub fn output_of(program: &Path, arguments: &[&str]) -> Result<String, ProgramFault> {
    let metadata = std::fs::metadata(program).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ProgramFault::Missing,
        _ => ProgramFault::Run(error),
    })?;
    if !metadata.is_file() || metadata.permissions().mode() & EXECUTABLE == 0 {
        return Err(ProgramFault::NotExecutable);
    }
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = loop {
        match command.spawn() {
            // An update is just writing it.
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy
                    && began.elapsed() < VERSION_PATIENCE =>
            {
                thread::sleep(LOCK_POLL);
            }
            spawned => break spawned?,
        }
    };
    let output = child.stdout.take().ok_or(ProgramFault::Silent)?;
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let read = output.take(MAX_OUTPUT_BYTES).read_to_end(&mut text);
        // If nobody waits any more, nobody has to know.
        let _unheard = tell.send(read.map(|_| text));
    });
    let answered = told.recv_timeout(VERSION_PATIENCE);
    while child.try_wait()?.is_none() && began.elapsed() < VERSION_PATIENCE && answered.is_ok() {
        thread::sleep(LOCK_POLL);
    }
    let status = child.try_wait()?;
    if status.is_none() {
        // It was asked a question alone.
        child.kill()?;
        child.wait()?;
    }
    let (Ok(text), Some(status)) = (answered, status) else { return Err(ProgramFault::Late) };
    if !status.success() {
        return Err(ProgramFault::Silent);
    }
    Ok(String::from_utf8_lossy(&text?).into_owned())
}
