//! Contents on their way into the log: cut into pieces, each recorded once, as an event of its own.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bitacora_formats::limits::MAX_REQUEST_EVENTS;
use bitacora_formats::{Data, Event, MAX_CONTENT_BYTES, pieces};
use bitacora_ledger::{AppendRequest, PendingAppend};
use bitacora_projector::{ContentPiece, IndexedLedger};
use bitacora_vocabulary::{
    BoundedList, CHECKPOINT_BLOB, CHECKPOINT_SOURCE, CheckpointBlob, InlineContent, Name, Sha256Text,
};
use serde::Deserialize;
use serde::de::value::{Error as ValueError, StrDeserializer};

use crate::limits::CONTENT_APPEND_BYTES;
use crate::problem::{Code, FaultLocation, Problem};
use crate::requests::read_model_query::read_models;
use bitacora_api::ContentValue;

/// The encoding of content that is sent as JSON.
pub(crate) const JSON_ENCODING: &str = "application/json";
/// The stream of all pieces.
const STREAM: &str = "checkpoints";

/// The pieces that a request brings, and those that it names.
pub(crate) struct Contents {
    subject: Option<Name>,
    /// By their digests.
    brought: BTreeMap<String, Vec<u8>>,
    named: Vec<PieceReference>,
}

/// A content that is named by pieces.
struct PieceReference {
    /// The JSON pointer of the value.
    at: String,
    pieces: Vec<String>,
    bytes: u64,
}

/// The names of one content in an event: its encoding, digest, pieces and length.
#[derive(Default)]
pub(crate) struct NamedContent {
    encoding: Option<Name>,
    digest: Option<Sha256Text>,
    pieces: Option<Vec<Sha256Text>>,
    inline: Option<InlineContent>,
    bytes: u64,
}

impl Contents {
    pub(crate) fn new(subject: Option<Name>) -> Self {
        Self { subject, brought: BTreeMap::new(), named: Vec::new() }
    }

    /// Takes a value that stands at this pointer of the body.
    pub(crate) fn take(
        &mut self,
        ledger: &IndexedLedger,
        at: &str,
        value: &ContentValue,
    ) -> Result<NamedContent, Problem> {
        let bad = |fault: &str| bad_content(at, fault);
        let encoding = value.encoding.as_deref().map(Name::new).transpose();
        let encoding = encoding.map_err(|error| bad(&format!("its encoding is {error}")))?;
        if value.positions.is_some() || value.erased.is_some() || value.missing.is_some() {
            return Err(bad("`positions`, `erased` and `missing` are answered, not sent"));
        }
        match (&value.base64, &value.json, &value.pieces) {
            (Some(base64), None, None) => {
                let content = STANDARD.decode(base64).map_err(|_| bad("it is no base64 with padding"))?;
                if value.bytes.is_some_and(|bytes| bytes != content.len() as u64) {
                    return Err(bad("it has not as many bytes as it says"));
                }
                self.bring(ledger, encoding, &content)
            }
            (None, Some(json), None) if encoding.is_none() && value.bytes.is_none() => {
                let encoding = Name::new(JSON_ENCODING).ok();
                self.bring(ledger, encoding, json.get().as_bytes())
            }
            (None, None, Some(pieces)) => self.name(at, encoding, pieces, value.bytes),
            _ => {
                Err(bad("it has one of `base64`, `json` and `pieces`; `json` has neither encoding nor bytes"))
            }
        }
    }

    /// Takes bytes.
    pub(crate) fn bring(
        &mut self,
        ledger: &IndexedLedger,
        encoding: Option<Name>,
        content: &[u8],
    ) -> Result<NamedContent, Problem> {
        let named = NamedContent { encoding, bytes: content.len() as u64, ..NamedContent::default() };
        // Content that may be erased lies in a part of its own, however small it is.
        if let Ok(inline) = InlineContent::new(content)
            && (self.subject.is_none() || content.is_empty())
        {
            return Ok(NamedContent { inline: Some(inline), ..named });
        }
        self.cut(ledger, named.encoding, content)
    }

    /// Takes bytes as pieces, however few they are.
    pub(crate) fn cut(
        &mut self,
        ledger: &IndexedLedger,
        encoding: Option<Name>,
        content: &[u8],
    ) -> Result<NamedContent, Problem> {
        let named = NamedContent { encoding, bytes: content.len() as u64, ..NamedContent::default() };
        let mut digests = Vec::new();
        for range in pieces(content) {
            let piece = content.get(range).unwrap_or_default();
            let digest = ledger.content_digest(self.subject.as_deref(), piece)?;
            let digest = Sha256Text::of_digest(&digest);
            self.brought.entry(digest.as_str().to_owned()).or_insert_with(|| piece.to_vec());
            digests.push(digest);
        }
        Ok(match digests.as_slice() {
            [only] => NamedContent { digest: Some(only.clone()), ..named },
            _ => NamedContent { pieces: Some(digests), ..named },
        })
    }

