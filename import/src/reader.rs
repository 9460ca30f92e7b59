//! Reading and mapping of files on a separate thread.
//! Reading may block, and an interruption must not wait for it.

use std::io;
use std::sync::Arc;

use bitacora_formats::{BodyForm, Micros, parse_events};
use tokio::sync::mpsc::Sender;

use super::batches::{BatchBuilder, EventBatch, Item, MAX_EVENT_BYTES, RecordLocation};
use super::event_draft::EventDraft;
use super::format::{Format, MappedRecord, Mapper};
use super::mapped_events::MappingRefusal;
use super::mapping::LineMapping;
use super::records::{MAX_LINE_BYTES, OpenFile, ReadProgress, Record, Records};
use super::source_file::SourceFile;
use super::tally::{ImportTally, SourceStatistics};

/// The most records that are read to detect a file's format.
const MAX_RECORDS_TO_TELL: usize = 200;
/// The most bytes of them that are kept meanwhile.
const MAX_BYTES_TO_TELL: usize = 64 * 1024 * 1024;

/// The files to read, and the rules for mapping them.
pub struct ImportPlan {
    /// The files, in the order of their import.
    pub files: Vec<SourceFile>,
    /// The function that opens a file of the user.
    pub open: OpenFile,
    /// The files' format; `None`: detected from their contents.
    pub format: Option<Format>,
    /// The stream of CloudEvents without one.
    pub stream: Option<String>,
    /// The mapping of lines of any JSON.
    pub lines: LineMapping,
    /// The most events of a request.
    pub batch_events: usize,
    /// The current time.
    pub now: Micros,
}

/// The reason why reading ended early.
#[derive(Debug)]
enum ReadStop {
    /// Nobody receives events any more.
    Unwanted,
    Failed(io::Error),
}

impl From<io::Error> for ReadStop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl ImportPlan {
    /// Reads all files and sends their events. Unreadable files and unmappable lines are reported in the tally; `Err`
    /// is a report that could not be written. Reading ends when nobody receives events any more.
    pub fn run<P: ReadProgress + Clone + 'static>(
        self,
        tally: ImportTally,
        lanes: &[Sender<EventBatch>],
        progress: &P,
    ) -> io::Result<ImportTally> {
        let mut sender = EventSender { tally, batches: BatchBuilder::new(self.batch_events), lanes };
        for file in &self.files {
            match self.read_file(file, &mut sender, progress) {
                Ok(()) => {}
                Err(ReadStop::Unwanted) => return Ok(sender.tally),
                Err(ReadStop::Failed(error)) => return Err(error),
            }
        }
        // Nobody to send the rest to is nobody to tell.
        let _unwanted = sender.rest().is_err();
        if let Some(report) = &mut sender.tally.report {
            io::Write::flush(report)?;
        }
        Ok(sender.tally)
    }

    fn read_file<P: ReadProgress + Clone + 'static>(
        &self,
        file: &SourceFile,
        sender: &mut EventSender<'_>,
        progress: &P,
    ) -> Result<(), ReadStop> {
        let events_before = sender.tally.events;
        let mut statistics = SourceStatistics {
            name: file.name.clone(),
            format: None,
            sha256: [0; 32],
            bytes: 0,
            lines: 0,
            events: 0,
            fault: None,
        };
        match Records::open(file.path.as_deref(), self.open, progress.clone()) {
            Err(error) => statistics.fault = Some(error.to_string()),
            Ok(mut records) => {
                match self.read_records(&mut records, &mut statistics, sender) {
                    Ok(()) => {}
                    Err(FileFault::Stop(stop)) => return Err(stop),
                    Err(FileFault::File(what)) => statistics.fault = Some(what),
                }
                statistics.sha256 = records.digest();
                statistics.bytes = records.bytes;
            }
        }
        statistics.events = sender.tally.events - events_before;
        sender.tally.bytes += statistics.bytes;
        sender.tally.records += statistics.lines;
        sender.tally.sources.push(statistics);
        Ok(())
    }

    fn read_records(
        &self,
        records: &mut Records,
        statistics: &mut SourceStatistics,
        sender: &mut EventSender<'_>,
    ) -> Result<(), FileFault> {
        let name: Arc<str> = statistics.name.as_str().into();
        let mut buffered = Vec::new();
        statistics.format = match self.format {
            Some(format) => Some(format),
            None => tell_format(records, &mut buffered)?,
        };
        let Some(format) = statistics.format else {
            if buffered.is_empty() {
                return Ok(());
            }
            statistics.lines = buffered.len() as u64;
            return Err(FileFault::File(
                "nothing tells what its lines are; say it with --format, or map them with --type".to_owned(),
            ));
        };
        let mut mapper = Mapper::new(format, &statistics.name, self.stream.as_deref(), &self.lines);
        let location = |number| RecordLocation { file: Arc::clone(&name), number };
        let mut is_last_mapped = true;
        for (number, record) in buffered {
            statistics.lines += 1;
            is_last_mapped = sender.record(&mut mapper, record.as_deref(), location(number))?;
        }
        loop {
            let (number, record) = match records.next_record() {
                Err(error) => return Err(FileFault::File(error.to_string())),
                Ok(Record::End) => break,
                Ok(Record::TooLong(number)) => (number, None),
                Ok(Record::Text(number, text)) => (number, Some(text)),
            };
            statistics.lines += 1;
            is_last_mapped = sender.record(&mut mapper, record, location(number))?;
        }
        let mut end = mapper.end(self.now);
        if !is_last_mapped {
            // The full form of a line that was cut may continue the lines before it.
            end.events.clear();
        }
        sender.tally.add(&end);
        Ok(sender.drafts(&end.events, &location(records.number))?)
    }
}

