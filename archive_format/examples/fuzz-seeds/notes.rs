//! Seeds that are signed: notes, tree heads and the file of them, evidence and receipts.

use bitacora_formats::{
    ChainHead, Commitment, Data, Event, EventDraft, Evidence, EvidenceContent, Frontier, Generation,
    HEADED_KIND, HEADED_STREAM, HeadEntry, HeadsHeader, InclusionReceipt, Json, Keyring, LeafEntry, LedgerId,
    LedgerKeys, LedgerOrigin, LossDeclaration, LostHead, Micros, Position, Record, RevealedPart, Seal,
    Secret, SegmentNumber, TreeHash, TreeHead, encode_part, encode_record, part_blind, prove_inclusion,
    seal_part, service_source, sign_note,
};

use crate::{Seeds, counting_from};

const LEDGER: LedgerId = LedgerId([0xA0; 16]);
const TIME: Micros = Micros(1_800_000_000_000_000);

pub(crate) fn all() -> Vec<Seeds> {
    let keyring = keyring();
    vec![
        Seeds { target: "signed_note", inputs: notes(&keyring) },
        Seeds { target: "tree_head", inputs: heads(&keyring) },
        Seeds { target: "heads", inputs: files(&keyring) },
        Seeds { target: "evidence", inputs: evidence(&keyring) },
        Seeds { target: "receipt", inputs: receipts(&keyring) },
        Seeds { target: "declared_loss", inputs: declared_losses(&keyring) },
    ]
}

/// The keyring that the targets know, with two signing keys.
pub(crate) fn keyring() -> Keyring {
    let mut random = counting_from(0);
    let mut keyring = Keyring::generate(&mut random);
    keyring.rotate_signing(&mut random).unwrap();
    keyring
}

pub(crate) fn origin() -> LedgerOrigin {
    LedgerOrigin { name: "main".parse().unwrap(), ledger: LEDGER, generation: Generation::FIRST }
}

/// A loss of which all is known, and one of which nothing is.
fn declared_losses(keyring: &Keyring) -> Vec<Vec<u8>> {
    let root = TreeHash([7; 32]);
    let note = TreeHead { origin: origin(), size: 9, root }.sign(keyring);
    let lost = LostHead { size: 9, root: Some(root), note: Some(note.clone()) };
    let (generation, retained) = (Generation(2), Position::FIRST);
    let known =
        LossDeclaration { generation, retained, lost: Some(lost), anchored: Some(note), restored: false };
    let unknown = LossDeclaration { lost: None, anchored: None, ..known.clone() };
    [known, unknown].iter().map(|declared| declared.to_json().into_bytes()).collect()
}

/// Notes with lines of their own and of others, and the keys that sign them.
fn notes(keyring: &Keyring) -> Vec<Vec<u8>> {
    let (name, key) = (origin().to_string(), keyring.signing().key);
    let mut first = Keyring::generate(&mut counting_from(0));
    let own = sign_note("one\n\ntwo: é\n", &name, key).unwrap();
    let both = sign_note("one\n\ntwo: é\n", &name, first.signing().key).unwrap();
    let (_, line) = own.rsplit_once("\n\n").unwrap();
    let witness = "\u{2014} witness.example/w AQIDBAUGBwgJCgsMDQ4PEA==\n";
    let mut texts = vec![own.clone(), format!("{both}{line}"), format!("{own}{witness}")];
    first.rotate_signing(&mut counting_from(9)).unwrap();
    texts.extend(origin().keys(first.signing_chain()).iter().map(ToString::to_string));
    texts.into_iter().map(String::into_bytes).collect()
}

/// A tree of one leaf after another, and the head of all of them.
struct Tree {
    leaves: Vec<TreeHash>,
    head: TreeHead,
}

impl Tree {
    fn of(leaves: Vec<TreeHash>) -> Self {
        let mut frontier = Frontier::new();
        leaves.iter().for_each(|leaf| frontier.push(*leaf));
        let head = TreeHead { origin: origin(), size: frontier.size(), root: frontier.root() };
        Self { leaves, head }
    }

    fn proof(&self, position: Position) -> Vec<TreeHash> {
        let complete = |first: u64, height: u32| {
            let first = usize::try_from(first).unwrap();
            let mut frontier = Frontier::new();
            self.leaves[first..first + (1 << height)].iter().for_each(|leaf| frontier.push(*leaf));
            Ok::<_, ()>(frontier.root())
        };
        prove_inclusion(position.get() - 1, self.head.size, complete).unwrap().unwrap()
    }
}

fn heads(keyring: &Keyring) -> Vec<Vec<u8>> {
    let leaf = TreeHash([7; 32]);
    let trees = [vec![], vec![leaf], vec![leaf; 300]].map(Tree::of);
    let mut notes: Vec<_> = trees.iter().map(|tree| tree.head.sign(keyring)).collect();
    notes.push(trees[1].head.sign(&Keyring::generate(&mut counting_from(0))));
    notes.into_iter().map(String::into_bytes).collect()
}

