//! The ledger of two events on the pages about tree heads, heads, evidence and receipts, for tests.

use crate::heads::{ChainHead, HEADED_KIND, HEADED_STREAM, HeadEntry, service_source};
use crate::ids::{ChainHash, Commitment, Generation, LedgerId, Micros, Position, TreeHash};
use crate::keyring::Keyring;
use crate::tree::{Frontier, leaf_hash};
use crate::tree_head::{LedgerOrigin, TreeHead};
use crate::{Data, Event, EventDraft, Json, LedgerKeys, Record, Secret, encode_record};
use bitacora_testkit::{hex_block, text_block};

/// 2027-01-15T08:00:00Z, the time of both events.
pub(crate) const TIME: Micros = Micros(1_800_000_000_000_000);

/// An event of the example, as the tree and the ledger know it.
pub(crate) struct ExampleEvent {
    pub(crate) position: Position,
    pub(crate) blind: Secret,
    pub(crate) record: Vec<u8>,
    pub(crate) commitment: Commitment,
}

impl ExampleEvent {
    pub(crate) fn leaf(&self) -> TreeHash {
        leaf_hash(self.position, TIME, &self.commitment)
    }
}

pub(crate) fn keyring() -> Keyring {
    Keyring::parse(text_block(include_str!("../../docs/formats/keyring.md"), 0)).unwrap()
}

pub(crate) fn origin() -> LedgerOrigin {
    let ledger = LedgerId(std::array::from_fn(|n| 0xa0 + u8::try_from(n).unwrap()));
    LedgerOrigin { name: "main".parse().unwrap(), ledger, generation: Generation::FIRST }
}

/// At position 1 the event of the page on records, at position 2 the one that heads it.
pub(crate) fn events() -> [ExampleEvent; 2] {
    let client = hex_block(include_str!("../../docs/formats/record.md"), 0);
    [shown(1, "harness/coder", "e-1", client), headed_event(&headed().to_json())]
}

pub(crate) fn headed() -> ChainHead {
    ChainHead { size: Position::FIRST, hash: ChainHash([0xc4; 32]) }
}

/// The event at position 2 with this data.
pub(crate) fn headed_event(data: &str) -> ExampleEvent {
    let source = service_source(origin().ledger);
    let mut event = Event::new("ledger.headed:2", source.as_str(), HEADED_KIND, HEADED_STREAM);
    event.data = Data::Json(Json::check(data.as_bytes()).unwrap());
    let EventDraft::Clear(record) = Record::draft(event, 0) else { panic!("it names nobody") };
    shown(2, &source, "ledger.headed:2", encode_record(&record).unwrap())
}

fn shown(position: u64, source: &str, id: &str, record: Vec<u8>) -> ExampleEvent {
    let keys = LedgerKeys::new(&keyring(), origin().ledger);
    let (blind, commitment) = (keys.blind(source, id), keys.commitment(source, id, &record));
    ExampleEvent { position: Position::new(position).unwrap(), blind, record, commitment }
}

/// The head of both events.
pub(crate) fn head() -> TreeHead {
    let mut frontier = Frontier::new();
    events().iter().for_each(|event| frontier.push(event.leaf()));
    TreeHead { origin: origin(), size: frontier.size(), root: frontier.root() }
}

/// The head with its event, as the file of heads has them.
pub(crate) fn entry() -> HeadEntry {
    let [_, ExampleEvent { position, blind, record, .. }] = events();
    HeadEntry { position, blind, record, note: head().sign(&keyring()) }
}