/// The reason why a file was not read to its end.
enum FileFault {
    File(String),
    Stop(ReadStop),
}

impl From<ReadStop> for FileFault {
    fn from(stop: ReadStop) -> Self {
        Self::Stop(stop)
    }
}

/// A record that was read before the format was known: its number, and its bytes unless it is too long.
type BufferedRecord = (u64, Option<Vec<u8>>);

/// Reads until a record shows the format, and keeps the records.
fn tell_format(
    records: &mut Records,
    buffered: &mut Vec<BufferedRecord>,
) -> Result<Option<Format>, FileFault> {
    let mut bytes = 0;
    while buffered.len() < MAX_RECORDS_TO_TELL && bytes < MAX_BYTES_TO_TELL {
        match records.next_record() {
            Err(error) => return Err(FileFault::File(error.to_string())),
            Ok(Record::End) => return Ok(None),
            Ok(Record::TooLong(number)) => buffered.push((number, None)),
            Ok(Record::Text(number, text)) => {
                bytes += text.len();
                buffered.push((number, Some(text.to_vec())));
                if let Some(format) = Format::of_record(text) {
                    return Ok(Some(format));
                }
            }
        }
    }
    Ok(None)
}

/// The sender of events to the lanes.
struct EventSender<'a> {
    tally: ImportTally,
    batches: BatchBuilder,
    lanes: &'a [Sender<EventBatch>],
}

impl EventSender<'_> {
    /// Maps a record and sends all of its events or none; returns whether it could be mapped. `None` is a line that was too long.
    fn record(
        &mut self,
        mapper: &mut Mapper,
        record: Option<&[u8]>,
        location: RecordLocation,
    ) -> Result<bool, ReadStop> {
        let mapped = match record {
            None => Err(MappingRefusal::new(format!("longer than {MAX_LINE_BYTES} bytes"))),
            Some(record) => mapper.map(record, location.number),
        };
        let sent = match mapped {
            Ok(MappedRecord::Event(event)) => self.events(vec![event], &location),
            Ok(MappedRecord::Drafts(mapped)) => {
                let sent = self.drafts_or_reason(&mapped.events, &location);
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
                self.tally.unmapped(location, &unmappable.reason)?;
                Ok(false)
            }
        }
    }

    fn drafts(&mut self, drafts: &[EventDraft], location: &RecordLocation) -> Result<(), ReadStop> {
        match self.drafts_or_reason(drafts, location)? {
            Ok(()) => Ok(()),
            Err(unmappable) => Ok(self.tally.unmapped(location.clone(), &unmappable.reason)?),
        }
    }

    fn drafts_or_reason(
        &mut self,
        drafts: &[EventDraft],
        location: &RecordLocation,
    ) -> Result<Result<(), MappingRefusal>, ReadStop> {
        self.events(drafts.iter().map(|draft| draft.to_json().into_bytes()).collect(), location)
    }

    /// Checks the events as the ledger will, and sends them.
    fn events(
        &mut self,
        events: Vec<Vec<u8>>,
        location: &RecordLocation,
    ) -> Result<Result<(), MappingRefusal>, ReadStop> {
        let mut checked = Vec::with_capacity(events.len());
        for json in events {
            if json.len() > MAX_EVENT_BYTES {
                let reason = format!("an event of {} bytes; {MAX_EVENT_BYTES} are taken", json.len());
                return Ok(Err(MappingRefusal::new(reason)));
            }
            let address = match parse_events(&json, BodyForm::Structured, None) {
                Err(error) => {
                    return Ok(Err(MappingRefusal::new(format!("{}: {}", error.pointer, error.kind))));
                }
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
            ImportTally::count(&mut self.tally.kinds, &kind);
            self.tally.events += 1;
            let item = Item { location: location.clone(), id, json };
            if let Some((lane, full)) = self.batches.push(&stream, &source, item) {
                self.send(lane, full)?;
            }
        }
        Ok(Ok(()))
    }

    fn send(&self, lane: usize, batch: EventBatch) -> Result<(), ReadStop> {
        let lane = self.lanes.get(lane).ok_or(ReadStop::Unwanted)?;
        lane.blocking_send(batch).map_err(|_| ReadStop::Unwanted)
    }

    fn rest(&mut self) -> Result<(), ReadStop> {
        self.batches.rest().into_iter().try_for_each(|(lane, batch)| self.send(lane, batch))
    }
}

/// The members of an event that route it.
struct Address {
    kind: String,
    stream: String,
    source: String,
    id: String,
}