/// No entry, two, and two with a third that was cut short.
fn files(keyring: &Keyring) -> Vec<Vec<u8>> {
    let none = HeadsHeader { ledger: LEDGER, segment: SegmentNumber(3) }.encode().to_vec();
    let mut file = none.clone();
    for position in [2, 9] {
        headed(keyring, Position::new(position).unwrap()).encode(&mut file).unwrap();
    }
    let mut torn = file.clone();
    headed(keyring, Position::new(12).unwrap()).encode(&mut torn).unwrap();
    torn.truncate(torn.len() - 100);
    torn.extend([0; 64]);
    vec![none, file, torn]
}

fn headed(keyring: &Keyring, position: Position) -> HeadEntry {
    let (source, id) = (service_source(LEDGER), format!("{HEADED_KIND}:{position}"));
    let said = ChainHead { size: Position::FIRST, hash: bitacora_formats::ChainHash([0xC4; 32]) }.to_json();
    let mut event = Event::new(id.as_str(), source.as_str(), HEADED_KIND, HEADED_STREAM);
    event.data = Data::Json(Json::check(said.as_bytes()).unwrap());
    let record = clear(event);
    let (blind, commitment) = {
        let keys = LedgerKeys::new(keyring, LEDGER);
        (keys.blind(&source, &id), keys.commitment(&source, &id, &record))
    };
    let leaf = LeafEntry { time: TIME, commitment }.hash(position);
    let leaves = (1..position.get()).map(|_| TreeHash([7; 32])).chain([leaf]);
    HeadEntry { position, blind, record, note: Tree::of(leaves.collect()).head.sign(keyring) }
}

fn clear(event: Event<'_>) -> Vec<u8> {
    let EventDraft::Clear(record) = Record::draft(event, 300) else { unreachable!("it names nobody") };
    encode_record(&record).unwrap()
}

/// With its record, with the part too, and with nothing of its content; alone and among others.
fn evidence(keyring: &Keyring) -> Vec<Vec<u8>> {
    let mut event = Event::new("1", "s", "t", "stream");
    event.data = Data::Json(Json::check(&b"{\"a\": [1, 2]}"[..]).unwrap());
    let shown = EvidenceContent { blind: Secret::take(&mut [9; 32]), record: clear(event), part: None };
    let mut all = vec![shown.clone(), sealed()];
    all.push(EvidenceContent { part: None, ..sealed() });
    let mut texts: Vec<_> =
        all.into_iter().zip([1, 2, 7]).map(|(content, size)| of(content, size, keyring)).collect();
    texts.push(Evidence { content: None, ..of(shown, 7, keyring) });
    texts.iter().map(|evidence| evidence.to_json().into_bytes()).collect()
}

/// An event about somebody, with its part.
fn sealed() -> EvidenceContent {
    let subject_key = Secret::take(&mut [0x5A; 32]);
    let event = Event { datasubject: Some("person/9".into()), ..Event::new("2", "s", "t", "stream") };
    let EventDraft::Sensitive { record, part } = Record::draft(event, 300) else {
        unreachable!("it names somebody")
    };
    let part = encode_part(&part).unwrap();
    let (seal, _) = seal_part(&subject_key, LEDGER, &part).unwrap();
    let record = encode_record(&record.seal(Seal { subject_key: [1; 16], seal })).unwrap();
    let part = RevealedPart { blind: part_blind(&subject_key, LEDGER), part: part.into() };
    EvidenceContent { blind: Secret::take(&mut [9; 32]), record, part: Some(part) }
}

/// The evidence of an event that is the last of so many.
fn of(content: EvidenceContent, size: u64, keyring: &Keyring) -> Evidence {
    let commitment = bitacora_formats::commitment(&content.blind, &content.record);
    let position = Position::new(size).unwrap();
    let tree = tree(position, size, commitment);
    Evidence {
        position,
        time: TIME,
        commitment,
        content: Some(content),
        proof: tree.proof(position),
        tree_head: tree.head.sign(keyring),
        signing_keys: keyring.signing_chain_note(),
    }
}

fn tree(position: Position, size: u64, commitment: Commitment) -> Tree {
    let leaf = |place| if place == position.get() { commitment } else { Commitment([4; 32]) };
    let leaves = (1..=size)
        .map(|place| LeafEntry { time: TIME, commitment: leaf(place) }.hash(Position::new(place).unwrap()));
    Tree::of(leaves.collect())
}

fn receipts(keyring: &Keyring) -> Vec<Vec<u8>> {
    let commitment = Commitment([8; 32]);
    let receipts = [(1, 1), (1, 2), (6, 7), (257, 300)].map(|(place, size)| {
        let position = Position::new(place).unwrap();
        let tree = tree(position, size, commitment);
        let leaf = LeafEntry { time: TIME, commitment };
        let tree_head = tree.head.sign(keyring);
        InclusionReceipt { position, leaf, proof: tree.proof(position), tree_head }
    });
    receipts.iter().map(|receipt| receipt.to_string().into_bytes()).collect()
}
