use std::convert::Infallible;

use bitacora_testkit::SeededRng;

use super::*;

const DAY: u64 = 24 * 60 * 60;

/// Frames: the time of each in seconds, and how many events it has.
struct FrameTimes(Vec<(u64, u64)>);

impl FrameTimes {
    fn head(&self) -> u64 {
        self.0.iter().map(|(_, events)| events).sum()
    }

    fn inputs(&self, archived: u64, now_s: u64) -> PlanInputs {
        let newest = self.head() - self.0.last().unwrap().1 + 1;
        let position = |number| Position::new(number).unwrap();
        let now = Micros(now_s * 1_000_000);
        PlanInputs { archived, head: position(self.head()), newest_frame: position(newest), now }
    }

    fn plan(&self, rules: &Rules, archived: u64, now_s: u64) -> Vec<(u64, u64)> {
        let inputs = self.inputs(archived, now_s);
        let mut times = FrameTimes(self.0.clone());
        let due = plan(rules, &inputs, &mut times).unwrap();
        due.iter().map(|due| (due.first.get(), due.last.get())).collect()
    }
}

impl Times for FrameTimes {
    type Error = Infallible;

    fn time_of(&mut self, position: Position) -> Result<Micros, Infallible> {
        let mut last = 0;
        let frame = self.0.iter().find(|(_, events)| {
            last += events;
            last >= position.get()
        });
        Ok(Micros(frame.expect("a durable position").0 * 1_000_000))
    }

    fn first_at(&mut self, time: Micros) -> Result<Option<Position>, Infallible> {
        let mut first = 1;
        for (seconds, events) in &self.0 {
            if seconds * 1_000_000 >= time.0 {
                return Ok(Position::new(first));
            }
            first += events;
        }
        Ok(None)
    }
}

/// A frame of 1,000 events each day, from 2026-01-01 on.
fn daily(days: u64) -> FrameTimes {
    let start = parse_time("2026-01-01T12:00:00Z").unwrap().0 / 1_000_000;
    FrameTimes((0..days).map(|day| (start + day * DAY, 1_000)).collect())
}

fn at(text: &str) -> u64 {
    parse_time(text).unwrap().0 / 1_000_000
}

#[test]
fn a_month_is_due_once_all_of_it_is_old_enough() {
    let (frames, rules) = (daily(200), Rules::default());
    // January has 31,000 events: the last 24 of them share a unit with February's first.
    assert_eq!(frames.plan(&rules, 0, at("2026-05-01T00:00:00Z")), []);
    assert_eq!(frames.plan(&rules, 0, at("2026-05-02T00:00:00Z")), [(1, 30_976)]);
    assert_eq!(frames.plan(&rules, 30_976, at("2026-05-02T00:00:00Z")), []);
    assert_eq!(frames.plan(&rules, 0, at("2026-06-10T00:00:00Z")), [(1, 30_976), (30_977, 58_880)]);
    let april = frames.plan(&rules, 58_880, at("2026-08-15T00:00:00Z"));
    assert_eq!(april, [(58_881, 89_856), (89_857, 119_808)]);
}

#[test]
fn a_month_after_which_nothing_happened_is_due_all_the_same() {
    // Ten days in January, then silence: all but the newest frame.
    let (frames, rules) = (daily(10), Rules::default());
    assert_eq!(frames.plan(&rules, 0, at("2026-05-01T23:00:00Z")), []);
    assert_eq!(frames.plan(&rules, 0, at("2026-05-02T00:00:00Z")), [(1, 8_960)]);
    assert_eq!(frames.plan(&rules, 8_960, at("2036-05-02T00:00:00Z")), []);
}

#[test]
fn what_is_forced_goes_up_to_the_newest_frame() {
    let rules = Rules { is_forced: true, ..Rules::default() };
    let forced = daily(40).plan(&rules, 0, at("2026-02-10T00:00:00Z"));
    assert_eq!(forced, [(1, 30_976), (30_977, 38_912)]);
    // The newest frame has 1,000 events from 39,001 on: the last whole unit before it ends at 38,912.
    assert_eq!(daily(40).plan(&rules, 38_912, at("2026-02-10T00:00:00Z")), []);
    let any = Rules { period: Period::Any, ..rules };
    assert_eq!(daily(40).plan(&any, 0, 0), [(1, 38_912)]);
}

