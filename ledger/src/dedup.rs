//! The identities that were ever accepted: of the live segment, of ended ones, of one table.

pub(crate) mod id_table;
pub(crate) mod id_tables;
pub(crate) mod segment_ids;
pub(crate) mod tiers;
