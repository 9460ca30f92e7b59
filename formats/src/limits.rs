//! Every limit of the formats: the largest request, event, record, frame and segment.
//!
//! Data is checked against these where it enters and again where it is decoded; nothing later has to.

/// Bytes of a kibibyte.
const KIB: usize = 1_024;
/// Bytes of a mebibyte.
const MIB: usize = 1_024 * KIB;

// A request, as a client sends it.

/// Events in one append request.
pub const MAX_REQUEST_EVENTS: usize = 1_000;
/// Bytes of one append request's body, uncompressed.
pub const MAX_REQUEST_BYTES: usize = 4 * MIB;

// An event's attributes. The limits are on UTF-8 bytes, because that is what is stored.

/// Bytes of an event's `id`.
pub const MAX_ID_BYTES: usize = 256;
/// Bytes of an event's `source`.
pub const MAX_SOURCE_BYTES: usize = 1_024;
/// Bytes of an event's `type`.
pub const MAX_TYPE_BYTES: usize = 128;
/// Bytes of an event's `subject`, the name of its stream.
pub const MAX_STREAM_BYTES: usize = 512;
/// Bytes of an event's `time`: date, time, offset, and as many fraction digits as fit.
pub const MAX_TIME_BYTES: usize = 64;
/// Bytes of every other attribute, unknown extensions included.
pub const MAX_ATTRIBUTE_BYTES: usize = 1_024;
/// Extensions of one event that Bitacora does not know and keeps as they are.
pub const MAX_EXTENSIONS: usize = 32;
/// Bytes of an extension's name; CloudEvents advises 20.
pub const MAX_EXTENSION_NAME_BYTES: usize = 20;
/// Tags of one event.
pub const MAX_TAGS: usize = 16;
/// Bytes of one tag.
pub const MAX_TAG_BYTES: usize = 128;
/// Bytes of the extension `tags` as it is sent: all tags and the spaces between them.
pub const MAX_TAGS_TEXT_BYTES: usize = MAX_TAGS * (MAX_TAG_BYTES + 1) - 1;
/// Bytes of an event's data: JSON text, or binary data after base64 is undone.
pub const MAX_DATA_BYTES: usize = MAX_REQUEST_BYTES;
/// Objects and arrays that may lie within one another in an event's data.
pub const MAX_JSON_DEPTH: usize = 64;
/// The largest magnitude of a JSON number, 2^53: above it not every integer survives a reader that uses doubles.
pub const MAX_JSON_NUMBER: u64 = 1 << 53;

// Parts of an event that are kept.

/// Bytes of everything in a record but its data.
pub const MAX_ENVELOPE_BYTES: usize = 64 * KIB;
/// Bytes of one encoded record.
pub const MAX_RECORD_BYTES: usize = MAX_ENVELOPE_BYTES + MAX_DATA_BYTES;
/// Bytes of one encoded sensitive part, before and after it is sealed.
pub const MAX_PART_BYTES: usize = 4 * KIB + MAX_DATA_BYTES;

// Frames and segments.

/// Entries of one request in a frame: the client's events and those derived from them.
pub const MAX_REQUEST_ENTRIES: usize = 4_096;
/// Bytes one request may take in a frame's body, derived events included.
pub const MAX_REQUEST_BODY_BYTES: usize = 12 * MIB;
/// Entries of one frame.
pub const MAX_FRAME_ENTRIES: usize = 65_536;
/// Bytes of a frame's body, uncompressed.
pub const MAX_FRAME_BODY_BYTES: usize = 16 * MIB;
/// Bytes of a stored frame beyond its sealed body: header, tag, signature and checksum.
pub const MAX_FRAME_OVERHEAD_BYTES: usize = KIB;
/// Bytes of a stored frame. A body that does not shrink is stored as it is, so no frame is larger than its body.
pub const MAX_FRAME_BYTES: usize = MAX_FRAME_BODY_BYTES + MAX_FRAME_OVERHEAD_BYTES;
/// Bytes of a segment file.
pub const MAX_SEGMENT_BYTES: usize = 64 * MIB;

// The keyring.

/// Keys of one kind in a keyring: key-encryption keys, and signing keys with their predecessors.
pub const MAX_KEYS: usize = 1_000;
/// Bytes of a keyring's text, and of a note of signing keys.
pub const MAX_KEYRING_BYTES: usize = 512 * KIB;
/// The least binary logarithm of scrypt's `N` in a file under a passphrase: 1 MiB.
pub const MIN_SCRYPT_LOG_N: u8 = 10;
/// The largest binary logarithm of scrypt's `N` in a file under a passphrase: 1 GiB.
pub const MAX_SCRYPT_LOG_N: u8 = 20;
/// The largest `p` of scrypt in a file under a passphrase; each pass uses the memory of the one before.
pub const MAX_SCRYPT_PASSES: u8 = 4;

// Signed notes, tree heads among them.

/// Bytes of a signed note: its text, and as many long signatures as any client has to take (16 of 5 kB each).
pub const MAX_NOTE_BYTES: usize = 128 * KIB;
/// Signatures of one note.
pub const MAX_NOTE_SIGNATURES: usize = 100;
/// Bytes of the name of a key that signs notes.
pub const MAX_KEY_NAME_BYTES: usize = 256;

// Witnesses.

