//! The resources, one file each: extract, call, reply.

pub(crate) mod description;
pub(crate) mod govern;
pub(crate) mod operate;
pub(crate) mod read;
pub(crate) mod write;
