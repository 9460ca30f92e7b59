//! Parts of the pages about the past: filters, amounts, events in a line, timelines.

/// Characters of an id in a table; the whole of it is in the link and its title.
pub(crate) const ID_CHARS: usize = 13;

mod amounts;
mod event;
mod filters;
mod kinds;
mod summary;
mod timeline;

pub(crate) use self::amounts::{duration, grouped, micro_usd, time_between, usd, usd_short};
pub(crate) use self::event::{Event, clipped};
pub(crate) use self::filters::{Choice, Command, asked, file_path, filter_form, looked_at, outside};
pub(crate) use self::kinds::kind_links;
pub(crate) use self::summary::summary;
pub(crate) use self::timeline::{Clock, Order, timeline, timeline_path};
