//! Names for the numbers of the layout: fixed columns, and the tags of nodes.
//!
//! Retired numbers stay retired.

/// Columns that every group has, by their numbers; those of extensions and of values of JSON follow them.
pub(super) mod column {
    /// The form of each record.
    pub(in super::super) const FORM: usize = 0;
    /// The type of each record's event. It follows from the form and is only referred to.
    pub(in super::super) const KIND: usize = 1;
    /// The time of each row's frame, in microseconds.
    pub(in super::super) const FRAME_TIME: usize = 2;
    pub(in super::super) const BEGINS_FRAME: usize = 3;
    pub(in super::super) const BEGINS_REQUEST: usize = 4;
    pub(in super::super) const DERIVED: usize = 5;
    pub(in super::super) const STREAM_VERSION: usize = 6;
    /// `1` for a row that has a part.
    pub(in super::super) const HAS_PART: usize = 7;
    pub(in super::super) const REDACTIONS: usize = 8;
    pub(in super::super) const PART: usize = 9;
    /// Records that are kept whole.
    pub(in super::super) const WHOLE_RECORD: usize = 10;
    pub(in super::super) const ID: usize = 11;
    pub(in super::super) const SOURCE: usize = 12;
    pub(in super::super) const STREAM: usize = 13;
    /// The first of the eleven optional attributes, in the record's order.
    pub(in super::super) const FIRST_OPTIONAL: usize = 14;
    pub(in super::super) const TAGS: usize = 25;
    /// JSON that is kept whole.
    pub(in super::super) const WHOLE_JSON: usize = 26;
    pub(in super::super) const BINARY: usize = 27;
    /// Of a sealed record the id of the subject's key, of an expired one the position of the policy.
    pub(in super::super) const SUBSTITUTE: usize = 28;
    /// Of a sealed record the seal, of an expired one the commitment.
    pub(in super::super) const DIGEST: usize = 29;
    /// The first of the others.
    pub(in super::super) const FIRST_FREE: usize = 30;

    /// Returns `true` if the column holds numbers; the others hold texts.
    pub(in super::super) const fn is_numeric(column: usize) -> bool {
        matches!(column, FORM | FRAME_TIME..=REDACTIONS)
    }
}

/// Tags of nodes that make numbers.
pub(super) mod number {
    /// One number for all.
    pub(in super::super) const CONSTANT: u8 = 0;
    /// Distances from the least, byte after byte of all.
    pub(in super::super) const PLAIN: u8 = 1;
    /// Multiples of a number, and a remainder that is added to each.
    pub(in super::super) const SCALED: u8 = 2;
    /// Differences from the one before.
    pub(in super::super) const DELTA: u8 = 3;
    /// Values, and the number of times that each follows itself.
    pub(in super::super) const RUNS: u8 = 4;
    /// Differences from the one before of the same class.
    pub(in super::super) const KEYED: u8 = 5;
    /// Each class by itself.
    pub(in super::super) const SPLIT: u8 = 6;
    /// One number for each class.
    pub(in super::super) const MAPPED: u8 = 7;
    /// 0 for the next value that is new, else the distance back to its last occurrence.
    pub(in super::super) const FRESH: u8 = 8;
    /// Differences from another column's number, or a multiple of it.
    pub(in super::super) const OFFSET: u8 = 9;
}

/// Tags of nodes that make texts.
pub(super) mod text {
    /// One text for all.
    pub(in super::super) const CONSTANT: u8 = 0;
    /// Lengths, and all texts one behind the other.
    pub(in super::super) const RAW: u8 = 1;
    /// Different texts, and which of them each is.
    pub(in super::super) const DICTIONARY: u8 = 2;
    /// Pieces joined.
    pub(in super::super) const JOINED: u8 = 3;
    /// Another column's text.
    pub(in super::super) const SAME: u8 = 4;
    /// Decimal integers, with zeros in front up to a width.
    pub(in super::super) const INTEGER: u8 = 5;
    /// Decimal fractions: the number of digits behind the point, and all digits as a number.
    pub(in super::super) const DECIMAL: u8 = 6;
    /// RFC 3339 times of UTC with so many digits behind the point.
    pub(in super::super) const TIME: u8 = 7;
    /// Bytes in hexadecimal.
    pub(in super::super) const HEX: u8 = 8;
    /// 16 bytes as UUIDs are written.
    pub(in super::super) const UUID: u8 = 9;
    /// 16 bytes as ULIDs are written.
    pub(in super::super) const ULID: u8 = 10;
    /// Bytes in base64.
    pub(in super::super) const BASE64: u8 = 11;
    /// Each class by itself.
    pub(in super::super) const SPLIT: u8 = 12;
    /// One text for each class.
    pub(in super::super) const MAPPED: u8 = 13;
    /// One of several nodes for each.
    pub(in super::super) const CHOSEN: u8 = 14;
    /// The number of bytes that each text shares with the beginning of the text before, and the bytes behind them.
    pub(in super::super) const PREFIXED: u8 = 15;
}
