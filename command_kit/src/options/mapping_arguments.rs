//! The options that map any lines of JSON to events.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use bitacora_formats::Micros;
use clap::Args;

use crate::error::CommandFailure;
use crate::exit::Exit;
use crate::files::input_file;
use bitacora_import::{
    Format, ImportPlan, LineMapping, Pointer, SourceFile, SourceFilesError, Template, find_sources,
};

/// The mapping of any lines of JSON to events. TEXT may hold `{place}`; a PLACE is a member, a path `a.b`, or a JSON pointer `/a/b`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Mapping of any lines of JSON; {place} in TEXT stands for what is there")]
pub struct MappingArguments {
    /// The events' type.
    #[arg(long = "type", value_name = "TEXT")]
    kind: Option<Template>,
    /// The events' stream; for CloudEvents, the stream of events without one.
    #[arg(long, value_name = "TEXT")]
    stream: Option<String>,
    /// The events' source.
    #[arg(long, value_name = "TEXT")]
    source: Option<Template>,
    /// The identity of a line: one place or several, joined by `:`. [default: the file and the line's number]
    #[arg(long, value_name = "PLACE", value_delimiter = ',')]
    id_from: Vec<Pointer>,
    /// The time of the event: RFC 3339, or a number since 1970 in s, ms, µs or ns.
    #[arg(long, value_name = "PLACE")]
    time_from: Option<Pointer>,
    /// The events' actor.
    #[arg(long, value_name = "PLACE")]
    actor_from: Option<Pointer>,
    /// The events' agent.
    #[arg(long, value_name = "PLACE")]
    agent_from: Option<Pointer>,
    /// The events' session.
    #[arg(long, value_name = "PLACE")]
    session_from: Option<Pointer>,
    /// The events' run.
    #[arg(long, value_name = "PLACE")]
    run_from: Option<Pointer>,
    /// The events' tool call.
    #[arg(long, value_name = "PLACE")]
    call_from: Option<Pointer>,
}

/// The reason why the files cannot be read as the options say.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// The files cannot be found or read.
    #[error(transparent)]
    Files(#[from] SourceFilesError),
    /// The user has no home folder to look in.
    #[error("no home folder to look for transcripts in; name a file or a folder")]
    NoHome,
    /// The flags of a mapping stand beside another format.
    #[error("--type and the flags beside it map any lines of JSON; leave them out, or say --format lines")]
    OtherFormat,
    /// The template of a stream's name is none.
    #[error("--stream: {0}")]
    Stream(<Template as std::str::FromStr>::Err),
}

impl CommandFailure for MappingError {
    fn exit(&self) -> Exit {
        match self {
            Self::OtherFormat | Self::Stream(_) => Exit::Usage,
            Self::Files(_) | Self::NoHome => Exit::Failed,
        }
    }
}

impl MappingArguments {
    /// Returns the reader of these files. Their contents decide the format where none is named.
    pub fn reading(
        &self,
        paths: &[PathBuf],
        format: Option<Format>,
        batch_events: usize,
    ) -> Result<ImportPlan, MappingError> {
        let Self { kind, stream, source, id_from, time_from, .. } = self;
        let Self { actor_from, agent_from, session_from, run_from, call_from, .. } = self;
        let places = [time_from, actor_from, agent_from, session_from, run_from, call_from];
        let is_mapped = kind.is_some()
            || source.is_some()
            || !id_from.is_empty()
            || places.into_iter().any(Option::is_some);
        let format = match format {
            None if is_mapped => Some(Format::Lines),
            None if paths.is_empty() => Some(Format::ClaudeCode),
            Some(format) if is_mapped && format != Format::Lines => return Err(MappingError::OtherFormat),
            format => format,
        };
        let template = || stream.as_deref().map(str::parse).transpose().map_err(MappingError::Stream);
        let stream_template = if format == Some(Format::Lines) { template()? } else { None };
        let lines = LineMapping {
            kind: kind.clone(),
            stream: stream_template,
            source: source.clone(),
            id: id_from.clone(),
            time: time_from.clone(),
            actor: actor_from.clone(),
            agent: agent_from.clone(),
            session: session_from.clone(),
            run: run_from.clone(),
            call: call_from.clone(),
        };
        let files = find_files(paths)?;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(ImportPlan {
            files,
            open: input_file::open,
            format,
            stream: stream.clone(),
            lines,
            batch_events,
            now: Micros(u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX)),
        })
    }
}

fn find_files(paths: &[PathBuf]) -> Result<Vec<SourceFile>, MappingError> {
    let transcripts = paths.is_empty().then(home_transcripts).transpose()?;
    let paths = transcripts.as_ref().map_or(paths, std::slice::from_ref);
    Ok(find_sources(paths, input_file::check)?)
}

/// Returns the folder in which Claude Code keeps the transcripts of its sessions.
fn home_transcripts() -> Result<PathBuf, MappingError> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    Ok(home.ok_or(MappingError::NoHome)?.join(".claude").join("projects"))
}
