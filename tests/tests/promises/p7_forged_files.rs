//! P7: no file in the folder makes an opening give up events, move the anchor, or record a falsehood.
//! The thief of these tests writes any file there; the keyring and the anchor are out of reach.

use std::fs;
use std::path::Path;

use bitacora_formats::{
    ControlFile, Generation, Keyring, LedgerId, LedgerKeys, LossDeclaration, LostHead, Position,
    UnverifiedTreeHead,
};
use bitacora_ledger::{Environment, Ledger, OpenError, ReadOnlyReason, Rollback, WriterState};
use bitacora_tests::folders::copy_folder;

use crate::p7_no_rollback::{AnchorFixture, append};
use crate::workload::{all, keyring, served};

const FILE: &str = "declared-loss";

fn other_keyring() -> Keyring {
    let mut draw = 200_u8;
    Keyring::generate(&mut |bytes| {
        draw = draw.wrapping_add(1);
        bytes.fill(draw);
    })
}

/// The declaration that would have the ledger go on after `retained` events, where its anchor remembers this note.
fn declaration(retained: u64, note: &str) -> LossDeclaration {
    let head = UnverifiedTreeHead::parse(note).unwrap();
    let (generation, size) = (head.origin().generation, note.lines().nth(1).unwrap().parse().unwrap());
    LossDeclaration {
        generation: Generation(generation.0 + 1),
        retained: Position::new(retained).unwrap(),
        lost: Some(LostHead { size, root: None, note: Some(note.to_owned()) }),
        anchored: Some(note.to_owned()),
        restored: false,
    }
}

/// Returns the files that a thief can write there, each with a name.
fn forgeries(ledger: LedgerId, declared: &LossDeclaration) -> Vec<(&'static str, String)> {
    let key = |keyring: &Keyring, ledger| LedgerKeys::new(keyring, ledger).index_key().clone();
    let own = key(&keyring(), ledger);
    let restored = LossDeclaration { restored: true, lost: None, anchored: None, ..declared.clone() };
    let early = declared.to_json().replace("loss v2", "loss v1").replace(",\n  \"restored\": false", "");
    vec![
        ("of the format without a seal", early),
        ("without its seal", declared.to_json()),
        ("of a restored ledger, without its seal", restored.to_json()),
        ("sealed under another keyring", declared.to_file(&key(&other_keyring(), ledger))),
        ("of another ledger", declared.to_file(&key(&keyring(), LedgerId([7; 16])))),
        ("sealed as another file", ControlFile::Notices.seal(&own, &declared.to_json())),
        ("with half a seal", declared.to_file(&own).replace("seal ", "seal 00")),
        ("of zeros", "\0".repeat(4_096)),
        ("that is empty", String::new()),
    ]
}

fn segments(ledger: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(ledger.join("segments"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

fn anchored_note(fixture: &AnchorFixture) -> String {
    bitacora_ledger::Anchor::load(&fixture.anchor(), &"main".parse().unwrap()).unwrap().unwrap()
}

fn read(fixture: &AnchorFixture) -> Ledger {
    Ledger::open_for_reading(&Environment::real(), &fixture.ledger(), keyring(), None).unwrap()
}

fn id(fixture: &AnchorFixture) -> LedgerId {
    read(fixture).id()
}

fn kinds(ledger: &Ledger) -> Vec<String> {
    all(ledger).unwrap().iter().map(|stored| stored.event.kind.to_string()).collect()
}

/// Opens it without its anchor, and gives why it takes no appends.
fn fault_without_anchor(fixture: &AnchorFixture) -> bitacora_ledger::LogFault {
    let ledger = fixture.open_with(|heads| heads.anchor = None).unwrap();
    let WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)) = ledger.status().writer else {
        panic!("{:?}", ledger.status().writer)
    };
    assert!(append(&ledger, 900).is_err());
    assert!(!served(&ledger).iter().any(|stored| stored.event.kind == "ledger.recovered"));
    fault
}

#[test]
fn a_file_of_a_thief_gives_up_no_event_and_moves_no_anchor() {
    let fixture = AnchorFixture::new();
    let before = fixture.append(0..3);
    let older = fixture.copy_to("older");
    fixture.append(3..6);
    let anchored = anchored_note(&fixture);
    let id = id(&fixture);
    let declared = declaration(before, &anchored);
    for (what, file) in forgeries(id, &declared) {
        fixture.put_back(&older);
        let found = segments(&fixture.ledger());
        fs::write(fixture.ledger().join(FILE), &file).unwrap();
        let refused = fixture.open().map(|_| ()).unwrap_err();
        assert!(matches!(refused, OpenError::RolledBack(Rollback::Shorter { .. })), "{what}: {refused}");
        assert_eq!(anchored_note(&fixture), anchored, "{what}");
        assert_eq!(segments(&fixture.ledger()), found, "{what}");
        assert_eq!(fault_without_anchor(&fixture).file, FILE, "{what}");
        assert_eq!(segments(&fixture.ledger()), found, "{what}");
    }
}

#[test]
fn only_its_owner_finishes_a_declared_loss() {
    let fixture = AnchorFixture::new();
    let before = fixture.append(0..3);
    let older = fixture.copy_to("older");
    fixture.append(3..6);
    let anchored = anchored_note(&fixture);
    let id = id(&fixture);
    let file = declaration(before, &anchored).to_file(LedgerKeys::new(&keyring(), id).index_key());
    fixture.put_back(&older);
    fs::write(fixture.ledger().join(FILE), &file).unwrap();
    // As a crash of `recover` leaves it. No start goes on with it.
    let refused = fixture.open().map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::RolledBack(Rollback::Shorter { .. })), "{refused}");
    assert!(fault_without_anchor(&fixture).what.contains("recover --declare-loss"));
    let (ledger, loss) = fixture.declare_loss().unwrap();
    assert_eq!(loss.generation, Generation(2));
    append(&ledger, 7).unwrap();
    ledger.close().unwrap();
    drop(ledger);
    assert!(!fixture.ledger().join(FILE).exists());

    // The log says it: the same file does nothing more, here and in the copy from before.
    fs::write(fixture.ledger().join(FILE), &file).unwrap();
    let size = fixture.append(8..9);
    assert!(!fixture.ledger().join(FILE).exists());
    fixture.put_back(&older);
    fs::write(fixture.ledger().join(FILE), &file).unwrap();
    let refused = fixture.open().map(|_| ()).unwrap_err();
    assert!(
        matches!(refused, OpenError::RolledBack(Rollback::Generation { size: found, .. }) if found == size)
    );
}

