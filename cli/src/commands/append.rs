//! `append`: events from a file or stdin into a ledger, through the service or in its folder.

mod input;
mod summary;

use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;

use bitacora_formats::limits::MAX_REQUEST_EVENTS;
use bitacora_ledger::CloseError;
use clap::Args;
use hyper::body::Bytes;
use tokio::sync::mpsc::{Receiver, channel};

use self::input::{AppendBody, Batches, InputError};
use self::summary::{Summary, receipt_json, receipt_line};
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::files::input_file;
use crate::ledger_access::access::{Access, AccessError, event_loop};
use crate::ledger_access::append_retry::{Delivery, Miss};
use crate::ledger_access::interrupt::{InterruptError, Interrupts};
use crate::options::global::Global;
use crate::terminal::output::Output;
use crate::terminal::progress::EventCount;
use bitacora_client::{ClientError, Refusal};

/// The default number of events a request.
const DEFAULT_BATCH_EVENTS: u16 = 100;
/// Batches that are read ahead of the current one.
const BATCHES_AHEAD: usize = 2;

#[derive(Debug, Args)]
pub(crate) struct AppendArguments {
    /// CloudEvents in JSON: one, an array, or one a line; `-` or no file is stdin.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The stream of events without a `subject`; events that name another stream are refused.
    #[arg(long, value_name = "NAME")]
    stream: Option<String>,
    /// Events in one request; each request is accepted whole or not at all.
    #[arg(long, value_name = "EVENTS", default_value_t = DEFAULT_BATCH_EVENTS,
        value_parser = clap::value_parser!(u16).range(1..=MAX_REQUEST_EVENTS as i64))]
    batch: u16,
    /// Write the receipt of each event, not only a summary.
    #[arg(long)]
    receipts: bool,
}

/// The reason why not all events were appended. Events acknowledged before stay.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppendFailure {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{place}: {miss}")]
    Missed { place: String, miss: Box<Miss> },
    #[error(transparent)]
    Close(#[from] CloseError),
}

impl AppendFailure {
    /// Describes a failed batch by the first event that the service names, else by the whole batch.
    fn of(miss: Miss, batch: &AppendBody) -> Self {
        let named = match &miss {
            Miss::Client(ClientError::Refused(Refusal { problem, .. })) => problem
                .errors
                .iter()
                .find_map(|fault| batch.place_of(fault.line, fault.pointer.as_deref().unwrap_or_default())),
            _ => None,
        };
        Self::Missed { place: named.unwrap_or_else(|| batch.place()), miss: Box::new(miss) }
    }
}

impl CommandFailure for AppendFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Missed { miss, .. } => miss.exit(),
            Self::Input(_) | Self::Close(_) => Exit::Failed,
        }
    }
}

pub(crate) fn run(
    arguments: &AppendArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let batches = open_input(arguments).map_err(AppendFailure::from)?;
    let access = Access::open(global)?;
    let mut delivery = Delivery::new(&access, &global.ledger, arguments.stream.as_deref());
    let mut run = AppendRun { arguments, as_json: global.json, summary: Summary::default() };
    let ended = event_loop()?.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
        let batches = read_ahead(batches, arguments.stream.clone());
        tokio::select! {
            done = run.append_all(batches, &mut delivery, output) => done,
            () = interrupts.next() => Err(InterruptError.into()),
        }
    });
    let retries = delivery.retries;
    let closed = access.end();
    // Acknowledged events are reported also after a failure.
    run.tell(retries, output)?;
    ended?;
    closed.map_err(AppendFailure::from)?;
    Ok(Exit::Done)
}

type Source = BufReader<Box<dyn Read + Send>>;

fn open_input(arguments: &AppendArguments) -> Result<Batches<Source>, InputError> {
    let file = arguments.file.as_deref().filter(|file| *file != Path::new("-"));
    let (source, name): (Box<dyn Read + Send>, _) = match file {
        None => (Box::new(io::stdin()), "stdin".to_owned()),
        Some(path) => {
            let name = path.display().to_string();
            let file = input_file::open(path);
            (Box::new(file.map_err(|source| InputError::Read { name: name.clone(), source })?), name)
        }
    };
    Ok(Batches::new(BufReader::new(source), name, arguments.batch.into()))
}

/// Reads and checks on a thread of its own: reading may block for ever, and an interruption must not wait for it.
fn read_ahead(batches: Batches<Source>, stream: Option<String>) -> Receiver<Result<AppendBody, InputError>> {
    let (sender, receiver) = channel(BATCHES_AHEAD);
    thread::spawn(move || {
        for batch in batches {
            let checked = batch.and_then(|batch| batch.check(stream.as_deref()).map(|()| batch));
            let failed = checked.is_err();
            if sender.blocking_send(checked).is_err() || failed {
                return;
            }
        }
    });
    receiver
}

struct AppendRun<'a> {
    arguments: &'a AppendArguments,
    as_json: bool,
    summary: Summary,
}

impl AppendRun<'_> {
    async fn append_all(
        &mut self,
        mut batches: Receiver<Result<AppendBody, InputError>>,
        delivery: &mut Delivery,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        let progress = EventCount::new();
        while let Some(batch) = batches.recv().await {
            let batch = batch.map_err(AppendFailure::from)?;
            let body = Bytes::copy_from_slice(&batch.bytes);
            let delivered = delivery.deliver(batch.form, &body).await;
            let delivered = delivered.map_err(|miss| AppendFailure::of(miss, &batch))?;
            self.summary.add(&delivered);
            progress.advance(delivered.receipts.len() as u64);
            if self.arguments.receipts {
                for receipt in &delivered.receipts {
                    if self.as_json {
                        output.json(&receipt_json(receipt))?;
                    } else {
                        output.line(receipt_line(receipt))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the summary: to stdout as the result, or to stderr where receipts are the result.
    fn tell(&self, retries: u64, output: &mut Output) -> Result<(), CommandError> {
        let line = self.summary.line(retries);
        if self.arguments.receipts {
            let _unheard = writeln!(io::stderr(), "{line}").is_err();
        } else if self.as_json {
            output.json(&self.summary.to_json(retries))?;
        } else {
            output.line(line)?;
        }
        Ok(())
    }
}
