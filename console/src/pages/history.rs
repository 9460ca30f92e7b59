//! Parts of the pages about the past: filters, amounts, events in a line, timelines.

mod amounts;
mod event;
mod filters;
mod kinds;
mod summary;
mod timeline;

pub(crate) use self::amounts::{duration, grouped, micro_usd, time_between, usd};
pub(crate) use self::event::{Event, clipped};
pub(crate) use self::filters::{Choice, Command, asked, filter_form, outside};
pub(crate) use self::kinds::kind_links;
pub(crate) use self::summary::summary;
pub(crate) use self::timeline::{Clock, Order, timeline, timeline_path};
