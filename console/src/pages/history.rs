//! Parts of the pages about the past: filters, lists, events in a line, timelines.

mod answers;
mod event;
mod filters;
mod kinds;
mod list;
mod summary;
mod timeline;

pub(crate) use self::answers::Answers;
pub(crate) use self::event::{Event, clipped};
pub(crate) use self::filters::{Choice, asked, file_path, filter_form, list_rows, outside};
pub(crate) use self::kinds::{kind_links, kind_words};
pub(crate) use self::list::HistoryList;
pub(crate) use self::summary::summary;
pub(crate) use self::timeline::{Clock, Order, timeline, timeline_path, timeline_with};

/// Characters of an id in a table; its link has the whole of it.
pub(crate) const ID_CHARS: usize = 13;
