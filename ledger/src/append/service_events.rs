//! The events that the ledger itself records: its making, openings, cuts, and pauses of appends.

use bitacora_formats::{
    ChainHead, Data, Epoch, Event, Generation, HEADED_KIND, HEADED_STREAM, Json, LedgerId, Position,
    service_source,
};
use bitacora_vocabulary::{
    ArchiveSealed, ClockTime, EventData, HoldPlaced, HoldReleased, LedgerClockJumped, LedgerFramesPutBack,
    RetentionApplied, RetentionChanged, RetentionExpired, SubjectErased, WarmCut,
};
use serde_json::json;

use crate::archive_records::{ReleaseExtent, SealedArchive};
use crate::host::clock_watch::ClockJump;
use crate::loss::DeclaredLoss;
use crate::segments::quarantine::{CutRecord, UnwrittenFrames};
use crate::submission::append_error::AppendError;
use crate::submission::prepare::{PreparedRequest, Preparer, RequestOrigin};
use crate::submission::request::AppendRequest;
use crate::writer_state::ReadOnlyReason;

/// The first event of a ledger.
pub(crate) const CREATED_KIND: &str = "ledger.created";
/// The first event of a generation that a declared loss begins.
pub(crate) const RECOVERED_KIND: &str = "ledger.recovered";

