//! Limits of a group of columns, besides those on rows and their bytes.
//!
//! The writer keeps to them: it takes things apart less where a limit would be passed. The reader refuses a group that
//! passes one.

use super::{MAX_GROUP_BYTES, MAX_GROUP_ROWS};

/// Forms of records in a group. Records of further forms are kept whole.
pub(super) const MAX_FORMS: usize = 2_048;
/// Shapes of JSON in a group. JSON of further shapes is kept whole.
pub(super) const MAX_SHAPES: usize = 2_048;
/// Bytes of all shapes of a group, and as many of all its forms. Records and JSON past them are kept whole.
pub(super) const MAX_FORMS_BYTES: usize = 1 << 20;
/// Values that a shape lifts out. JSON with more is kept whole.
pub(super) const MAX_SHAPE_HOLES: usize = 256;
/// Columns of a group, those of fixed number among them.
pub(super) const MAX_COLUMNS: usize = 4_096;
/// Entries of all columns of a group.
pub(super) const MAX_ENTRIES: usize = 1 << 22;
/// Bytes of the directory, decompressed. Forms, shapes, dictionaries' constants and templates lie in it.
pub(super) const MAX_DIRECTORY_BYTES: usize = 8 << 20;
/// Streams of a group, and as many blocks.
pub(super) const MAX_STREAMS: usize = 1 << 16;
/// Bytes of one block of streams, decompressed.
pub(super) const MAX_BLOCK_BYTES: usize = MAX_GROUP_BYTES + (1 << 20);
/// Bytes of all blocks, decompressed.
pub(super) const MAX_BLOCKS_BYTES: usize = 3 * MAX_GROUP_BYTES;
/// Bytes of the texts of a group that a reader makes before they are asked for. It does so where each text is made of
/// those before it, or where many entries are the same. A writer nests at most five nodes that do so.
pub(super) const MAX_ARENA_BYTES: usize = 6 * MAX_GROUP_BYTES;
/// Nodes within one another in the description of a column.
pub(super) const MAX_NODE_DEPTH: usize = 16;
/// Nodes that a text is made by within one another, those of columns that are referred to among them. Texts of a column that
/// would take more are made before they are asked for.
pub(super) const MAX_REACH: usize = 4 * MAX_NODE_DEPTH;
/// Pieces of a joined text.
pub(super) const MAX_PIECES: usize = 32;
/// Values that the nodes of all columns may make together, those of nodes within nodes counted again; and steps that
/// the texts of one answer may take.
pub(super) const MAX_NODE_VALUES: usize = 1 << 27;

/// Bytes of numbers, places and nodes of a group that a reader holds at once, besides its blocks and the texts made. A
/// value takes two bytes of its record or more. Most often it is made of at most two numbers of eight bytes each. The
/// largest number of values comes to half of this limit. A writer that would pass it keeps records whole.
pub(super) const MAX_HELD_BYTES: usize = 8 * MAX_GROUP_BYTES;

const _: () = {
    assert!(MAX_GROUP_ROWS <= 1 << 16, "a row's number fits 16 bits");
    assert!(MAX_ARENA_BYTES <= u32::MAX as usize, "a place in the arena fits 32 bits");
};
