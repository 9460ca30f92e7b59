//! A ledger read by a transparency-log client that knows nothing of Bitacora.
//! The client is the crates `tlog_tiles` and `signed_note`. It is configured with the log's prefix and its verifier key, and with nothing
//! else.

use signed_note::{Note, StandardVerifier, VerifierList};
use tlog_tiles::{
    Checkpoint, Error, Hash, Tile, TileHashReader, TileReader, check_record, check_tree, prove_record,
    prove_tree, record_hash, tree_hash,
};

use crate::service::{TestService, event};

const LOG: &str = "/v1/ledgers/main";

/// The hashes of a tile of full width, as a power of two.
const TILE_HEIGHT: u8 = 8;

/// Tiles by HTTP. The crate's paths begin with the tile's height, as those of the Go checksum database do; in c2sp.org/tlog-tiles
/// it is always 8 and not named.
struct Tiles<'a>(&'a TestService);

impl TileReader for Tiles<'_> {
    fn height(&self) -> u8 {
        TILE_HEIGHT
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, Error> {
        let read = |tile: &Tile| {
            let path = tile.path().replacen("tile/8/", "tile/", 1);
            self.0.get(&format!("{LOG}/{path}")).expect(200).body
        };
        Ok(tiles.iter().map(read).collect())
    }

    fn save_tiles(&self, _: &[Tile], _: &[Vec<u8>]) {}
}

/// The log's checkpoint, once its signature is verified.
fn checkpoint(service: &TestService, verifier_key: &str) -> Checkpoint {
    let note = Note::from_bytes(&service.get(&format!("{LOG}/checkpoint")).expect(200).body).unwrap();
    let known = VerifierList::new(vec![Box::new(StandardVerifier::new(verifier_key).unwrap())]);
    let (verified, _) = note.verify(&known).unwrap();
    assert_eq!(verified.len(), 1);
    Checkpoint::from_bytes(note.text()).unwrap()
}

/// Appends so many events, and waits until a checkpoint covers them.
fn grow(service: &TestService, name: &str, events: usize) {
    let events: Vec<String> = (0..events).map(|number| event(&format!("{name}{number}"), "s")).collect();
    let answer = service.append(format!("[{}]", events.join(","))).expect(201).json();
    service.get(&format!("{LOG}/receipts/{}", answer["last"].as_str().unwrap())).expect(200);
}

/// All entries of a tree of this size, from the bundles of entries.
fn entries(service: &TestService, size: u64) -> Vec<Vec<u8>> {
    let mut entries = Vec::new();
    for bundle in 0..size.div_ceil(256) {
        let width = (size - bundle * 256).min(256);
        let partial = if width == 256 { String::new() } else { format!(".p/{width}") };
        let mut bytes =
            &service.get(&format!("{LOG}/tile/entries/{bundle:03}{partial}")).expect(200).body[..];
        while let Some((length, rest)) = bytes.split_first_chunk() {
            let (entry, rest) = rest.split_at(usize::from(u16::from_be_bytes(*length)));
            entries.push(entry.to_vec());
            bytes = rest;
        }
    }
    entries
}

#[test]
fn a_client_of_transparency_logs_follows_and_proves_a_ledger() {
    let service = TestService::signing();
    let verifier_key = service.get(LOG).expect(200).json()["verifierKey"].as_str().unwrap().to_owned();
    grow(&service, "a", 300);
    let first = checkpoint(&service, &verifier_key);
    grow(&service, "b", 400);
    let second = checkpoint(&service, &verifier_key);
    assert_eq!(first.origin(), second.origin());
    let (size, root) = (second.size(), *second.hash());
    assert!(first.size() < size);

    // Every hash that this reader gives was proven to lie under the checkpoint's root.
    let (tiles, other) = (Tiles(&service), Hash([7; 32]));
    let hashes = TileHashReader::new(size, root, &tiles);
    assert_eq!(tree_hash(first.size(), &hashes).unwrap(), *first.hash());
    let grown = prove_tree(size, first.size(), &hashes).unwrap();
    check_tree(&grown, size, root, first.size(), *first.hash()).unwrap();
    check_tree(&grown, size, root, first.size(), other).unwrap_err();

    let entries = entries(&service, size);
    assert_eq!(entries.len() as u64, size);
    for number in [0, 1, 255, 256, first.size() - 1, first.size(), size - 1] {
        let leaf = record_hash(&entries[usize::try_from(number).unwrap()]);
        let proof = prove_record(size, number, &hashes).unwrap();
        check_record(&proof, size, root, number, leaf).unwrap();
        check_record(&proof, size, root, number, other).unwrap_err();
    }
    // A checkpoint of another tree, and the same tiles: the client notices.
    prove_record(size, 0, &TileHashReader::new(size, other, &tiles)).unwrap_err();
}
