//! Reading and mapping of files on a separate thread.
//! Reading may block, and an interruption must not wait for it.

use std::io;
use std::sync::Arc;

use bitacora_formats::{BodyForm, Micros, parse_events};
use tokio::sync::mpsc::Sender;

use super::batches::{Batch, Item, MAX_EVENT_BYTES, Packer, Place};
use super::event_draft::Draft;
use super::format::{Format, MappedRecord, Mapper};
use super::mapped_events::Unmappable;
use super::mapping::LineMapping;
use super::records::{MAX_LINE_BYTES, OpenFile, ReadProgress, Record, Records};
use super::source_file::SourceFile;
use super::tally::{SourceTold, Tally};

/// The most records that are read to detect a file's format.
const MAX_RECORDS_TO_TELL: usize = 200;
/// The most bytes of them that are kept meanwhile.
const MAX_BYTES_TO_TELL: usize = 64 * 1024 * 1024;

/// The files to read, and the rules for mapping them.
pub(crate) struct Reading {
    pub(crate) files: Vec<SourceFile>,
    /// The function that opens a file of the user.
    pub(crate) open: OpenFile,
    /// The files' format; `None`: detected from their contents.
    pub(crate) format: Option<Format>,
    /// The stream of CloudEvents without one.
    pub(crate) stream: Option<String>,
    pub(crate) lines: LineMapping,
    pub(crate) batch_events: usize,
    /// The current time.
    pub(crate) now: Micros,
}

