//! `read`: stored events, from the service or from their folder.

mod selection;

use bitacora_ledger::Ledger;
use clap::Args;

use self::selection::ReadSelection;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::access::{Access, AccessError, event_loop};
use crate::ledger_access::each_line::{LineEvent, LineSink, each_line};
use crate::ledger_access::interrupt::{self, InterruptError, Interrupts};
use crate::ledger_access::line::{event_line, for_people};
use crate::ledger_access::read_failure::ReadFailure;
use crate::options::global::Global;
use crate::terminal::output::{Output, OutputError};
use bitacora_client::Connection;

#[derive(Debug, Args)]
pub(crate) struct ReadArguments {
    #[command(flatten)]
    selection: ReadSelection,
}

pub(crate) fn run(
    arguments: &ReadArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let access = Access::open_for_reading(global)?;
    let mut writer = AnswerWriter { selection: &arguments.selection, as_json: global.json, output };
    interrupt::end_soon_after_one().map_err(AccessError::Runtime)?;
    event_loop()?.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
        match access {
            Access::Service(mut client) => {
                let path = format!("/v1/ledgers/{}/events?{}", global.ledger, arguments.selection.to_query());
                tokio::select! {
                    done = writer.through_service(&mut client, &path) => done,
                    () = interrupts.next() => Err(InterruptError.into()),
                }
            }
            Access::Folder(folder) => tokio::select! {
                done = writer.in_folder(&folder.ledger) => done,
                () = interrupts.next() => Err(InterruptError.into()),
            },
        }
    })?;
    Ok(Exit::Done)
}

/// The writer of an answer.
struct AnswerWriter<'a> {
    selection: &'a ReadSelection,
    as_json: bool,
    output: &'a mut Output,
}

impl AnswerWriter<'_> {
    async fn in_folder(&mut self, ledger: &Ledger) -> Result<(), CommandError> {
        let mut pages = self.selection.pages();
        while let Some(query) = pages.next_query() {
            let page = ledger.read(&query).map_err(ReadFailure::from)?;
            pages.take(&page);
            for stored in &page.events {
                self.show(&event_line(stored))?;
            }
            self.output.flush()?;
            // A page is read without a pause; here an interruption is heard.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn through_service(&mut self, client: &mut Connection, path: &str) -> Result<(), CommandError> {
        each_line(client, path, self).await
    }

    /// Writes one stored event, given as the service's NDJSON line.
    fn show(&mut self, line: &[u8]) -> Result<(), OutputError> {
        if self.as_json { self.output.bytes(line) } else { self.output.line(for_people(line)) }
    }
}

impl LineSink for AnswerWriter<'_> {
    fn line(&mut self, event: LineEvent<'_>) -> Result<(), CommandError> {
        Ok(self.show(event.line)?)
    }

    fn pause(&mut self) -> Result<(), CommandError> {
        Ok(self.output.flush()?)
    }
}
