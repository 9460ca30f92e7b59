//! `replay`: rebuilds the state that decides from the log, and compares it.

mod ends;
mod fold;
mod live;
mod output;
mod rejudged;
mod trial_page;
mod trial_report;
mod what_if;

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use bitacora_formats::{After, Micros, Position};
use bitacora_governance::{REACTOR_VERSION, UnwritableState};
use bitacora_ledger::{Ledger, ReadError, ReplayProgressError};
use clap::Args;

use self::fold::{Begin, FoldStop};
use self::trial_report::TrialContext;
use self::what_if::TriedPolicy;
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::files::input_file;
use crate::files::new_file::{self, NewFileError};
use crate::keys::token::{self, TokenError};
use crate::ledger_access::access::{AccessError, OpenFolder, event_loop};
use crate::ledger_access::interrupt::{InterruptError, Interrupts};
use crate::options::global::Global;
use crate::options::time::PastTime;
use crate::options::usage::UsageError;
use crate::terminal::output::{Output, printable};
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
    /// Write a self-contained HTML page to this file, which must not exist.
    #[arg(long, value_name = "FILE", requires = "what_if")]
    html: Option<PathBuf>,
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
    #[error(transparent)]
    Ledger(#[from] ReadError),
    #[error(transparent)]
    Progress(#[from] ReplayProgressError),
    #[error(
        "what was kept of an earlier replay: {0}; remove the file, and everything is folded from the first event on"
    )]
    Kept(String),
    #[error(
        "the state that archives keep: {0}; leave out --from-archive, and everything is folded from the first event on"
    )]
    Archived(String),
    #[error(
        "archives keep no state by version {REACTOR_VERSION} of the rules of an event up to {0}; leave out --from-archive"
    )]
    NoneArchived(Position),
    #[error("nothing was recorded before that time; name a later one")]
    BeforeFirst,
    #[error("there is no version {0} of the policy; `bitacora policy` shows them")]
    NoSuchPolicy(u64),
    #[error("the policy: {0}")]
    Policy(String),
    #[error("{0}; the page was not written")]
    Page(NewFileError),
    #[error("no service to compare with; name it with --url or BITACORA_URL")]
    NoService,
    #[error("{0}{advice}", advice = token::advice(.0))]
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
    #[error(transparent)]
    State(#[from] UnwritableState),
    #[error("the replay broke off: {0}")]
    Panicked(#[from] tokio::task::JoinError),
}

impl CommandFailure for ReplayFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::NoService => Exit::Usage,
            _ => Exit::Failed,
        }
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
        let found = interruptible(move |stop| rejudged::judge(&ledger, to, stop))?;
        rejudged::show(to, &found, global.json, output)?;
        return Ok(rejudged::exit(&found));
    }
    if let Some(tried) = &arguments.policy {
        return arguments.what_if(tried, &ledger, to, global, output);
    }
    let places = match arguments.diff {
        None => vec![to],
        Some(other) => vec![other.min(to), other.max(to)],
    };
    let begin = match &arguments.progress {
        Some(file) => {
            let pipe = |source| ReplayProgressError::Disk { file: file.display().to_string(), source };
            input_file::refuse_irregular(file).map_err(pipe).map_err(ReplayFailure::from)?;
            Begin::WhereItWasKept(file.clone())
        }
        None if arguments.from_archive => Begin::InArchives,
        None => Begin::AtTheFirstEvent,
    };
    let mut folded = interruptible(move |stop| fold::states(&ledger, &places, &begin, stop))?;
    let Some(last) = folded.pop() else { return Ok(Exit::Failed) };
    let Some(earlier) = folded.pop() else {
        output::state(&last, arguments.digest, global.json, output)?;
        return Ok(Exit::Done);
    };
    let same = output::differences(&earlier, &last, global.json, output)?;
    Ok(if same { Exit::Done } else { Exit::Failed })
}

/// Runs work on a separate thread, which an interruption tells to stop.
fn interruptible<T: Send + 'static>(
    work: impl FnOnce(FoldStop) -> Result<T, ReplayFailure> + Send + 'static,
) -> Result<T, CommandError> {
    let stop = FoldStop::default();
    let told = stop.clone();
    event_loop()?.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
        let mut work = tokio::task::spawn_blocking(move || work(told));
        tokio::select! {
            done = &mut work => Ok(done.map_err(ReplayFailure::from)??),
            () = interrupts.next() => {
                stop.now();
                // Its progress is saved by then.
                if let Ok(Err(error)) = work.await {
                    return Err(error.into());
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

    /// Tries another policy on the recorded calls.
    fn what_if(
        &self,
        tried: &TriedPolicy,
        ledger: &Ledger,
        to: Position,
        global: &Global,
        output: &mut Output,
    ) -> Result<Exit, CommandError> {
        self.html.as_deref().map_or(Ok(()), new_file::refuse_existing).map_err(ReplayFailure::Page)?;
        let after = match self.since {
            None => After::START,
            Some(Since::Position(after)) => after,
            Some(Since::Time(time)) => {
                let first = ledger.first_at(time).map_err(ReplayFailure::from)?;
                After::new(first.map_or(to.get(), |first| first.get() - 1))
            }
        };
        let opened = ledger.clone();
        let begin = Begin::AtTheFirstEvent;
        let mut folded = interruptible(move |stop| fold::states(&opened, &[to], &begin, stop))?;
        let Some(folded) = folded.pop() else { return Ok(Exit::Failed) };
        let policy = Arc::new(tried.policy(&folded.state)?);
        let (opened, judged_by) = (ledger.clone(), Arc::clone(&policy));
        let trial = interruptible(move |stop| {
            what_if::try_on(&opened, (after, to), &judged_by, folded.state.tools(), stop)
        })?;
        let context = TrialContext { name: &tried.name(), policy: &policy, after: after.get(), to };
        if let Some(path) = &self.html {
            let page = trial_page::page(&context, &trial);
            new_file::write(path, page.as_bytes()).map_err(ReplayFailure::Page)?;
        }
        if global.json {
            output.json(&trial_report::to_json(&context, &trial))?;
        } else {
            trial_report::lines(&context, &trial, output)?;
            if let Some(path) = &self.html {
                output.line(format_args!("\nwritten to {}", printable(&path.display().to_string())))?;
            }
        }
        Ok(Exit::Done)
    }

    /// Returns the position at which the state is asked for.
    fn end(&self, ledger: &Ledger) -> Result<Position, ReplayFailure> {
        let head = ledger.head().position;
        let Some(PastTime(time)) = self.at else { return Ok(self.to.unwrap_or(head)) };
        let Some(first_after) = ledger.first_at(time)? else { return Ok(head) };
        Position::new(first_after.get() - 1).ok_or(ReplayFailure::BeforeFirst)
    }
}
