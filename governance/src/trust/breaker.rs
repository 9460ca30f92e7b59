//! The circuit breaker: a dimension that fails is stopped for a while, and then tried again.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    BreakerClosed, BreakerCondition, BreakerHalfOpened, BreakerOpened, BreakerSettings, Dimension,
    MAX_BREAKER_WINDOW, TrustObserved, TrustOutcome, Verdict,
};
use serde::{Deserialize, Serialize};

/// The circuit breaker of one dimension: a fold of its `breaker.*` and of the outcomes of its calls.
///
/// It changes by applied events, never by a query. The transition that a request or an outcome requires is computed first
/// (`due_…`), recorded as an event, and applied like any other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    settings: BreakerSettings,
    condition: Condition,
    window: Window,
    /// The number of times that it half-opened. It tells the probes of one time from those of another.
    trial: Trial,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Condition {
    #[default]
    Closed,
    Open {
        cooldown_until: Micros,
    },
    HalfOpen {
        good_probes: u32,
    },
}

/// One time that a breaker was half-open, from 1. A call that is decided then carries it, so that its outcome is known as a probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Trial(pub u64);

/// A transition of a breaker. Each is an event in the same request as its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// A transition from closed or half-open: no call passes.
    Open {
        /// The counts of the window.
        window: WindowCounts,
        /// The time from which a request may be a probe.
        cooldown_until: Micros,
    },
    /// A transition from open: calls pass as probes.
    HalfOpen,
    /// A transition from half-open, or by an operator: calls pass.
    Close,
}

/// The counts of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowCounts {
    /// Outcomes.
    pub outcomes: u32,
    /// Bad ones among them.
    pub bad: u32,
}

/// Returns `true` for an outcome that is bad for the breaker: an error, a timeout, a failed check. `None` for a rejection and for
/// an exit code, which say nothing of the tool and do not enter the window.
#[must_use]
pub fn bad_outcome(outcome: TrustOutcome, post_check_passed: Option<bool>) -> Option<bool> {
    match outcome {
        TrustOutcome::Rejected | TrustOutcome::ChecksFailed => None,
        TrustOutcome::Error | TrustOutcome::Timeout => Some(true),
        TrustOutcome::Approved | TrustOutcome::AutoApproved => Some(post_check_passed == Some(false)),
    }
}

/// Does the same for a recorded observation. A missing outcome of a call that only looks does not enter the window.
pub(crate) fn bad_observation(observed: &TrustObserved) -> Option<bool> {
    bad_outcome(observed.outcome, observed.post_check_passed).filter(|_| !observed.unreported)
}

impl Breaker {
    /// Returns its condition. A cooldown that is over changes nothing before a request comes.
    #[must_use]
    pub const fn condition(&self) -> BreakerCondition {
        match self.condition {
            Condition::Closed => BreakerCondition::Closed,
            Condition::Open { .. } => BreakerCondition::Open,
            Condition::HalfOpen { .. } => BreakerCondition::HalfOpen,
        }
    }

