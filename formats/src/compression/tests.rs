use super::*;
use bitacora_testkit::hex_block;

const DOCUMENT: &str = include_str!("../../../docs/formats/dictionary.md");

const LEVEL: i32 = 3;

/// A body that compresses: text with a counter in it.
fn body(bytes: usize) -> Vec<u8> {
    let lines = (0_u64..).flat_map(|line| format!("line {line}: the same words every time\n").into_bytes());
    lines.take(bytes).collect()
}

/// Bytes that do not compress.
fn noise(bytes: usize) -> Vec<u8> {
    let mut noise = vec![0; bytes];
    blake3::Hasher::new().finalize_xof().fill(&mut noise);
    noise
}

fn compressed(body: &[u8]) -> (Codec, Vec<u8>) {
    let mut compressor = Compressor::new(LEVEL).unwrap();
    let (codec, bytes) = compressor.compress(body);
    (codec, bytes.to_vec())
}

fn decompressed(codec: Codec, bytes: &[u8], body_bytes: usize) -> Result<Vec<u8>, CompressionError> {
    Decompressor::new().unwrap().decompress(codec, bytes, body_bytes)
}

/// A frame that zstd itself made, with what is asked for around it.
fn zstd_frame(content: &[u8]) -> Vec<u8> {
    bulk::compress(content, LEVEL).unwrap()
}

#[test]
fn what_was_compressed_comes_back_at_every_level() {
    for level in MIN_COMPRESSION_LEVEL..=MAX_COMPRESSION_LEVEL {
        let mut compressor = Compressor::new(level).unwrap();
        let mut decompressor = Decompressor::new().unwrap();
        for bytes in [300, 5_000, 16_383, 16_384, 100_000] {
            let body = body(bytes);
            let (codec, compressed) = compressor.compress(&body);
            assert!(codec != Codec::Stored && compressed.len() < bytes / 2, "level {level}, {bytes} bytes");
            assert_eq!(decompressor.decompress(codec, compressed, bytes).unwrap(), body);
        }
    }
}

#[test]
fn the_worked_example_in_the_document_decompresses() {
    let (body, compressed) = (hex_block(DOCUMENT, 0), hex_block(DOCUMENT, 1));
    assert_eq!(decompressed(Codec::ZstdDictionary1, &compressed, body.len()), Ok(body));
}

#[test]
fn the_dictionary_is_the_documented_one() {
    // Frames that exist need these very bytes: a change here makes ledgers unreadable.
    let hash = blake3::hash(DICTIONARY_1).to_hex();
    assert!(DOCUMENT.contains(hash.as_str()), "{hash}");
    assert_eq!(zstd::zstd_safe::get_dict_id_from_dict(DICTIONARY_1), DICTIONARY_1_ID);
    assert!(DOCUMENT.contains(&format!("id {}", DICTIONARY_1_ID.unwrap())));
}

#[test]
fn small_bodies_take_the_dictionary_and_large_ones_do_not() {
    let codec = |bytes| compressed(&body(bytes)).0;
    assert_eq!(codec(DICTIONARY_BODY_BYTES - 1), Codec::ZstdDictionary1);
    assert_eq!(codec(DICTIONARY_BODY_BYTES), Codec::Zstd);
}

#[test]
fn a_codec_without_its_dictionary_or_with_another_is_refused() {
    let content = body(2_000);
    let (codec, with) = compressed(&content);
    assert_eq!(codec, Codec::ZstdDictionary1);
    let refused = |codec, bytes: &[u8]| decompressed(codec, bytes, content.len()).unwrap_err();
    assert_eq!(refused(Codec::Zstd, &with), CompressionError::Dictionary, "a dictionary where none is due");
    assert_eq!(refused(codec, &zstd_frame(&content)), CompressionError::Dictionary, "none where one is due");
    let mut other = with.clone();
    let at = other.windows(4).position(|id| id == DICTIONARY_1_ID.unwrap().get().to_le_bytes()).unwrap();
    other[at] ^= 1;
    assert_eq!(refused(codec, &other), CompressionError::Dictionary, "another one's id");
}

#[test]
fn a_body_that_does_not_shrink_is_stored() {
    for body in [Vec::new(), b"{}".to_vec(), noise(5_000), noise(100_000)] {
        assert_eq!(compressed(&body), (Codec::Stored, body.clone()));
        assert_eq!(decompressed(Codec::Stored, &body, body.len()), Ok(body));
    }
}

#[test]
fn a_level_out_of_range_is_refused() {
    for level in [i32::MIN, -1, 0, MAX_COMPRESSION_LEVEL + 1, i32::MAX] {
        assert_eq!(Compressor::new(level).err(), Some(CompressionError::Level { level }));
    }
}