#[test]
fn a_generation_that_nothing_explains_is_not_begun() {
    let fixture = AnchorFixture::new();
    let before = fixture.append(0..3);
    let id = id(&fixture);
    let key = LedgerKeys::new(&keyring(), id).index_key().clone();
    let declared =
        LossDeclaration { generation: Generation(9), ..declaration(before, &anchored_note(&fixture)) };
    fs::write(fixture.ledger().join(FILE), declared.to_file(&key)).unwrap();
    let refused = fixture.declare_loss().map(|_| ()).unwrap_err();
    let expected = Generation(2);
    assert!(
        matches!(refused, OpenError::GenerationJumps { found: Generation(9), expected: next } if next == expected),
        "{refused}"
    );
    assert_eq!(fault_without_anchor(&fixture).file, FILE);
}

#[test]
fn the_log_tells_of_no_cut_that_a_thief_put_into_quarantine() {
    let fixture = AnchorFixture::new();
    fixture.append(0..3);
    let quarantine = fixture.ledger().join("quarantine");
    let seal = "0".repeat(32);
    for name in [
        "0000000002.seg@1232.0.torn",
        &format!("0000000002.seg@1232.0.{seal}.torn"),
        "x.torn",
        "@.torn",
        "0000000002.seg@99999999999999999999.0.torn",
    ] {
        fs::write(quarantine.join(name), b"BITF and more").unwrap();
    }
    fixture.append(3..6);
    let ledger = read(&fixture);
    assert!(!kinds(&ledger).iter().any(|kind| kind == "ledger.tail-cut"));
}

#[test]
fn a_cut_is_told_once_though_its_file_comes_back() {
    let fixture = AnchorFixture::new();
    fixture.append(0..3);
    // A write that a crash cut short: the last frame loses its end, below no head.
    let ledger = fixture.open_with(|heads| heads.anchor = None).unwrap();
    append(&ledger, 9).unwrap();
    let last = fs::read_dir(fixture.ledger().join("segments")).unwrap().map(|entry| entry.unwrap().path());
    let last = last.filter(|path| fs::read(path).unwrap().iter().any(|byte| *byte != 0)).max().unwrap();
    let copy = fixture.ledger().with_extension("torn");
    copy_folder(&fixture.ledger(), &copy).unwrap();
    let torn = copy.join("segments").join(last.file_name().unwrap());
    let mut bytes = fs::read(&torn).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[end] ^= 1;
    fs::write(&torn, &bytes).unwrap();
    ledger.close().unwrap();
    drop(ledger);

    fixture.put_back(&copy);
    drop(fixture.open_with(|heads| heads.anchor = None).unwrap().close());
    let quarantine = fixture.ledger().join("quarantine");
    let kept: Vec<_> = fs::read_dir(&quarantine).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let ledger = read(&fixture);
    let stored = all(&ledger).unwrap();
    let cut = stored.iter().find(|stored| stored.event.kind == "ledger.tail-cut").unwrap();
    let bitacora_formats::Data::Json(data) = &cut.event.data else { panic!("no data") };
    let data: serde_json::Value = serde_json::from_slice(data.as_bytes()).unwrap();
    let hash = blake3::hash(&fs::read(&kept[0]).unwrap()).to_hex().to_string();
    assert_eq!(data["hash"], hash);

    // Under the name that it had before the log told of it.
    let name = kept[0].file_name().unwrap().to_string_lossy().into_owned();
    let sealed = format!("{name}\n{hash}");
    let key = LedgerKeys::new(&keyring(), ledger.id()).index_key().clone();
    let seal = bitacora_formats::ControlSeal::of(ControlFile::TornCut, &key, sealed.as_bytes()).to_string();
    drop(ledger);
    fs::rename(&kept[0], quarantine.join(format!("{name}.{}.torn", &seal[..32]))).unwrap();
    drop(fixture.open_with(|heads| heads.anchor = None).unwrap().close());
    let ledger = read(&fixture);
    let cuts = kinds(&ledger).iter().filter(|kind| *kind == "ledger.tail-cut").count();
    assert_eq!(cuts, 1);
}
