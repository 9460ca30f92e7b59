//! The breaker compared with a plain model, which was written only to be obvious.

use super::*;
use bitacora_testkit::SeededRng;

/// Lists instead of bits, and nothing asked before it happens.
struct Model {
    settings: [u32; 4],
    outcomes: Vec<bool>,
    state: State,
    half_openings: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Closed,
    OpenUntil(u64),
    HalfOpen(u32),
}

impl Model {
    fn bad(&self) -> usize {
        self.outcomes.iter().filter(|bad| **bad).count()
    }

    fn forget(&mut self) {
        let past = self.outcomes.len().saturating_sub(self.settings[0] as usize);
        self.outcomes.drain(..past);
    }

    fn open(&mut self, now: u64) {
        self.state = State::OpenUntil(now + u64::from(self.settings[3]) * 1_000_000);
    }

    fn settle(&mut self, now: u64) {
        let [window, threshold, probes, _] = self.settings;
        match self.state {
            State::Closed if self.bad() >= window.min(threshold) as usize => self.open(now),
            State::HalfOpen(good) if good >= probes => self.close(),
            _ => {}
        }
    }

    fn close(&mut self) {
        self.state = State::Closed;
        self.outcomes.clear();
    }

    fn request(&mut self, now: u64) {
        if let State::OpenUntil(until) = self.state
            && until <= now
        {
            self.state = State::HalfOpen(0);
            self.half_openings += 1;
        }
    }

    fn outcome(&mut self, bad: bool, decided_in: Option<u64>, now: u64) {
        self.outcomes.push(bad);
        self.forget();
        if let State::HalfOpen(good) = self.state
            && decided_in == Some(self.half_openings)
        {
            if bad {
                return self.open(now);
            }
            self.state = State::HalfOpen(good + 1);
        }
        self.settle(now);
    }

    fn configure(&mut self, settings: [u32; 4], now: u64) {
        self.settings = settings;
        self.forget();
        self.settle(now);
    }

    fn assert_like(&self, breaker: &Breaker) {
        let state = match breaker.condition() {
            BreakerCondition::Closed => State::Closed,
            BreakerCondition::Open => State::OpenUntil(breaker.cooldown_until().unwrap().0),
            BreakerCondition::HalfOpen => State::HalfOpen(breaker.good_probes().unwrap()),
        };
        assert_eq!(state, self.state);
        let window = breaker.window();
        assert_eq!((window.outcomes as usize, window.bad as usize), (self.outcomes.len(), self.bad()));
    }
}

#[test]
fn it_goes_through_whatever_happens_as_the_model_does() {
    let mut seen = [0; 3];
    for seed in 0..200 {
        let mut rng = SeededRng::new(seed);
        let mut breaker = Breaker::default();
        let mut model =
            Model { settings: [20, 5, 3, 300], outcomes: Vec::new(), state: State::Closed, half_openings: 0 };
        let mut now = 1_000_000;
        let failing = 5 + rng.below(60);
        // The calls under way, by what they were decided in.
        let mut calls: Vec<Option<Trial>> = Vec::new();
        for _ in 0..1_000 {
            now += rng.one_of(&[0, 1, 1_000_000, 30_000_000, 100_000_000]);
            match rng.below(100) {
                0 => {
                    breaker.apply_transition(&Transition::Close);
                    model.close();
                }
                1 | 2 => {
                    let new = [1 + rng.below(128), 1 + rng.below(8), 1 + rng.below(4), rng.below(400)];
                    let new = new.map(|number| u32::try_from(number).unwrap());
                    let [window, threshold, probes, cooldown] = new;
                    let settings = settings(window, threshold, probes, cooldown);
                    let due = breaker.due_after_configured(&settings, Micros(now));
                    breaker.apply_configured(&settings);
                    due.iter().for_each(|transition| breaker.apply_transition(transition));
                    model.configure(new, now);
                }
                3..=50 => {
                    request(&mut breaker, Micros(now));
                    model.request(now);
                    calls.push(breaker.trial());
                }
                _ if calls.is_empty() => {}
                _ => {
                    let index = usize::try_from(rng.below(calls.len() as u64)).unwrap();
                    let (decided_in, bad) = (calls.swap_remove(index), rng.percent(failing));
                    let was_probe = breaker.is_probe(decided_in);
                    outcome(&mut breaker, bad, was_probe, Micros(now));
                    model.outcome(bad, decided_in.map(|trial| trial.0), now);
                }
            }
            model.assert_like(&breaker);
            seen[breaker.condition() as usize] += 1;
        }
    }
    assert!(seen.iter().all(|times| *times > 10_000), "every condition is met often: {seen:?}");
}
