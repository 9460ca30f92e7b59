//! The shape of a load: the number of callers, and of events in each request.

use std::fmt;
use std::str::FromStr;

use bitacora_formats::limits::MAX_REQUEST_EVENTS;

/// The most callers; the service takes no more connections.
const MAX_CALLERS: usize = 1_000;

/// A number of callers, and of events in each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadShape {
    /// The number of callers.
    pub callers: usize,
    /// The number of events in each request.
    pub events: usize,
}

/// The error for a text that is no shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not CALLERSxEVENTS with up to {MAX_CALLERS} callers and {MAX_REQUEST_EVENTS} events, as 16x100")]
pub struct NotAShape;

impl LoadShape {
    pub(super) const fn new(callers: usize, events: usize) -> Self {
        Self { callers, events }
    }

    /// Returns the shape as it stands in the names of measurements.
    pub(super) fn name(self) -> String {
        format!("{}x{}", self.callers, self.events)
    }
}

impl FromStr for LoadShape {
    type Err = NotAShape;

    fn from_str(text: &str) -> Result<Self, NotAShape> {
        let (callers, events) = text.split_once('x').ok_or(NotAShape)?;
        let shape = Self {
            callers: callers.parse().map_err(|_| NotAShape)?,
            events: events.parse().map_err(|_| NotAShape)?,
        };
        let fits =
            (1..=MAX_CALLERS).contains(&shape.callers) && (1..=MAX_REQUEST_EVENTS).contains(&shape.events);
        if fits { Ok(shape) } else { Err(NotAShape) }
    }
}

impl fmt::Display for LoadShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.callers {
            1 => write!(f, "a lone caller × {}", self.events),
            callers => write!(f, "{callers} callers × {}", self.events),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_read_within_its_limits() {
        assert_eq!("16x100".parse(), Ok(LoadShape::new(16, 100)));
        for text in ["", "x", "16", "0x1", "1x0", "1001x1", "1x1001", "16×100", "-1x1", "1x1x1"] {
            assert_eq!(text.parse::<LoadShape>(), Err(NotAShape), "{text:?}");
        }
    }
}