/// The latest time that a cosignature can have, in seconds since 1970.
pub const MAX_COSIGNATURE_SECONDS: u64 = (1 << 63) - 1;
/// Hashes of the consistency proof that a witness is shown.
pub const MAX_ADD_CHECKPOINT_HASHES: usize = 63;
/// Bytes of a request to a witness: a size, a proof and a note.
pub const MAX_ADD_CHECKPOINT_BYTES: usize = MAX_NOTE_BYTES + 4 * KIB;
/// Bytes of a witness's answer: signature lines.
pub const MAX_ADDED_COSIGNATURES_BYTES: usize = MAX_NOTE_BYTES;
/// Bytes of a policy of witnesses.
pub const MAX_POLICY_BYTES: usize = 256 * KIB;
/// Logs of one policy, and as many witnesses, and as many groups.
pub const MAX_POLICY_LINES: usize = 64;

/// Bytes of the record of an event that tells the ledger's own head, `ledger.headed`.
pub const MAX_HEADED_RECORD_BYTES: usize = 4 * KIB;
/// Bytes of a file of tree heads. A head is made after a frame, and a segment has room for fewer frames than this for heads.
pub const MAX_HEADS_BYTES: usize = MAX_SEGMENT_BYTES;

/// Bytes of a declared loss: two notes, with every character escaped.
pub const MAX_DECLARED_LOSS_BYTES: usize = 2 * MIB;

// Proofs that leave the ledger.

/// Bytes of the evidence of one event: its record and part in base64, and the notes with every character escaped.
pub const MAX_EVIDENCE_BYTES: usize = 16 * MIB;
/// Bytes of a receipt: a tree head, and an inclusion proof before it.
pub const MAX_RECEIPT_BYTES: usize = MAX_NOTE_BYTES + 4 * KIB;

// Erasure.

/// Keys of data subjects that one ledger's list of erased keys holds.
pub const MAX_ERASED_KEYS: usize = 1 << 20;
/// Bytes of that list: its first lines, a line of 54 bytes at most for each key, and the seal.
pub const MAX_ERASED_KEYS_BYTES: usize = MAX_ERASED_KEYS * 54 + KIB;

// Cold archives.

/// Groups of events in one archive.
pub const MAX_ARCHIVE_GROUPS: usize = 4_096;
/// Parts of one archive: its groups, the roots, the index and the state.
pub const MAX_ARCHIVE_PARTS: usize = 16_384;
/// Bytes of an archive's groups: stores copy objects of 5 GiB at most, and behind the groups lie the index and the state.
pub const MAX_ARCHIVE_GROUP_BYTES: u64 = 4 << 30;
/// Terms that an archive's index is made of, each counted once for each group that has it; 8 bytes of memory each.
pub const MAX_ARCHIVE_TERMS: usize = 1 << 26;
/// Bytes of a part of an archive before it is compressed, and after.
pub const MAX_ARCHIVE_PART_BYTES: usize = 32 * MIB;
/// Types of events that one archive counts, and segments that begin in it.
pub const MAX_MANIFEST_LINES: usize = 4_096;
/// Bytes of an archive's manifest: as many lines of both kinds, the signing keys, a tree head.
pub const MAX_MANIFEST_BYTES: usize = 2 * MIB;

/// The widest attributes of one event together, names of extensions included.
const WIDEST_ATTRIBUTES_BYTES: usize = MAX_ID_BYTES
    + MAX_SOURCE_BYTES
    + MAX_TYPE_BYTES
    + MAX_STREAM_BYTES
    + MAX_TIME_BYTES
    + 11 * MAX_ATTRIBUTE_BYTES
    + MAX_TAGS * MAX_TAG_BYTES
    + MAX_EXTENSIONS * (MAX_EXTENSION_NAME_BYTES + MAX_ATTRIBUTE_BYTES);

const _: () = {
    assert!(
        WIDEST_ATTRIBUTES_BYTES + 4 * KIB <= MAX_ENVELOPE_BYTES,
        "a valid event's envelope fits its record"
    );
    assert!(
        MAX_ATTRIBUTE_BYTES + KIB <= MAX_PART_BYTES - MAX_DATA_BYTES,
        "a data subject's name fits the part"
    );
    assert!(MAX_REQUEST_EVENTS <= MAX_REQUEST_ENTRIES && MAX_REQUEST_ENTRIES <= MAX_FRAME_ENTRIES);
    // JSON spends more bytes on an event's members than a record does, except for what is not in the body:
    // the stream named in the address, and the seal and lengths of a sealed part.
    assert!(
        MAX_REQUEST_BYTES + MAX_REQUEST_EVENTS * (MAX_STREAM_BYTES + KIB) <= MAX_REQUEST_BODY_BYTES,
        "what a client may send in one request fits one frame, with room for what is derived"
    );
    assert!(
        MAX_RECORD_BYTES + MAX_PART_BYTES <= MAX_REQUEST_BODY_BYTES,
        "one event of any size fits one frame"
    );
    assert!(MAX_REQUEST_BODY_BYTES <= MAX_FRAME_BODY_BYTES);
    assert!(2 * MAX_FRAME_BYTES <= MAX_SEGMENT_BYTES, "a fresh segment always takes the next frame");
    assert!(
        (MAX_RECORD_BYTES + MAX_PART_BYTES) / 3 * 4 + 2 * (MAX_KEYRING_BYTES + MAX_NOTE_BYTES) + 16 * KIB
            <= MAX_EVIDENCE_BYTES,
        "the evidence of any event can be read"
    );
    assert!(
        MAX_MANIFEST_LINES * (MAX_TYPE_BYTES + 32 + 128) + MAX_KEYRING_BYTES + 2 * MAX_NOTE_BYTES + 32 * KIB
            <= MAX_MANIFEST_BYTES,
        "any manifest that is written can be read"
    );
    assert!(MAX_POLICY_LINES < MAX_NOTE_SIGNATURES, "all witnesses of a policy and the ledger fit a note");
    assert!(MAX_SEGMENT_BYTES <= u32::MAX as usize, "sizes within a segment fit 32 bits");
};