/// The reason why reading ended early.
#[derive(Debug)]
enum Stop {
    /// Nobody receives events any more.
    Unwanted,
    Failed(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl Reading {
    /// Reads all files and sends their events. Unreadable files and unmappable lines are reported in the tally; `Err`
    /// is a report that could not be written. Reading ends when nobody receives events any more.
    pub(crate) fn run<P: ReadProgress + Clone + 'static>(
        self,
        tally: Tally,
        lanes: &[Sender<Batch>],
        progress: &P,
    ) -> io::Result<Tally> {
        let mut sending = Sending { tally, packer: Packer::new(self.batch_events), lanes };
        for file in &self.files {
            match self.read_file(file, &mut sending, progress) {
                Ok(()) => {}
                Err(Stop::Unwanted) => return Ok(sending.tally),
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        // Nobody to send the rest to is nobody to tell.
        let _unwanted = sending.rest().is_err();
        if let Some(report) = &mut sending.tally.report {
            io::Write::flush(report)?;
        }
        Ok(sending.tally)
    }

    fn read_file<P: ReadProgress + Clone + 'static>(
        &self,
        file: &SourceFile,
        sending: &mut Sending<'_>,
        progress: &P,
    ) -> Result<(), Stop> {
        let events_before = sending.tally.events;
        let mut told = SourceTold {
            name: file.name.clone(),
            format: None,
            sha256: [0; 32],
            bytes: 0,
            lines: 0,
            events: 0,
            fault: None,
        };
        match Records::open(file.path.as_deref(), self.open, progress.clone()) {
            Err(error) => told.fault = Some(error.to_string()),
            Ok(mut records) => {
                match self.read_records(&mut records, &mut told, sending) {
                    Ok(()) => {}
                    Err(Fault::Stop(stop)) => return Err(stop),
                    Err(Fault::File(what)) => told.fault = Some(what),
                }
                told.sha256 = records.digest();
                told.bytes = records.bytes;
            }
        }
        told.events = sending.tally.events - events_before;
        sending.tally.bytes += told.bytes;
        sending.tally.records += told.lines;
        sending.tally.sources.push(told);
        Ok(())
    }

    fn read_records(
        &self,
        records: &mut Records,
        told: &mut SourceTold,
        sending: &mut Sending<'_>,
    ) -> Result<(), Fault> {
        let name: Arc<str> = told.name.as_str().into();
        let mut held = Vec::new();
        told.format = match self.format {
            Some(format) => Some(format),
            None => tell_format(records, &mut held)?,
        };
        let Some(format) = told.format else {
            if held.is_empty() {
                return Ok(());
            }
            told.lines = held.len() as u64;
            return Err(Fault::File(
                "nothing tells what its lines are; say it with --format, or map them with --type".to_owned(),
            ));
        };
        let mut mapper = Mapper::new(format, &told.name, self.stream.as_deref(), &self.lines);
        let place = |number| Place { file: Arc::clone(&name), number };
        let mut is_last_mapped = true;
        for (number, record) in held {
            told.lines += 1;
            is_last_mapped = sending.record(&mut mapper, record.as_deref(), place(number))?;
        }
        loop {
            let (number, record) = match records.next() {
                Err(error) => return Err(Fault::File(error.to_string())),
                Ok(Record::End) => break,
                Ok(Record::TooLong(number)) => (number, None),
                Ok(Record::Text(number, text)) => (number, Some(text)),
            };
            told.lines += 1;
            is_last_mapped = sending.record(&mut mapper, record, place(number))?;
        }
        let mut end = mapper.end(self.now);
        if !is_last_mapped {
            // The full form of a line that was cut may continue the lines before it.
            end.events.clear();
        }
        sending.tally.add(&end);
        Ok(sending.drafts(&end.events, &place(records.number))?)
    }
}

/// The reason why a file was not read to its end.
enum Fault {
    File(String),
    Stop(Stop),
}

impl From<Stop> for Fault {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// A record that was read before the format was known: its number, and its bytes unless it is too long.
type Held = (u64, Option<Vec<u8>>);

/// Reads until a record shows the format, and keeps the records.
fn tell_format(records: &mut Records, held: &mut Vec<Held>) -> Result<Option<Format>, Fault> {
    let mut bytes = 0;
    while held.len() < MAX_RECORDS_TO_TELL && bytes < MAX_BYTES_TO_TELL {
        match records.next() {
            Err(error) => return Err(Fault::File(error.to_string())),
            Ok(Record::End) => return Ok(None),
            Ok(Record::TooLong(number)) => held.push((number, None)),
            Ok(Record::Text(number, text)) => {
                bytes += text.len();
                held.push((number, Some(text.to_vec())));
                if let Some(format) = Format::of_record(text) {
                    return Ok(Some(format));
                }
            }
        }
    }
    Ok(None)
}

/// The sender of events to the lanes.
struct Sending<'a> {
    tally: Tally,
    packer: Packer,
    lanes: &'a [Sender<Batch>],
}

impl Sending<'_> {
    /// Maps a record and sends all of its events or none; returns whether it could be mapped. `None` is a line that was too long.
    fn record(&mut self, mapper: &mut Mapper, record: Option<&[u8]>, place: Place) -> Result<bool, Stop> {
        let mapped = match record {
            None => Err(Unmappable::new(format!("longer than {MAX_LINE_BYTES} bytes"))),
            Some(record) => mapper.map(record, place.number),
        };
        let sent = match mapped {
            Ok(MappedRecord::Event(event)) => self.events(vec![event], &place),
            Ok(MappedRecord::Drafts(mapped)) => {
                let sent = self.drafts_or_reason(&mapped.events, &place);
                if matches!(sent, Ok(Ok(()))) {
                    self.tally.add(&mapped);
                }
                sent
            }
            Err(unmappable) => Ok(Err(unmappable)),
        };
        match sent? {
            Ok(()) => Ok(true),
            Err(unmappable) => {
                self.tally.unmapped(place, &unmappable.reason)?;
                Ok(false)
            }
        }
    }

    fn drafts(&mut self, drafts: &[Draft], place: &Place) -> Result<(), Stop> {
        match self.drafts_or_reason(drafts, place)? {
            Ok(()) => Ok(()),
            Err(unmappable) => Ok(self.tally.unmapped(place.clone(), &unmappable.reason)?),
        }
    }

    fn drafts_or_reason(&mut self, drafts: &[Draft], place: &Place) -> Result<Result<(), Unmappable>, Stop> {
        self.events(drafts.iter().map(|draft| draft.to_json().into_bytes()).collect(), place)
    }

    /// Checks the events as the ledger will, and sends them.
    fn events(&mut self, events: Vec<Vec<u8>>, place: &Place) -> Result<Result<(), Unmappable>, Stop> {
        let mut checked = Vec::with_capacity(events.len());
        for json in events {
            if json.len() > MAX_EVENT_BYTES {
                let reason = format!("an event of {} bytes; {MAX_EVENT_BYTES} are taken", json.len());
                return Ok(Err(Unmappable::new(reason)));
            }
            let address = match parse_events(&json, BodyForm::Structured, None) {
                Err(error) => return Ok(Err(Unmappable::new(format!("{}: {}", error.pointer, error.kind)))),
                Ok(events) => events.into_iter().next().map(|event| Address {
                    kind: event.kind.into_owned(),
                    stream: event.stream.into_owned(),
                    source: event.source.into_owned(),
                    id: event.id.into_owned(),
                }),
            };
            checked.extend(address.map(|address| (address, json)));
        }
        for (Address { kind, stream, source, id }, json) in checked {
            Tally::count(&mut self.tally.kinds, &kind);
            self.tally.events += 1;
            let item = Item { place: place.clone(), id, json };
            if let Some((lane, full)) = self.packer.push(&stream, &source, item) {
                self.send(lane, full)?;
            }
        }
        Ok(Ok(()))
    }

    fn send(&self, lane: usize, batch: Batch) -> Result<(), Stop> {
        let lane = self.lanes.get(lane).ok_or(Stop::Unwanted)?;
        lane.blocking_send(batch).map_err(|_| Stop::Unwanted)
    }

    fn rest(&mut self) -> Result<(), Stop> {
        self.packer.rest().into_iter().try_for_each(|(lane, batch)| self.send(lane, batch))
    }
}

/// The members of an event that route it.
struct Address {
    kind: String,
    stream: String,
    source: String,
    id: String,
}