    /// Returns its verdict on a critical call, after the transition that is due on its request. Any other call is reviewed while it
    /// is open, from version 6 of the rules on.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        match self.condition {
            Condition::Closed => Verdict::Allow,
            Condition::Open { .. } => Verdict::Deny,
            Condition::HalfOpen { .. } => Verdict::Review,
        }
    }

    /// Returns `true` if it is closed and has the default settings. Once forgotten, such a breaker begins anew as it was.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.condition == Condition::Closed && self.settings == BreakerSettings::default()
    }

    /// Returns its settings.
    #[must_use]
    pub const fn settings(&self) -> &BreakerSettings {
        &self.settings
    }

    /// Returns the time from which a request may be a probe, while it is open.
    #[must_use]
    pub const fn cooldown_until(&self) -> Option<Micros> {
        match self.condition {
            Condition::Open { cooldown_until } => Some(cooldown_until),
            Condition::Closed | Condition::HalfOpen { .. } => None,
        }
    }

    /// Good probes so far, while it is half-open.
    #[must_use]
    pub const fn good_probes(&self) -> Option<u32> {
        match self.condition {
            Condition::HalfOpen { good_probes } => Some(good_probes),
            Condition::Closed | Condition::Open { .. } => None,
        }
    }

    /// Returns the counts of its window.
    #[must_use]
    pub const fn window(&self) -> WindowCounts {
        WindowCounts { outcomes: self.window.len, bad: self.window.bad() }
    }

    /// Returns the trial that a call decided now has to carry: while half-open, the current one.
    #[must_use]
    pub const fn trial(&self) -> Option<Trial> {
        match self.condition {
            Condition::HalfOpen { .. } => Some(self.trial),
            Condition::Closed | Condition::Open { .. } => None,
        }
    }

    /// Returns `true` if the outcome of a call is a probe's: the call was decided while the breaker was half-open. It has to be
    /// half-open still, without having been open in between.
    #[must_use]
    pub fn is_probe(&self, decided_in: Option<Trial>) -> bool {
        decided_in.is_some() && decided_in == self.trial()
    }

    /// Returns the transition that has to precede a request at this time. The first request from the end of the cooldown on
    /// half-opens the breaker, and is its first probe.
    #[must_use]
    pub fn due_on_request(&self, time: Micros) -> Option<Transition> {
        self.cooldown_until().is_some_and(|until| time >= until).then_some(Transition::HalfOpen)
    }

    /// Returns the transition that has to follow an outcome at this time, which is not applied yet.
    #[must_use]
    pub fn due_after(&self, bad: bool, was_probe: bool, time: Micros) -> Option<Transition> {
        let mut after = *self;
        after.apply_outcome(bad, was_probe);
        match after.condition {
            Condition::HalfOpen { .. } if was_probe && bad => Some(after.opening(time)),
            _ => after.due(time),
        }
    }

    /// Returns the transition that has to follow these settings, which are not applied yet. A closed breaker opens if its window
    /// holds enough bad outcomes for them. A half-open one closes if it had enough good probes.
    #[must_use]
    pub fn due_after_configured(&self, settings: &BreakerSettings, time: Micros) -> Option<Transition> {
        let mut after = *self;
        after.apply_configured(settings);
        after.due(time)
    }

    /// Returns the transition that is due by its own state.
    fn due(&self, time: Micros) -> Option<Transition> {
        match self.condition {
            Condition::Closed => (self.window.bad() >= self.threshold()).then(|| self.opening(time)),
            Condition::HalfOpen { good_probes } => {
                (good_probes >= self.settings.recovery_probes.get()).then_some(Transition::Close)
            }
            Condition::Open { .. } => None,
        }
    }

    /// Returns the number of bad outcomes that open it: at most the window's size, or it would never open.
    pub(crate) fn threshold(&self) -> u32 {
        self.settings.failure_threshold.get().min(self.settings.window.get())
    }

    fn opening(&self, time: Micros) -> Transition {
        let cooldown = u64::from(self.settings.cooldown_s.get()) * 1_000_000;
        Transition::Open { window: self.window(), cooldown_until: Micros(time.0.saturating_add(cooldown)) }
    }

    /// Takes note of an outcome that is no rejection. It enters the window in every condition; a good probe counts towards closing.
    pub fn apply_outcome(&mut self, bad: bool, was_probe: bool) {
        self.window.push(bad, self.settings.window.get());
        if let Condition::HalfOpen { good_probes } = &mut self.condition
            && was_probe
            && !bad
        {
            *good_probes = good_probes.saturating_add(1);
        }
    }

    /// Applies a recorded transition of any cause. Closing clears the window.
    pub fn apply_transition(&mut self, transition: &Transition) {
        match *transition {
            Transition::Open { cooldown_until, .. } => self.condition = Condition::Open { cooldown_until },
            Transition::HalfOpen => {
                self.condition = Condition::HalfOpen { good_probes: 0 };
                self.trial = Trial(self.trial.0.saturating_add(1));
            }
            Transition::Close => {
                self.condition = Condition::Closed;
                self.window = Window::default();
            }
        }
    }

    /// Changes the settings. A shorter window keeps the newest outcomes; a longer one has room for more. A cooldown under way ends
    /// at its old time.
    pub fn apply_configured(&mut self, settings: &BreakerSettings) {
        self.settings = *settings;
        self.window.shorten(settings.window.get());
    }
}

/// The event of a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreakerEvent {
    /// `breaker.opened`.
    Opened(BreakerOpened),
    /// `breaker.half_opened`.
    HalfOpened(BreakerHalfOpened),
    /// `breaker.closed`.
    Closed(BreakerClosed),
}

impl Transition {
    /// Returns the event that records it, for the breaker of this dimension.
    #[must_use]
    pub fn event(&self, dimension: Dimension) -> BreakerEvent {
        match *self {
            Self::Open { window, cooldown_until } => BreakerEvent::Opened(BreakerOpened {
                dimension,
                outcomes: window.outcomes,
                bad: window.bad,
                cooldown_until: cooldown_until.0,
            }),
            Self::HalfOpen => BreakerEvent::HalfOpened(BreakerHalfOpened { dimension }),
            Self::Close => BreakerEvent::Closed(BreakerClosed { dimension, by: None, reason: None }),
        }
    }
}

impl From<&BreakerOpened> for Transition {
    fn from(opened: &BreakerOpened) -> Self {
        let window = WindowCounts { outcomes: opened.outcomes, bad: opened.bad };
        Self::Open { window, cooldown_until: Micros(opened.cooldown_until) }
    }
}

impl From<&BreakerHalfOpened> for Transition {
    fn from(_: &BreakerHalfOpened) -> Self {
        Self::HalfOpen
    }
}

impl From<&BreakerClosed> for Transition {
    fn from(_: &BreakerClosed) -> Self {
        Self::Close
    }
}

/// The last outcomes: a bit each, set where it was bad, the newest in the lowest place of the first word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Window {
    newer: u64,
    older: u64,
    len: u32,
}

const _: () = assert!(MAX_BREAKER_WINDOW <= 2 * u64::BITS, "a window fits into two words");

impl Window {
    const fn bad(&self) -> u32 {
        self.newer.count_ones() + self.older.count_ones()
    }

    fn push(&mut self, bad: bool, most: u32) {
        self.older = self.older << 1 | self.newer >> 63;
        self.newer = self.newer << 1 | u64::from(bad);
        self.len = self.len.saturating_add(1);
        self.shorten(most);
    }

    /// Keeps the newest, `most` of them.
    fn shorten(&mut self, most: u32) {
        self.len = self.len.min(most);
        let kept = |bits: u32| 1_u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1);
        self.newer &= kept(self.len);
        self.older &= kept(self.len.saturating_sub(u64::BITS));
    }
}

#[cfg(test)]
mod tests;
