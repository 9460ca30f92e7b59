//! JSON as it is written: members in their order, numbers with every digit.

mod fault;
mod members;
mod pretty;

pub(crate) use self::fault::JsonFault;
pub(crate) use self::members::{Members, text_of};
pub(crate) use self::pretty::{pretty, readable};