#[test]
fn a_number_that_no_codec_has_is_none() {
    for number in 0..=u8::MAX {
        let codec = Codec::from_number(number);
        assert!(codec.is_none_or(|codec| codec.number() == number), "{number}");
    }
    assert_eq!(Codec::from_number(u8::MAX), None);
}

#[test]
fn another_length_than_announced_is_refused() {
    let body = body(40_000);
    let (codec, bytes) = compressed(&body);
    for announced in [39_999, 40_001, 1 << 20] {
        let refused = decompressed(codec, &bytes, announced);
        assert_eq!(refused, Err(CompressionError::Length { expected: announced, found: 40_000 }));
    }
    let stored = decompressed(Codec::Stored, b"abc", 4);
    assert_eq!(stored, Err(CompressionError::Length { expected: 4, found: 3 }));
    let too_large = MAX_FRAME_BODY_BYTES + 1;
    let refused = decompressed(codec, &bytes, too_large);
    assert_eq!(refused, Err(CompressionError::TooLarge { bytes: too_large }));
}

#[test]
fn a_bomb_is_refused_before_it_is_given_room() {
    // 256 MiB of zeros, in a frame that states it and in one that does not.
    let mut streamed = zstd::stream::Encoder::new(Vec::new(), LEVEL).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..256 {
        std::io::Write::write_all(&mut streamed, &zeros).unwrap();
    }
    let unstated = streamed.finish().unwrap();
    assert!(unstated.len() < 1 << 16);
    let refused = decompressed(Codec::Zstd, &unstated, 1 << 20);
    assert_eq!(refused, Err(CompressionError::UnstatedLength));

    let stated = zstd_frame(&vec![0; 1 << 26]);
    let refused = decompressed(Codec::Zstd, &stated, 1 << 20);
    assert_eq!(refused, Err(CompressionError::Length { expected: 1 << 20, found: 1 << 26 }));
}

#[test]
fn a_frame_that_lies_about_its_length_is_refused() {
    // After the magic and one byte of flags, a frame of this size states its content in four bytes.
    let mut frame = zstd_frame(&body(100_000));
    let (at, stated) = (5..9, 100_000_u32.to_le_bytes());
    assert_eq!(frame[at.clone()], stated);
    for lie in [99_999_u32, 100_001, 70_000, 1 << 23] {
        frame[at.clone()].copy_from_slice(&lie.to_le_bytes());
        let refused = decompressed(Codec::Zstd, &frame, lie as usize);
        assert_eq!(refused, Err(CompressionError::Malformed), "{lie}");
    }
}

#[test]
fn what_is_not_exactly_one_frame_is_refused() {
    let content = body(40_000);
    let frame = zstd_frame(&content);
    let trailing = CompressionError::Trailing { bytes: 1 };
    let refused = |bytes: &[u8]| decompressed(Codec::Zstd, bytes, content.len()).unwrap_err();
    assert_eq!(refused(&[&frame[..], &[0]].concat()), trailing, "a byte after the frame");
    let joined = [zstd_frame(&content[..20_000]), zstd_frame(&content[20_000..])].concat();
    assert!(matches!(refused(&joined), CompressionError::Trailing { .. }), "two frames");
    let skippable = [&0x184D_2A50_u32.to_le_bytes()[..], &4_u32.to_le_bytes(), &[0; 4]].concat();
    assert_eq!(refused(&skippable), CompressionError::Malformed, "a skippable frame");
    let after = CompressionError::Trailing { bytes: skippable.len() };
    assert_eq!(refused(&[&frame[..], &skippable].concat()), after, "a skippable frame behind");
    assert_eq!(refused(&[&skippable[..], &frame].concat()), CompressionError::Malformed, "one before");
    assert_eq!(refused(&frame[..frame.len() - 1]), CompressionError::Malformed, "cut short");
    assert_eq!(refused(b""), CompressionError::Malformed, "nothing");
    let saving_nothing = zstd_frame(&noise(64));
    assert_eq!(
        decompressed(Codec::Zstd, &saving_nothing, 64),
        Err(CompressionError::NotSmaller { bytes: saving_nothing.len(), body_bytes: 64 })
    );
}

#[test]
fn any_changed_byte_gives_an_error_or_a_body_of_the_announced_length() {
    for good in [compressed(&body(3_000)), (Codec::Zstd, zstd_frame(&body(3_000)))] {
        no_change_escapes(good);
    }
}

fn no_change_escapes((codec, good): (Codec, Vec<u8>)) {
    let body = body(3_000);
    let mut decompressor = Decompressor::new().unwrap();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            if let Ok(other) = decompressor.decompress(codec, &bytes, body.len()) {
                assert_eq!(other.len(), body.len());
            }
        }
        assert!(decompressor.decompress(codec, &good[..at], body.len()).is_err(), "cut at {at}");
    }
    assert_eq!(decompressor.decompress(codec, &good, body.len()).unwrap(), body, "errors leave no trace");
}
