//! Times, in the viewer's zone.

use maud::{Markup, html};

use crate::table::TableCell;
use crate::zone::Zone;

/// Returns a time in the viewer's zone; the other one shows on hover.
pub(crate) fn moment(zone: &Zone, time: &str) -> Markup {
    let other = if zone.is_utc() { time.to_owned() } else { Zone::show_utc(time) };
    html! { time datetime=(time) title=(other) { (zone.show(time)) } }
}

/// Returns the same for a table, whose files keep the exact time.
pub(crate) fn moment_cell(zone: &Zone, time: &str) -> TableCell {
    TableCell::new(time, moment(zone, time))
}
