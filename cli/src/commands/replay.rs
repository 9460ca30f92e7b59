//! `replay`: rebuilds the state that decides from the log, and compares it.

mod live;
mod trial;

use std::path::PathBuf;
use std::str::FromStr;

use bitacora_data_folder::TokenError;
use bitacora_formats::{After, Micros, Position};
use bitacora_governance::{REACTOR_VERSION, UnwritableState};
use bitacora_ledger::{Ledger, ReadError, ReplayProgressError};
use bitacora_replay::{
    DifferenceReport, FoldResult, ReevaluationResult, ReplayCursor, ReplayError, ReplayStart, ReplayStop,
    StateReport, fold_states, reevaluate, reevaluation_json, reevaluation_lines,
};
use clap::Args;
use serde_json::Value;

use self::trial::TriedPolicy;
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::files::input_file;
use crate::ledger_access::access::{AccessError, OpenFolder, event_loop};
use crate::ledger_access::interrupt::{InterruptError, Interrupts};
use crate::ledger_access::token_advice::token_advice;
use crate::options::global::Global;
use crate::options::time::PastTime;
use crate::options::usage::UsageError;
use crate::terminal::note;
use crate::terminal::output::{Output, OutputError};
use crate::terminal::progress::EventBar;
use bitacora_client::ClientError;

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// Rebuild the state after the event at this position. [default: the last durable one]
    #[arg(long, value_name = "POSITION")]
    to: Option<Position>,
    /// Rebuild the state at this time: after the last event recorded before it.
    #[arg(long, value_name = "TIME", conflicts_with = "to")]
    at: Option<PastTime>,
    /// Write only the position and the digest of the state.
    #[arg(long)]
    digest: bool,
    /// Compare with the state after the event at this position, and show the differences.
    #[arg(long, value_name = "POSITION")]
    diff: Option<Position>,
    /// Compare with the state that the service at --url decides by, at its position.
    #[arg(long, conflicts_with_all = ["to", "at", "diff", "re_judge"])]
    live: bool,
    /// Save an interrupted replay to this sealed file; the same command resumes from it and says so. [default: from the first event]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["live", "re_judge", "diff"])]
    progress: Option<PathBuf>,
    /// Start from the newest archived state that is not too new, and say so. [default: from the first event, archives included]
    #[arg(long, conflicts_with_all = ["live", "re_judge", "progress"])]
    from_archive: bool,
    /// Repeat every decision from its recorded inputs, by the rules of its version, and show those that differ.
    #[arg(long, conflicts_with_all = ["digest", "diff"])]
    re_judge: bool,
    /// Judge every recorded call by another policy, all else unchanged, and show the changed decisions.
    #[arg(long, requires = "policy", conflicts_with_all = ["digest", "diff", "live", "re_judge", "progress", "from_archive"])]
    what_if: bool,
    /// The policy to try: a published version, `v2`, or a file as `policy publish` takes it.
    #[arg(long, value_name = "vN|FILE", requires = "what_if")]
    policy: Option<TriedPolicy>,
    /// Try it on calls decided after this position, or from this time on.
    #[arg(long, value_name = "POSITION|TIME", requires = "what_if")]
    since: Option<Since>,
}

/// The beginning of a range: past a position, or from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Position(After),
    Time(Micros),
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(after) = text.parse() {
            return Ok(Self::Position(after));
        }
        let time = text.parse().map(|PastTime(time)| Self::Time(time));
        time.map_err(|error: String| format!("neither a position nor a time: {error}"))
    }
}

/// The reason why there is no state to show.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayFailure {
    #[error("{0}{advice}", advice = advice(.0))]
    Replay(#[from] ReplayError),
    #[error(transparent)]
    Ledger(#[from] ReadError),
    #[error("nothing was recorded before that time; name a later one")]
    BeforeFirst,
    #[error("no service to compare with; name it with --url or BITACORA_URL")]
    NoService,
    #[error("{0}{advice}", advice = token_advice(.0))]
    Client(#[from] ClientError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(
        "the service is at position {live}, this folder at {head}; replay the service's own folder, or a newer copy of it"
    )]
    Behind { live: Position, head: Position },
    #[error(
        "the service decides by version {live} of the rules, this program by {REACTOR_VERSION}; replay with its own program"
    )]
    OtherRules { live: u32 },
    #[error("the replay broke off: {0}")]
    Panicked(#[from] tokio::task::JoinError),
}

impl ReplayFailure {
    fn of_state(error: UnwritableState) -> Self {
        ReplayError::from(error).into()
    }
}

impl CommandFailure for ReplayFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::NoService => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}

/// Returns the remedy that is an option or a command.
fn advice(error: &ReplayError) -> &'static str {
    match error {
        ReplayError::Archived(_) => {
            "; leave out --from-archive, and everything is folded from the first event on"
        }
        ReplayError::NoneArchived(_) => "; leave out --from-archive",
        ReplayError::NoSuchPolicy(_) => "; `bitacora policy` shows them",
        _ => "",
    }
}