#[test]
fn a_clock_that_went_back_makes_nothing_due() {
    let (frames, rules) = (daily(200), Rules::default());
    for now in ["2025-08-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-03-31T00:00:00Z"] {
        assert_eq!(frames.plan(&rules, 0, at(now)), [], "{now}");
    }
}

#[test]
fn less_than_a_unit_before_the_newest_frame_is_never_due() {
    let forced = Rules { is_forced: true, hot_events: Some(0), ..Rules::default() };
    let late = at("2027-01-01T00:00:00Z");
    for frames in [vec![(0, 1)], vec![(0, 1_000)], vec![(0, 255), (1, 1)], vec![(0, 100), (1, 900)]] {
        assert_eq!(FrameTimes(frames.clone()).plan(&forced, 0, late), [], "{frames:?}");
    }
    assert_eq!(FrameTimes(vec![(0, 256), (1, 1)]).plan(&forced, 0, late), [(1, 256)]);
}

#[test]
fn more_than_an_archive_holds_is_divided() {
    let rules = Rules { archive_events: 10_000, is_forced: true, ..Rules::default() };
    let planned = daily(40).plan(&rules, 0, at("2026-02-10T00:00:00Z"));
    let expected = [(1, 9_984), (9_985, 19_968), (19_969, 29_952), (29_953, 30_976), (30_977, 38_912)];
    assert_eq!(planned, expected);
    // By age too, and a piece that is full does not wait for its month.
    let rules = Rules { archive_events: 10_000, ..Rules::default() };
    assert_eq!(daily(40).plan(&rules, 0, at("2026-04-11T13:00:00Z")), [(1, 9_984)]);
    // A limit that nothing fits is one unit.
    let rules = Rules { archive_events: 0, is_forced: true, ..Rules::default() };
    assert_eq!(daily(2).plan(&rules, 0, 0), [(1, 256), (257, 512), (513, 768)]);
}

#[test]
fn too_many_hot_events_are_brought_down_to_half() {
    let rules = Rules { cold_after: None, hot_events: Some(20_000), ..Rules::default() };
    let now = at("2026-02-01T00:00:00Z");
    assert_eq!(daily(20).plan(&rules, 0, now), []);
    assert_eq!(daily(25).plan(&rules, 0, now), [(1, 14_848)]);
    assert_eq!(daily(25).plan(&rules, 14_848, now), []);
}

#[test]
fn days_are_periods_too() {
    let rules = Rules { period: Period::Day, is_forced: true, ..Rules::default() };
    assert_eq!(daily(4).plan(&rules, 0, 0), [(1, 768), (769, 1_792), (1_793, 2_816)]);
}

#[test]
fn plans_are_gapless_aligned_and_the_same_in_steps() {
    for seed in 0..200_u64 {
        let mut rng = SeededRng::new(seed);
        let mut random = |below: u64| rng.below(below);
        let mut time = at("2026-01-01T00:00:00Z");
        let frames = FrameTimes(
            (0..1 + random(300))
                .map(|_| {
                    time += random(3 * DAY);
                    (time, 1 + random(700))
                })
                .collect(),
        );
        let rules = Rules {
            cold_after: Some(Duration::from_secs(random(200) * DAY)),
            hot_events: (random(2) == 0).then(|| random(40_000)),
            period: [Period::Day, Period::Month, Period::Any][usize::try_from(random(3)).unwrap()],
            archive_events: 256 * (1 + random(100)),
            is_forced: random(4) == 0,
        };
        let now = time + random(100 * DAY);
        let planned = frames.plan(&rules, 0, now);
        let mut archived = 0;
        for (first, last) in &planned {
            assert_eq!((*first, last % 256), (archived + 1, 0), "seed {seed}");
            assert!(last > first && *last < frames.head(), "seed {seed}");
            assert!(last - first < rules.archive_events, "seed {seed}");
            archived = *last;
        }
        // Age and force do not depend on what is archived already: one archive at a time gives the same ones.
        if rules.hot_events.is_none() {
            let mut in_steps = Vec::new();
            while let Some(next) =
                frames.plan(&rules, in_steps.last().map_or(0, |(_, last)| *last), now).first()
            {
                in_steps.push(*next);
            }
            assert_eq!(in_steps, planned, "seed {seed}");
        }
    }
}