    /// Names what is there already.
    fn name(
        &mut self,
        at: &str,
        encoding: Option<Name>,
        pieces: &[String],
        bytes: Option<u64>,
    ) -> Result<NamedContent, Problem> {
        let bytes = bytes.ok_or_else(|| bad_content(at, "its `bytes` are not said"))?;
        if bytes > MAX_CONTENT_BYTES as u64 {
            return Err(too_large(at, bytes));
        }
        let digest = |text: &String| {
            let text: StrDeserializer<'_, ValueError> =
                serde::de::IntoDeserializer::into_deserializer(text.as_str());
            Sha256Text::deserialize(text)
                .map_err(|_| bad_content(at, "a piece is named by 64 lower-case hex digits"))
        };
        let digests = pieces.iter().map(digest).collect::<Result<Vec<_>, _>>()?;
        self.named.push(PieceReference { at: at.to_owned(), pieces: pieces.to_vec(), bytes });
        Ok(NamedContent { encoding, pieces: Some(digests), bytes, ..NamedContent::default() })
    }

    /// Returns `true` if it names pieces that another request has to have recorded.
    pub(crate) fn names_others(&self) -> bool {
        !self.named.is_empty()
    }

    /// Looks which pieces are recorded: those are not brought again, and what is named has to be among them. Blocks.
    pub(crate) fn look_up(&mut self, ledger: &IndexedLedger) -> Result<(), Problem> {
        let models = read_models(ledger)?;
        for named in &self.named {
            self.check(named, &models.content_pieces(&named.pieces)?)?;
        }
        let brought: Vec<String> = self.brought.keys().cloned().collect();
        // While the model is folded anew all are sent; the log takes each once.
        for (digest, position) in brought.iter().zip(models.content_pieces(&brought).unwrap_or_default()) {
            if position.is_some() {
                self.brought.remove(digest);
            }
        }
        Ok(())
    }

    /// Checks that all pieces of a content are there, and that their lengths add up to it.
    fn check(&self, named: &PieceReference, found: &[Option<ContentPiece>]) -> Result<(), Problem> {
        let place = || FaultLocation::Body { line: None, pointer: named.at.clone() };
        let mut sum = Some(0);
        for (digest, found) in named.pieces.iter().zip(found) {
            let brought = self.brought.get(digest).map(|piece| Some(piece.len() as u64));
            let Some(bytes) = brought.or(found.map(|piece| piece.bytes)) else {
                let detail = format!("no piece {digest} is recorded; send it with `POST …/contents` first");
                return Err(
                    Problem::new(Code::NoSuchContent, detail).with_fault(place(), "a piece is not there")
                );
            };
            // The size of sealed pieces is not known here.
            sum = sum.zip(bytes).map(|(sum, bytes)| sum + bytes);
        }
        match sum {
            Some(sum) if sum != named.bytes => {
                let detail = format!("the pieces come to {sum} bytes, not to {}", named.bytes);
                Err(Problem::new(Code::NoSuchContent, detail.clone()).with_fault(place(), detail))
            }
            _ => Ok(()),
        }
    }

    /// Sends all pieces but those that go with `last`, in as many appends as it takes. Blocks until they are on their way.
    pub(crate) fn send(
        mut self,
        ledger: &IndexedLedger,
        last: Option<Event<'_>>,
    ) -> Result<Vec<PendingAppend>, Problem> {
        let (mut pending, mut events, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (digest, piece) in std::mem::take(&mut self.brought) {
            if bytes + piece.len() > CONTENT_APPEND_BYTES || events.len() + 1 == MAX_REQUEST_EVENTS {
                pending.push(ledger.append(AppendRequest::of(std::mem::take(&mut events)))?);
                bytes = 0;
            }
            bytes += piece.len();
            let mut event = Event::new(digest, CHECKPOINT_SOURCE, CHECKPOINT_BLOB, STREAM);
            event.datasubject = self.subject.as_ref().map(|subject| subject.as_str().to_owned().into());
            event.data = Data::Binary(piece.into());
            events.push(event);
        }
        events.extend(last);
        if !events.is_empty() {
            pending.push(ledger.append(AppendRequest::of(events))?);
        }
        Ok(pending)
    }
}

impl NamedContent {
    /// As an event names it.
    pub(crate) fn blob(self, channel: Name) -> Result<CheckpointBlob, Problem> {
        let bad = |error: &dyn std::fmt::Display| Problem::new(Code::ContentTooLarge, error.to_string());
        let bytes = self.bytes.try_into().map_err(|_| too_large("", self.bytes))?;
        let pieces = self.pieces.filter(|pieces| !pieces.is_empty()).map(BoundedList::new).transpose();
        Ok(CheckpointBlob {
            channel,
            version: None,
            encoding: self.encoding,
            digest: self.digest,
            pieces: pieces.map_err(|error| bad(&format!("a content has too many pieces: {error}")))?,
            inline: self.inline,
            bytes,
            index: None,
        })
    }

    /// Returns the digests of its pieces.
    pub(crate) fn into_pieces(self) -> Vec<String> {
        let pieces = self.pieces.into_iter().flatten().chain(self.digest);
        pieces.map(|digest| digest.as_str().to_owned()).collect()
    }
}

fn too_large(at: &str, bytes: u64) -> Problem {
    let detail = format!("a content of {bytes} bytes; at most {MAX_CONTENT_BYTES} are taken");
    let place = FaultLocation::Body { line: None, pointer: at.to_owned() };
    Problem::new(Code::ContentTooLarge, detail.clone()).with_fault(place, detail)
}

fn bad_content(at: &str, fault: &str) -> Problem {
    let place = FaultLocation::Body { line: None, pointer: at.to_owned() };
    Problem::new(Code::BadBody, format!("the content at {at} is not taken: {fault}")).with_fault(place, fault)
}