pub(crate) fn run(
    arguments: &ReplayArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    if arguments.live {
        return live::compare(global, output);
    }
    let data = match (&global.data, &global.url) {
        (None, Some(_)) => return Err(UsageError::ReplayFolder.into()),
        _ => global.data()?,
    };
    let folder = OpenFolder::open_for_reading(global, data)?;
    let to = arguments.end(&folder.ledger)?;
    let ledger = folder.ledger.clone();
    if arguments.re_judge {
        let found = in_background("judging", to, move |cursor| reevaluate(&ledger, to, cursor))?;
        write(|| reevaluation_json(&found), || reevaluation_lines(&found), global, output)?;
        return Ok(exit_of(&found));
    }
    if let Some(tried) = &arguments.policy {
        return arguments.what_if(tried, &ledger, to, global, output);
    }
    let positions = match arguments.diff {
        None => vec![to],
        Some(other) => vec![other.min(to), other.max(to)],
    };
    let mut folded = fold(ledger, positions, arguments.start()?)?;
    let Some(last) = folded.pop() else { return Ok(Exit::Failed) };
    let Some(earlier) = folded.pop() else {
        let state = StateReport::new(&last).map_err(ReplayFailure::of_state)?;
        if arguments.digest {
            if let Some(begins) = state.begins_line().filter(|_| !global.json) {
                note(&begins);
            }
            write(|| state.digest_json(), || vec![state.digest_line()], global, output)?;
        } else {
            write(|| state.to_json(), || state.lines(), global, output)?;
        }
        return Ok(Exit::Done);
    };
    let report = DifferenceReport::new(&earlier, &last).map_err(ReplayFailure::of_state)?;
    write(|| report.to_json(), || report.lines(), global, output)?;
    Ok(if report.is_same() { Exit::Done } else { Exit::Failed })
}

/// Returns the exit code. Decisions that could not be checked, or whose content expired, and a log without decisions, never count as
/// agreement.
fn exit_of(ReevaluationResult { found, expired, .. }: &ReevaluationResult) -> Exit {
    if found.disagreeing > 0 {
        Exit::Failed
    } else if found.unchecked_decisions > 0 || found.decisions == 0 || expired.is_some() {
        Exit::Incomplete
    } else {
        Exit::Done
    }
}

fn write(
    json: impl FnOnce() -> Value,
    lines: impl FnOnce() -> Vec<String>,
    global: &Global,
    output: &mut Output,
) -> Result<(), OutputError> {
    if global.json {
        return output.json(&json());
    }
    lines().into_iter().try_for_each(|line| output.line(line))
}

/// Folds a log up to each of these positions, which rise.
fn fold(
    ledger: Ledger,
    positions: Vec<Position>,
    start: ReplayStart,
) -> Result<Vec<FoldResult>, CommandError> {
    let to = positions.last().copied().unwrap_or(Position::FIRST);
    in_background("replaying", to, move |cursor| fold_states(&ledger, &positions, &start, cursor))
}

/// Runs a replay up to `to` on a separate thread, with a progress bar. An interruption tells it to stop.
fn in_background<T: Send + 'static>(
    what: &'static str,
    to: Position,
    work: impl FnOnce(ReplayCursor) -> Result<T, ReplayError> + Send + 'static,
) -> Result<T, CommandError> {
    let stop = ReplayStop::default();
    let told = stop.clone();
    event_loop()?.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
        let mut work =
            tokio::task::spawn_blocking(move || work(ReplayCursor::new(told, EventBar::new(what, to.get()))));
        tokio::select! {
            done = &mut work => Ok(done.map_err(ReplayFailure::from)?.map_err(ReplayFailure::from)?),
            () = interrupts.next() => {
                stop.now();
                // Its progress is saved by then.
                if let Ok(Err(error)) = work.await {
                    return Err(ReplayFailure::from(error).into());
                }
                Err(InterruptError.into())
            }
        }
    })
}

impl ReplayArguments {
    /// Returns `true` if a folder is compared with a service, and both are named.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Returns the event or the file that the folding starts from.
    fn start(&self) -> Result<ReplayStart, ReplayFailure> {
        match &self.progress {
            Some(file) => {
                let failed = |source| ReplayProgressError::Disk { file: file.display().to_string(), source };
                input_file::refuse_irregular(file).map_err(failed).map_err(ReplayError::from)?;
                Ok(ReplayStart::Progress(file.clone()))
            }
            None if self.from_archive => Ok(ReplayStart::Archives),
            None => Ok(ReplayStart::FirstEvent),
        }
    }

    /// Returns the position at which the state is asked for.
    fn end(&self, ledger: &Ledger) -> Result<Position, ReplayFailure> {
        let head = ledger.head().position;
        let Some(PastTime(time)) = self.at else { return Ok(self.to.unwrap_or(head)) };
        let Some(first_after) = ledger.first_at(time)? else { return Ok(head) };
        Position::new(first_after.get() - 1).ok_or(ReplayFailure::BeforeFirst)
    }
}