/// An event of the service's own, with all it says.
pub(crate) enum ServiceEvent<'a> {
    Created {
        name: &'a str,
        generation: Generation,
        signing_key: &'a [u8; 32],
        segment_bytes: u64,
        request_bytes: usize,
        reactor: u32,
    },
    Opened {
        epoch: Epoch,
        reactor: u32,
        version: &'a str,
    },
    TailCut(&'a CutRecord),
    /// Frames that the disk did not have are back in their places.
    FramesPutBack(&'a UnwrittenFrames),
    ReadOnly {
        reason: &'a ReadOnlyReason,
    },
    Writable,
    /// The clock does not show what it should.
    ClockJumped(ClockJump),
    /// Names the stored bytes, before a tree head is signed.
    Headed(ChainHead),
    /// An archive was read back.
    Archived(&'a SealedArchive<'a>),
    /// Segments are let go now.
    Released {
        released: &'a ReleaseExtent,
        reason: &'a str,
    },
    /// Events were removed from an archive.
    Expired(&'a RetentionExpired),
    /// Rows of read models leave the store.
    WarmCut(&'a WarmCut),
    /// Begins a generation, after a loss that was declared.
    Recovered(&'a DeclaredLoss),
    /// A data subject's key is destroyed.
    Erased {
        erased: &'a SubjectErased,
        /// The person whose token asked for it; `None` for the ledger itself.
        actor: Option<&'a str>,
    },
    /// A legal hold begins.
    HoldPlaced {
        placed: &'a HoldPlaced,
        actor: Option<&'a str>,
    },
    /// A legal hold ends.
    HoldReleased {
        released: &'a HoldReleased,
        actor: Option<&'a str>,
    },
    /// Another retention policy is in force.
    RetentionChanged {
        changed: &'a RetentionChanged,
        actor: Option<&'a str>,
    },
}

impl ServiceEvent<'_> {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Created { .. } => CREATED_KIND,
            Self::Opened { .. } => "ledger.opened",
            Self::TailCut(_) => "ledger.tail-cut",
            Self::FramesPutBack(_) => LedgerFramesPutBack::KIND,
            Self::ReadOnly { .. } => "ledger.read-only",
            Self::Writable => "ledger.writable",
            Self::ClockJumped(_) => LedgerClockJumped::KIND,
            Self::Headed(_) => HEADED_KIND,
            Self::Archived(_) => ArchiveSealed::KIND,
            Self::Released { .. } => RetentionApplied::KIND,
            Self::Expired(_) => RetentionExpired::KIND,
            Self::WarmCut(_) => WarmCut::KIND,
            Self::Recovered(_) => RECOVERED_KIND,
            Self::Erased { .. } => SubjectErased::KIND,
            Self::HoldPlaced { .. } => HoldPlaced::KIND,
            Self::HoldReleased { .. } => HoldReleased::KIND,
            Self::RetentionChanged { .. } => RetentionChanged::KIND,
        }
    }

    /// Returns the person whose token asked for it; `None` for what the ledger does by itself.
    fn actor(&self) -> Option<&str> {
        match self {
            Self::Erased { actor, .. }
            | Self::HoldPlaced { actor, .. }
            | Self::HoldReleased { actor, .. }
            | Self::RetentionChanged { actor, .. } => *actor,
            _ => None,
        }
    }

    fn data(&self, ledger: LedgerId) -> serde_json::Value {
        match self {
            Self::Created { name, generation, signing_key, segment_bytes, request_bytes, reactor } => json!({
                "ledger": ledger.to_string(),
                "name": name,
                "generation": generation.0,
                "signingKey": hex::encode(signing_key),
                "limits": {"segmentBytes": segment_bytes, "requestBytes": request_bytes},
                "reactorVersion": reactor,
            }),
            Self::Opened { epoch, reactor, version } => {
                json!({"epoch": epoch.0, "reactorVersion": reactor, "serviceVersion": version})
            }
            Self::TailCut(cut) => cut.to_json(),
            Self::FramesPutBack(frames) => frames.to_json(),
            Self::ReadOnly { reason } => json!({"reason": reason.to_string()}),
            Self::Writable => json!({}),
            Self::ClockJumped(jump) => {
                let direction = if jump.to > jump.from { "forward" } else { "back" };
                let [from, to] = [jump.from, jump.to].map(|time| ClockTime::new(time.0).get());
                json!({"from": from, "to": to, "direction": direction})
            }
            Self::Headed(headed) => json!({"size": headed.size.to_string(), "hash": headed.hash.to_string()}),
            Self::Archived(archive) => json!({
                "archive": archive.name,
                "first": archive.first.to_string(),
                "last": archive.last.to_string(),
                "bytes": archive.bytes,
                "manifest_sha256": hex::encode(archive.manifest),
                "store": archive.store,
            }),
            Self::Released { released, reason } => json!({
                "first": released.first.to_string(),
                "last": released.last.to_string(),
                "segments": released.segments,
                "bytes": released.bytes,
                "reason": reason,
            }),
            Self::Expired(expired) => json!(expired),
            Self::WarmCut(cut) => json!(cut),
            Self::Recovered(loss) => loss.to_json(),
            Self::Erased { erased, .. } => json!(erased),
            Self::HoldPlaced { placed, .. } => json!(placed),
            Self::HoldReleased { released, .. } => json!(released),
            Self::RetentionChanged { changed, .. } => json!(changed),
        }
    }

    /// The event, encoded. `next` is the position it will have if nothing comes between; it makes the id unique.
    pub(crate) fn prepare(
        &self,
        preparer: &Preparer,
        ledger: LedgerId,
        next: Position,
    ) -> Result<PreparedRequest, AppendError> {
        let id = match self {
            // So that each is said once, and another one of the same place is not taken for it.
            Self::TailCut(cut) => self.id_of(&cut.file, cut.hash),
            Self::FramesPutBack(frames) => self.id_of(&frames.file, frames.hash),
            // So that an archive is recorded once, however often it is told; and again where it was lost and made anew, under other
            // keys and so with another manifest.
            Self::Archived(SealedArchive { name, manifest, .. }) => {
                let [a, b, c, d, ..] = manifest;
                format!("{}:{name}:{}", self.kind(), hex::encode([a, b, c, d].map(|byte| *byte)))
            }
            // So that of a segment it is said once, however often a crash stops it from going.
            Self::Released { released, .. } => signed_release_id(released.first, released.last),
            // As of an archive that is sealed.
            Self::Expired(RetentionExpired { archive, manifest_sha256, .. }) => {
                let digest: String = manifest_sha256.as_str().chars().take(8).collect();
                format!("{}:{archive}:{digest}", self.kind())
            }
            // So that a place is cut once.
            Self::WarmCut(cut) => format!("{}:{}", self.kind(), cut.through.get()),
            // So that the erasure of a key is recorded once.
            Self::Erased { erased, .. } => format!("{}:{}", self.kind(), erased.key),
            _ => format!("{}:{next}", self.kind()),
        };
        let mut event = Event::new(id, service_source(ledger), self.kind(), HEADED_STREAM);
        event.actor = self.actor().map(Into::into);
        let data = Json::check(self.data(ledger).to_string().into_bytes());
        event.data = Data::Json(
            data.map_err(|error| AppendError::Unencodable { index: 0, reason: error.to_string() })?,
        );
        preparer.prepare(AppendRequest::of(vec![event]), RequestOrigin::Service)
    }

    /// The id of what is said of a file in quarantine that holds these bytes.
    fn id_of(&self, file: &str, bytes: blake3::Hash) -> String {
        format!("{}:{file}:{}", self.kind(), bytes.to_hex().get(..8).unwrap_or_default())
    }
}

/// The id of the event that says of these positions that they go, and that what is left of them is signed.
pub(crate) fn signed_release_id(first: Position, last: Position) -> String {
    format!("{}:{first}-{last}:signed", RetentionApplied::KIND)
}

#[cfg(test)]
mod tests {
    use bitacora_formats::{ChainHash, LostHead, Micros, Secret, TreeHash};
    use bitacora_vocabulary::{
        BoundedNumber, Count, FreeText, Name, SchemaMatch, Sha256Text, SubjectKeyId, check_data,
    };

    use super::*;
    use crate::receipt::Head;

    #[test]
    fn what_the_service_writes_is_what_the_vocabulary_says() {
        let head = Head {
            position: Position::FIRST,
            hash: ChainHash([7; 32]),
            time: Micros(1),
            tree_root: TreeHash([8; 32]),
        };
        let lost = |root, note: Option<&str>| LostHead { size: 9, root, note: note.map(str::to_owned) };
        let losses = [None, Some(lost(None, None)), Some(lost(Some(TreeHash([9; 32])), Some("main\n9\n")))]
            .map(|lost| {
                let anchored = lost.as_ref().and_then(|lost| lost.note.clone());
                DeclaredLoss { generation: Generation(2), lost, anchored, retained: head }
            });
        let mut events = vec![
            ServiceEvent::Created {
                name: "main",
                generation: Generation(1),
                signing_key: &[1; 32],
                segment_bytes: 1 << 26,
                request_bytes: 1 << 22,
                reactor: 0,
            },
            ServiceEvent::Opened { epoch: Epoch(3), reactor: 0, version: "0.1.0" },
            ServiceEvent::ReadOnly { reason: &ReadOnlyReason::DiskFull },
            ServiceEvent::Writable,
            ServiceEvent::ClockJumped(ClockJump { from: Micros(2), to: Micros(1) }),
            ServiceEvent::ClockJumped(ClockJump { from: Micros(1), to: Micros(u64::MAX) }),
            ServiceEvent::Headed(ChainHead { size: Position::FIRST, hash: ChainHash([7; 32]) }),
        ];
        let archive = SealedArchive {
            name: "5e/g1/1-512.bca",
            first: Position::FIRST,
            last: Position::new(512).unwrap(),
            bytes: 4_096,
            manifest: [3; 32],
            store: "/archives",
        };
        let (key, place) = (Secret::take(&mut [1; 32]), ("0000000002.seg", 4_096));
        let unwritten = UnwrittenFrames::of(&key, Generation(1), place, 0, vec![7; 211]);
        events.push(ServiceEvent::FramesPutBack(&unwritten));
        let (first, last) = (archive.first, archive.last);
        let released = ReleaseExtent { first, last, segments: 2, bytes: 1 << 20 };
        events.push(ServiceEvent::Archived(&archive));
        let erased = SubjectErased {
            key: SubjectKeyId::new([0xb1; 16]),
            authority: FreeText::new("ticket 4711").unwrap(),
            by: None,
            reason: None,
        };
        events.push(ServiceEvent::Erased { erased: &erased, actor: Some("admin:0123456789ab") });
        events.push(ServiceEvent::Released { released: &released, reason: "kept here for 90 days" });
        let expired = RetentionExpired {
            first: first.into(),
            last: last.into(),
            events: Count::new(7).unwrap(),
            archive: Name::new("5e/g1/1-512.r2.bca").unwrap(),
            revision: Count::new(2).unwrap(),
            manifest_sha256: Sha256Text::of_digest(&[9; 32]),
            policy: Position::new(600).unwrap().into(),
        };
        events.push(ServiceEvent::Expired(&expired));
        let cut = WarmCut { through: last.into(), keep_days: BoundedNumber::clamped(365) };
        events.push(ServiceEvent::WarmCut(&cut));
        events.extend(losses.iter().map(ServiceEvent::Recovered));
        for event in events {
            let data = event.data(LedgerId([7; 16])).to_string();
            assert_eq!(check_data(event.kind(), Some(data.as_bytes())), Ok(SchemaMatch::Listed), "{data}");
        }
    }
}
