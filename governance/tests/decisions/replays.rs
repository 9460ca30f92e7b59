//! The state is a fold of what is recorded: live, published, and folded again from nothing are the same.

use bitacora_governance::{Governance, Reactor, State};
use serde_json::json;

use crate::desk::{Desk, governed};

/// Folds the recorded frames into a state of its own.
fn replayed(desk: &Desk) -> State {
    let governance = Governance::default();
    let mut state = governance.state();
    for frame in &desk.log {
        let observed: Vec<_> = frame.iter().map(|placed| placed.observed(None)).collect();
        state.fold(&observed);
    }
    governance.read(Clone::clone)
}

/// A small generator, the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn random_step(desk: &mut Desk, dice: &mut Dice, asked: &mut u64) {
    let paths = ["src/a.rs", "src/b.rs", "docs/a.md", "../x"];
    let path = paths[usize::try_from(dice.roll(4)).unwrap()];
    let some_call = format!("c{}", dice.roll(*asked + 1));
    // Refusals are part of it: they must leave nothing behind.
    match dice.roll(12) {
        0..=4 => {
            *asked += 1;
            let mut request =
                json!({"call": format!("c{asked}"), "tool": "fs.write", "args": {"path": path}});
            if dice.roll(3) == 0 {
                request["idempotency_key"] = json!(format!("k{}", dice.roll(5)));
            }
            if dice.roll(3) == 0 {
                request["approval"] = json!(format!("a{}", dice.roll(60)));
            }
            drop(desk.ask_with(request));
        }
        5 | 6 => drop(desk.end(&some_call, "tool.completed", "ok")),
        7 => drop(desk.end(&some_call, "tool.failed", "error")),
        8 => {
            let resolution = ["approved", "rejected", "withdrawn"][usize::try_from(dice.roll(3)).unwrap()];
            drop(desk.act(
                "approval.resolved",
                json!({
                    "approval": format!("a{}", dice.roll(60)), "resolution": resolution, "by": "operator:0",
                }),
            ));
        }
        9 => desk.pass(dice.roll(400)),
        10 => desk.earn("fs.write", "src"),
        _ => {
            let expires = desk.time + 1_000_000 * dice.roll(600);
            let grant = format!("g{}", dice.roll(1_000_000));
            drop(desk.act(
                "grant.given",
                json!({"grant": grant, "scope": {"tool": "fs.write"}, "expires": expires}),
            ));
        }
    }
}

#[test]
fn live_published_and_replayed_agree_at_every_position() {
    for seed in 0..40 {
        let (mut desk, mut dice, mut asked) = (governed(), Dice(seed), 0);
        for step in 0..120 {
            random_step(&mut desk, &mut dice, &mut asked);
            let published = desk.governance.read(Clone::clone);
            if step % 20 == 0 {
                assert!(published == replayed(&desk), "seed {seed}, step {step}");
            }
            assert!(desk.staged_is(&published), "seed {seed}, step {step}");
        }
        assert!(desk.governance.read(Clone::clone) == replayed(&desk), "seed {seed}");
    }
}

#[test]
fn two_runs_of_a_seed_are_the_same_byte_for_byte() {
    let run = |seed| {
        let (mut desk, mut dice, mut asked) = (governed(), Dice(seed), 0);
        (0..200).for_each(|_| random_step(&mut desk, &mut dice, &mut asked));
        desk.governance.read(|state| serde_json::to_vec(state).unwrap())
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}
