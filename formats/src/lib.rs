//! Bytes and values of Bitacora: every persisted layout, without disks, clocks or networks.
//!
//! This crate may not know files, threads, time, randomness or HTTP. Every decoder is total: any input gives a value
//! or a typed error, never a panic, and never an allocation past a named limit. Each layout is stated once, with a
//! worked example, in `docs/formats/`.

mod add_checkpoint;
mod answer_signature;
mod body;
mod chain;
mod cloudevent;
mod compression;
mod content;
mod control_file;
mod cosignature;
mod damage;
mod declared_loss;
mod erased_keys;
mod event;
mod evidence;
mod fields;
mod footer;
mod frame;
#[cfg(test)]
mod headed_example;
mod heads;
mod id_filter;
mod id_table;
mod ids;
mod index;
mod json;
mod kdf;
mod keyring;
mod keys;
mod leaves;
mod levels;
pub mod limits;
mod note;
mod one_bit;
mod opener;
mod padding;
mod part;
mod passphrase;
mod proof;
mod read_model;
mod receipt;
mod record;
mod released;
mod rfc3339;
#[cfg(test)]
mod sample_ledger;
mod sealer;
mod segment;
mod shown_text;
mod state_snapshot;
mod subjects;
mod tip_table;
mod tree;
mod tree_head;
mod usd;
mod walk;
mod witness_policy;

