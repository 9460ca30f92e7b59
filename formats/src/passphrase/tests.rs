use super::*;
use bitacora_testkit::{hex_block, text_block};

const DOCUMENT: &str = include_str!("../../../docs/formats/passphrase.md");
const KEYRING_DOCUMENT: &str = include_str!("../../../docs/formats/keyring.md");
const PASSPHRASE: &str = "correct horse battery staple";

/// The random bytes of the worked example: `00` to `1b`.
fn counting() -> [u8; PASSPHRASE_RANDOM_BYTES] {
    std::array::from_fn(|index| u8::try_from(index).unwrap())
}

fn cheap(text: &[u8]) -> Vec<u8> {
    PassphraseHeader::new(ScryptCost::MIN, &counting()).seal(text, PASSPHRASE).unwrap()
}

fn with(file: &[u8], offset: usize, byte: u8) -> Vec<u8> {
    let mut changed = file.to_vec();
    changed[offset] = byte;
    changed
}

/// RFC 7914, section 12, third vector: of its 64 bytes a shorter output has the first. With four passes: OpenSSL.
#[test]
fn derivation_agrees_with_the_rfc() {
    for (log_n, passes, expected) in [
        (14, 1, "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"),
        (10, 4, "446b8e32460a72c4acec061c2f202daa39eff9f857065f2d03286fa04019ad35"),
    ] {
        let cost = ScryptCost::new(log_n, 8, passes).unwrap();
        let key = cost.derive_key(b"pleaseletmein", b"SodiumChloride").unwrap();
        assert_eq!(hex::encode(key.expose()), expected, "log N {log_n}, {passes} passes");
    }
}

#[test]
fn the_worked_example_opens_and_seals_to_the_same_bytes() {
    let (file, text) = (hex_block(DOCUMENT, 0), text_block(KEYRING_DOCUMENT, 3));
    let header = PassphraseHeader::new(ScryptCost::new(14, 8, 1).unwrap(), &counting());
    let sealed = header.seal(text.as_bytes(), PASSPHRASE).unwrap();
    assert_eq!(hex::encode(&sealed), hex::encode(&file));
    assert_eq!(PassphraseHeader::decode(&file), Ok(header));
    assert_eq!(*PassphraseHeader::open(&file, PASSPHRASE).unwrap(), text.as_bytes());
    let key = header.cost.derive_key(PASSPHRASE.as_bytes(), &header.salt).unwrap();
    assert!(DOCUMENT.contains(&hex::encode(key.expose())), "{}", hex::encode(key.expose()));
}

#[test]
fn new_files_cost_what_the_document_says() {
    assert_eq!(ScryptCost::DEFAULT, ScryptCost::new(18, 8, 1).unwrap());
    assert!(DOCUMENT.contains("log N 18, r 8, p 1"));
}

#[test]
fn another_passphrase_opens_nothing() {
    let file = cheap(b"a text\n");
    assert_eq!(**PassphraseHeader::open(&file, PASSPHRASE).unwrap(), *b"a text\n");
    for other in
        ["", "correct horse battery stapl", "Correct horse battery staple", "correct horse battery staple "]
    {
        assert_eq!(PassphraseHeader::open(&file, other), Err(PassphraseFileError::NotAuthentic), "{other:?}");
    }
}

#[test]
fn every_changed_byte_and_every_cut_is_refused() {
    let file = cheap(b"a text\n");
    for at in 0..file.len() {
        let changed = with(&file, at, file[at] ^ 1);
        assert!(PassphraseHeader::open(&changed, PASSPHRASE).is_err(), "byte {at}");
        assert!(PassphraseHeader::open(&file[..at], PASSPHRASE).is_err(), "cut at {at}");
    }
    let longer = [&file[..], &[0]].concat();
    assert_eq!(PassphraseHeader::open(&longer, PASSPHRASE), Err(PassphraseFileError::NotAuthentic));
}

#[test]
fn costs_past_the_limits_are_refused_before_any_work() {
    let file = cheap(b"");
    for (offset, byte) in
        [(10, 0), (10, 9), (10, 21), (10, 63), (10, 255), (11, 0), (11, 1), (11, 9), (11, 255)]
            .into_iter()
            .chain([(12, 0), (12, 5), (12, 255)])
    {
        let refused = PassphraseHeader::decode(&with(&file, offset, byte));
        assert!(matches!(refused, Err(PassphraseFileError::Cost { .. })), "{offset}: {byte}");
    }
    // The largest memory that a file can make a reader take.
    assert_eq!((128 * usize::from(BLOCK_SIZE)) << MAX_SCRYPT_LOG_N, 1 << 30);
}

#[test]
fn each_wrong_field_is_named() {
    let file = cheap(b"");
    let decode = PassphraseHeader::decode;
    assert_eq!(decode(&with(&file, 8, 2)), Err(PassphraseFileError::Format { found: 2 }));
    assert_eq!(decode(&with(&file, 13, 7)), Err(PassphraseFileError::Reserved { found: 7 }));
    assert!(matches!(decode(&with(&file, 0, b'b')), Err(PassphraseFileError::Magic { .. })));
    assert!(PassphraseHeader::is_at(&file) && !PassphraseHeader::is_at(b"bitacora-keyring v1\n"));
    let length = PassphraseFileError::Length { found: file.len() - 1, max: MAX_FILE_BYTES };
    assert_eq!(decode(&file[1..]), Err(length));
}

#[test]
fn a_text_is_as_long_as_a_keyring_at_most() {
    let full = vec![b'x'; MAX_KEYRING_BYTES];
    let file = cheap(&full);
    assert_eq!(*PassphraseHeader::open(&file, PASSPHRASE).unwrap(), full);
    let header = PassphraseHeader::new(ScryptCost::MIN, &counting());
    let refused = header.seal(&[&full[..], b"x"].concat(), PASSPHRASE);
    assert!(matches!(refused, Err(PassphraseFileError::Length { .. })));
    assert!(matches!(
        PassphraseHeader::decode(&[&file[..], b"x"].concat()),
        Err(PassphraseFileError::Length { .. })
    ));
}
