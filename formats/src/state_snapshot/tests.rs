use super::*;
use bitacora_testkit::hex_block;

const DOCUMENT: &str = include_str!("../../../docs/formats/state_snapshot.md");
const WORKED_STATE: &[u8] = br#"{"example":true}"#;

fn index_key() -> Secret {
    Secret::take(&mut [0x11; 32])
}

fn header(state: &[u8]) -> StateSnapshotHeader {
    StateSnapshotHeader {
        reactor: 2,
        ledger: LedgerId(std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap())),
        position: Position::new(1_000).unwrap(),
        state_bytes: state.len() as u64,
        hash: ChainHash([0x77; 32]),
        segment: SegmentNumber(3),
    }
}

fn sealed(state: &[u8]) -> Vec<u8> {
    seal_state(&index_key(), &header(state), state, &mut Compressor::new(1).unwrap()).unwrap()
}

fn open(bytes: &[u8]) -> Result<(StateSnapshotHeader, Vec<u8>), StateSnapshotError> {
    open_state(&index_key(), bytes, &mut Decompressor::new().unwrap())
}

#[test]
fn the_worked_example_opens_to_what_it_says() {
    // Its bytes are not compared with those sealed now: another version of zstd may compress otherwise.
    let stored = hex_block(DOCUMENT, 0);
    assert_eq!(
        open(&stored),
        Ok((header(WORKED_STATE), WORKED_STATE.to_vec())),
        "{}",
        hex::encode(sealed(WORKED_STATE))
    );
    assert_eq!(stored[..STATE_SNAPSHOT_HEADER_BYTES], header(WORKED_STATE).encode());
}

#[test]
fn states_of_every_size_come_back() {
    for length in
        [0, 1, STATE_PIECE_BYTES - 1, STATE_PIECE_BYTES, STATE_PIECE_BYTES + 1, 3 * STATE_PIECE_BYTES]
    {
        let state: Vec<u8> = (0..length).map(|index| u8::try_from(index % 251).unwrap()).collect();
        assert_eq!(open(&sealed(&state)), Ok((header(&state), state)), "{length}");
    }
}

#[test]
fn every_changed_byte_and_every_cut_is_found() {
    let stored = sealed(WORKED_STATE);
    for offset in 0..stored.len() {
        let mut changed = stored.clone();
        changed[offset] ^= 1;
        assert!(open(&changed).is_err(), "byte {offset}");
        assert!(open(&stored[..offset]).is_err(), "cut at {offset}");
    }
    let longer = [stored.as_slice(), &[0]].concat();
    assert_eq!(open(&longer), Err(StateSnapshotError::Trailing));
    let other = Secret::take(&mut [0x12; 32]);
    let opened = open_state(&other, &stored, &mut Decompressor::new().unwrap());
    assert_eq!(opened, Err(StateSnapshotError::NotAuthentic { piece: 0 }));
}

#[test]
fn pieces_of_one_snapshot_do_not_change_places() {
    let state = [vec![1; STATE_PIECE_BYTES], vec![2; STATE_PIECE_BYTES]].concat();
    let stored = sealed(&state);
    let pieces = &stored[STATE_SNAPSHOT_HEADER_BYTES..];
    let (one, two) = pieces.split_at(pieces.len() / 2);
    assert_eq!(one.len(), two.len(), "both compress alike");
    let swapped = [&stored[..STATE_SNAPSHOT_HEADER_BYTES], two, one].concat();
    assert_eq!(open(&swapped), Err(StateSnapshotError::NotAuthentic { piece: 0 }));
}

#[test]
fn a_header_that_cannot_be_is_refused() {
    let parse = |change: fn(&mut [u8])| {
        let mut bytes = header(WORKED_STATE).encode();
        change(&mut bytes);
        StateSnapshotHeader::parse(&bytes)
    };
    assert_eq!(parse(|_| {}), Ok(header(WORKED_STATE)));
    assert!(matches!(parse(|bytes| bytes[0] = b'X'), Err(StateSnapshotError::Magic { .. })));
    assert_eq!(parse(|bytes| bytes[8] = 2), Err(StateSnapshotError::Format { found: 2 }));
    let impossible: [fn(&mut [u8]); 4] = [
        |bytes| bytes[10] = 1,
        |bytes| bytes[32..40].fill(0),
        |bytes| bytes[40..48].copy_from_slice(&(MAX_STATE_BYTES as u64 + 1).to_le_bytes()),
        |bytes| bytes[80..].fill(0),
    ];
    for change in impossible {
        assert_eq!(parse(change), Err(StateSnapshotError::Impossible));
    }
}

#[test]
fn what_cannot_be_a_snapshot_is_not_sealed() {
    let mut compressor = Compressor::new(1).unwrap();
    let other = StateSnapshotHeader { state_bytes: 3, ..header(WORKED_STATE) };
    let sealed = seal_state(&index_key(), &other, WORKED_STATE, &mut compressor);
    assert_eq!(sealed, Err(StateSnapshotError::Impossible));
}