pub use add_checkpoint::{
    ADD_CHECKPOINT_PATH, AddCheckpoint, AddCheckpointError, SIZE_CONTENT_TYPE, parse_added_cosignatures,
    parse_known_size,
};
pub use answer_signature::{
    AnswerSignature, AnswerSignatureError, AnswerSigner, SignedExchange, body_digest, verify_answer,
};
pub use body::{
    BodyEntry, BodyError, BodyMark, BodyWriter, ENTRY_HEADER_BYTES, FrameBody, REQUEST_HEADER_BYTES,
    RequestEntries, decode_body,
};
pub use chain::{ChainTip, genesis_tip};
pub use cloudevent::{BodyForm, ParseError, ParseErrorKind, parse_events, write_event, write_event_line};
pub use compression::{
    Codec, CompressionError, Compressor, DICTIONARY_BODY_BYTES, Decompressor, MAX_COMPRESSION_LEVEL,
    MIN_COMPRESSION_LEVEL,
};
pub use content::{MAX_CONTENT_BYTES, MAX_CONTENT_PIECES, content_digest, pieces, subject_content_digest};
pub use control_file::{ControlFile, ControlFileError, ControlSeal};
pub use cosignature::{Cosignature, CosignatureError, WitnessKey, WitnessKeyError, cosign};
pub use damage::{Damage, DamageKind, is_all_zeros};
pub use declared_loss::{DECLARED_LOSS_FORMAT, DeclaredLossError, LossDeclaration, LostHead};
pub use erased_keys::{ERASED_KEYS_FORMAT, ErasedKeys, ErasedKeysError, erased_key_name, erased_key_of};
pub use event::{AttributeProblem, Data, Event, EventError, ExtensionValue, text_problem};
pub use evidence::{
    EVIDENCE_FORMAT, Evidence, EvidenceContent, EvidenceError, ProvenEvent, RevealedPart, UnverifiedEvidence,
};
pub use fields::{Fields, ShortField};
pub use footer::{FOOTER_BYTES, FOOTER_FORMAT, FOOTER_MAGIC, FooterError, SegmentFooter};
pub use frame::{
    FRAME_FORMAT, FRAME_HEADER_BYTES, FRAME_MAGIC, FRAME_OVERHEAD_BYTES, FrameError, FrameHeader, StoredFrame,
};
pub use heads::{
    ChainHead, HEADED_KIND, HEADED_STREAM, HEADS_FORMAT, HEADS_HEADER_BYTES, HEADS_MAGIC, HeadEntry,
    HeadStep, HeadedError, HeadsError, HeadsHeader, HeadsWalk, MAX_HEAD_ENTRY_BYTES, service_source,
};
pub use id_filter::{ID_FILTER_BLOCK_BYTES, IdFilter};
pub use id_table::{
    ID_BLOCK_BYTES, ID_BLOCK_ENTRIES, ID_TABLE_CHECK_BYTES, ID_TABLE_FORMAT, ID_TABLE_MAGIC, IdBlock,
    IdBlocks, IdEntry, IdTableBinding, IdTableCheck, IdTableError, IdTableHeader, MAX_ID_TABLE_ENTRIES,
};
pub use ids::{
    After, ChainHash, Commitment, Epoch, EventKey, Generation, IdError, LedgerId, LedgerName, Micros,
    Position, Secret, SegmentNumber, Signature, StreamKey, StreamVersion, TreeHash,
};
pub use index::{
    INDEX_FORMAT, INDEX_HEADER_BYTES, INDEX_MAGIC, INDEX_OFFSET_BITS, INDEX_PAGE_BYTES, IndexBlock,
    IndexError, IndexExtent, IndexField, IndexHeader, IndexPage, IndexTerm, IndexTerms,
    MAX_INDEX_BLOCK_ENTRIES, MAX_INDEX_BLOCK_EVENTS, MAX_INDEX_BLOCK_PAGES, MAX_INDEX_PAGE_CONTENT_BYTES,
    index_state_digest, seal_index_block,
};
pub use json::{Json, JsonError, JsonErrorKind, check_json, write_json_text};
pub use kdf::{KeyInput, KeyUse, chain_hasher, derive, finish as finish_key};
pub use keyring::{
    ActiveSigner, KekId, Keyring, KeyringError, LineProblem, OfflineKeys, RetirementError,
    SIGNING_KEYS_FIRST_LINE, SigningChain, SigningChainError, parse_signing_chain,
};
pub use keys::{LedgerKeys, commitment};
pub use leaves::{
    LEAF_ENTRY_BYTES, LEAVES_FORMAT, LEAVES_HEADER_BYTES, LEAVES_MAGIC, LeafEntry, LeavesError, LeavesHeader,
};
pub use levels::{
    LEVELS_FORMAT, LEVELS_HEADER_BYTES, LEVELS_MAGIC, Levels, LevelsError, LevelsHeader, TREE_HASH_BYTES,
};
pub use note::{
    KeyId, NoteError, NoteSignature, SignedNote, UnverifiedNote, VerifierKey, VerifierKeyError,
    is_bidi_control, sign_checked, sign_note,
};
pub use one_bit::undo_one_flip;
pub use opener::{FrameOpenError, FrameOpener};
pub use padding::{MAX_PADDED_BODY_BYTES, PADDED_BYTES, PaddingError, pad};
pub use part::{PART_TAG_BYTES, PartError, check_part, open_part, part_blind, seal_part, sealed_action};
pub use passphrase::{
    PASSPHRASE_FORMAT, PASSPHRASE_MAGIC, PASSPHRASE_OVERHEAD_BYTES, PASSPHRASE_RANDOM_BYTES,
    PassphraseFileError, PassphraseHeader, ScryptCost,
};
pub use proof::{
    MAX_INCLUSION_HASHES, ProofError, prove_consistency, prove_inclusion, root_of, verify_consistency,
    verify_inclusion,
};
pub use read_model::{
    CURSOR_KEY, CutState, MAX_ROW_KEY_BYTES, ModelCursor, READ_MODEL_FORMAT, READ_MODEL_MAGIC,
    ROW_GROUP_BYTES, ROW_HEADER_BYTES, ROW_SEAL_BYTES, RowError, RowHash, RowKeys, RowSum, STORE_NOTE_BYTES,
    StoreHash,
};
pub use receipt::{InclusionReceipt, ReceiptError, UnverifiedReceipt};
pub use record::{
    EventDraft, Expired, PART_FORMAT, RECORD_FORMAT, Record, RecordData, RecordError, Seal, SensitivePart,
    UnsealedRecord, append_record, decode_part, decode_record, encode_part, encode_record, record_kind,
};
pub use released::{
    MAX_RELEASED_BYTES, RELEASED_FORMAT, RELEASED_MAGIC, ReleasedError, ReleasedSegment, ReleasedSignature,
};
pub use rfc3339::{TimeError, check_time, format_time, parse_time, to_the_second};
pub use sealer::{FramePlan, FrameSealer, SealError};
pub use segment::{
    MAX_SEGMENT_HEADER_BYTES, MIN_SEGMENT_HEADER_BYTES, SEGMENT_FORMAT, SEGMENT_MAGIC, SegmentError,
    SegmentHeader, SegmentPlan, seal_segment_header,
};
pub use shown_text::{printable, printable_json, shortened};
pub use state_snapshot::{
    MAX_STATE_BYTES, MAX_STATE_SNAPSHOT_BYTES, STATE_PIECE_BYTES, STATE_SNAPSHOT_FORMAT,
    STATE_SNAPSHOT_HEADER_BYTES, STATE_SNAPSHOT_MAGIC, StateSnapshotError, StateSnapshotHeader, open_state,
    seal_state,
};
pub use subjects::{
    SUBJECT_FORMAT, SUBJECT_KEY_FILE_BYTES, SUBJECT_MAGIC, SUBJECT_NAME_FILE_BYTES, SUBJECT_NONCE_BYTES,
    SubjectFileError, SubjectFiles,
};
pub use tip_table::{
    MAX_TIP_TABLE_ENTRIES, MAX_TIP_TABLE_HEADER_BYTES, TIP_CHUNK_ENTRIES, TIP_TABLE_FORMAT, TIP_TABLE_MAGIC,
    TipChunks, TipEntry, TipTableError, TipTableHeader,
};
pub use tree::{Frontier, TILE_HEIGHT, TILE_WIDTH, fold_complete, leaf_hash, node_hash};
pub use tree_head::{
    KeyProblem, LedgerOrigin, SignedTreeHead, TreeHead, TreeHeadError, UnverifiedTreeHead, plain_number,
};
pub use usd::{UsdError, format_usd, parse_usd};
pub use walk::{
    HeaderStep, PassStep, PassedSegment, SegmentEnd, SegmentPass, SegmentWalk, Step, WalkedFrame,
};
pub use witness_policy::{PolicyLog, PolicyWitness, WitnessPolicy, WitnessPolicyError};
