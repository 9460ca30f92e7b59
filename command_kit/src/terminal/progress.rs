//! The progress of long work, on stderr, if it is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use bitacora_import::{ImportProgress, ReadProgress};
use bitacora_replay::ReplayProgress;
use bitacora_verify::Progress;

/// A bar over bytes; silent unless stderr is a terminal.
pub struct ByteBar(ProgressBar);

impl ByteBar {
    /// Shows a bar with these words before it.
    pub fn new(what: &str) -> Self {
        let bar = ProgressBar::new(0);
        let form = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(form) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Self(bar)
    }
}

impl Progress for ByteBar {
    fn expect(&self, bytes: u64) {
        self.0.set_length(bytes);
    }

    fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }
}

impl Drop for ByteBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A count of events whose total is unknown; silent unless stderr is a terminal.
pub struct EventCount(ProgressBar);

/// The interval of redraws while nothing happens.
const DRAW_EVERY: Duration = Duration::from_millis(200);

impl EventCount {
    /// Shows a count of 0.
    pub fn new() -> Self {
        let bar = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {human_pos} events, {per_sec}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(DRAW_EVERY);
        Self(bar)
    }

    /// Counts these events.
    pub fn advance(&self, events: u64) {
        self.0.inc(events);
    }
}

impl Default for EventCount {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for EventCount {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The name of the current work; silent unless stderr is a terminal.
pub struct WorkSpinner(ProgressBar);

impl WorkSpinner {
    /// Shows a spinner without words.
    pub fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(DRAW_EVERY);
        Self(bar)
    }

    /// Shows the name of the work that begins.
    pub fn tell(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }
}

impl Default for WorkSpinner {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for WorkSpinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A bar over the bytes of files, with the events made of them; silent unless stderr is a terminal.
#[derive(Clone)]
pub struct ImportBar(ProgressBar);

impl ImportBar {
    /// Shows a bar over this many bytes.
    pub fn new(bytes: u64) -> Self {
        let bar = ProgressBar::new(bytes);
        let form = "{wide_bar} {bytes}/{total_bytes}, {msg} {eta}";
        if let Ok(style) = ProgressStyle::with_template(form) {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Removes the bar.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl ReadProgress for ImportBar {
    fn read(&self, bytes: u64) {
        self.0.inc(bytes);
    }
}

impl ImportProgress for ImportBar {
    /// Shows the number of acknowledged events.
    fn events(&self, events: u64) {
        let per_second = events.checked_div(self.0.elapsed().as_secs().max(1)).unwrap_or_default();
        self.0.set_message(format!("{events} events, {per_second}/s"));
    }
}

/// A bar over a known number of events; silent unless stderr is a terminal.
pub struct EventBar(ProgressBar);

impl EventBar {
    /// Shows a bar over this many events, with these words before it.
    pub fn new(what: &str, events: u64) -> Self {
        let bar = ProgressBar::new(events);
        if let Ok(style) =
            ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len}, {per_sec} {eta}")
        {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Self(bar)
    }

    /// Counts these events.
    pub fn advance(&self, events: u64) {
        self.0.inc(events);
    }
}

impl ReplayProgress for EventBar {
    fn advance(&self, events: u64) {
        self.0.inc(events);
    }
}

impl Drop for EventBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
