//! Time, randomness and disk of a test, from one seed.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bitacora_formats::Micros;
use bitacora_ledger::{Clock, Entropy, Environment, NoArchives};

use crate::seeded::SeededRandom;
use crate::simulated_disk::{CrashPolicy, SimulatedDisk};

/// The start of simulated time: 2026-01-01T00:00:00Z.
pub const SIMULATION_START: Micros = Micros(1_767_225_600_000_000);

/// A clock that stands still until it is set; clones show the same time.
#[derive(Debug, Clone)]
pub struct SimulatedClock {
    time: Arc<AtomicU64>,
    /// Microseconds that it was advanced by: setting it lets no time pass.
    passed: Arc<AtomicU64>,
    step: Arc<AtomicU64>,
}

impl SimulatedClock {
    /// A clock that stands at this time.
    #[must_use]
    pub fn new(time: Micros) -> Self {
        Self { time: Arc::new(AtomicU64::new(time.0)), passed: Arc::default(), step: Arc::default() }
    }

    /// Sets the time, also backwards; none passes by that.
    pub fn set(&self, time: Micros) {
        self.time.store(time.0, Ordering::SeqCst);
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        self.time.fetch_add(micros(by), Ordering::SeqCst);
        self.passed.fetch_add(micros(by), Ordering::SeqCst);
    }

    /// From now on every reading lets this much time pass after it.
    pub fn step_at_every_reading(&self, by: Duration) {
        self.step.store(micros(by), Ordering::SeqCst);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Micros {
        Micros(self.time.fetch_add(self.step.load(Ordering::SeqCst), Ordering::SeqCst))
    }

    fn passed(&self) -> Duration {
        Duration::from_micros(self.passed.load(Ordering::SeqCst))
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Random bytes from a seed; clones draw from the same sequence.
#[derive(Debug, Clone)]
pub struct SeededEntropy {
    random: Arc<Mutex<SeededRandom>>,
    failing: Arc<Mutex<Option<io::ErrorKind>>>,
}

impl SeededEntropy {
    /// The same seed gives the same bytes.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: Arc::new(Mutex::new(SeededRandom::new(seed))), failing: Arc::default() }
    }

    /// From now on every call fails so, or none.
    pub fn fail_with(&self, error: Option<io::ErrorKind>) {
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        if let Some(kind) = *self.failing.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(kind.into());
        }
        self.random.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
        Ok(())
    }
}

/// A machine made of simulated parts; clones are the same machine.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// Its disk.
    pub disk: SimulatedDisk,
    /// Its clock.
    pub clock: SimulatedClock,
    /// Its random bytes.
    pub entropy: SeededEntropy,
}

impl Simulation {
    /// A machine with an empty disk, at [`SIMULATION_START`].
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::around(SimulatedDisk::new(seed), SimulatedClock::new(SIMULATION_START), seed)
    }

    fn around(disk: SimulatedDisk, clock: SimulatedClock, seed: u64) -> Self {
        // Disk and keys must not make the same choices.
        let entropy = SeededEntropy::new(SeededRandom::new(seed).next_u64());
        Self { disk, clock, entropy }
    }

    /// Returns the environment of the ledger.
    #[must_use]
    pub fn environment(&self) -> Environment {
        Environment {
            disk: Arc::new(self.disk.clone()),
            clock: Arc::new(self.clock.clone()),
            entropy: Arc::new(self.entropy.clone()),
            archives: Arc::new(NoArchives),
        }
    }

    /// The machine as it may come up after losing power right after operation `at_operation` of its disk: same time,
    /// honest disk without faults. Give every crash of a run another seed: the same seed draws the same keys again.
    pub fn after_crash(&self, at_operation: u64, policy: CrashPolicy, seed: u64) -> io::Result<Self> {
        let disk = self.disk.crash_image(at_operation, policy, seed)?;
        Ok(Self::around(disk, SimulatedClock::new(self.clock.now()), seed))
    }
}

/// A machine from a seed: what the ledger is given, and the handle to play with.
#[must_use]
pub fn environment(seed: u64) -> (Environment, Simulation) {
    let simulation = Simulation::new(seed);
    (simulation.environment(), simulation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stands_until_it_is_moved() {
        let clock = SimulatedClock::new(Micros(10));
        let shown = clock.clone();
        assert_eq!((shown.now(), shown.now()), (Micros(10), Micros(10)));
        clock.advance(Duration::from_millis(2));
        assert_eq!(shown.now(), Micros(2_010));
        clock.set(Micros(5));
        assert_eq!(shown.now(), Micros(5), "a clock can be set back");
        assert_eq!(shown.passed(), Duration::from_millis(2), "no time passes by setting it");
        clock.step_at_every_reading(Duration::from_micros(3));
        assert_eq!((shown.now(), clock.now(), shown.now()), (Micros(5), Micros(8), Micros(11)));
    }

    #[test]
    fn one_seed_gives_one_sequence_of_bytes() {
        let draw = |entropy: &SeededEntropy| {
            let mut bytes = [0; 32];
            entropy.fill(&mut bytes).unwrap();
            bytes
        };
        let (one, same, other) = (SeededEntropy::new(1), SeededEntropy::new(1), SeededEntropy::new(2));
        let first = draw(&one);
        assert_eq!(first, draw(&same));
        assert_ne!(first, draw(&other));
        assert_ne!(first, draw(&one.clone()), "a clone goes on where the original is");
        assert_ne!(first, draw(&Simulation::new(1).entropy));
    }

    #[test]
    fn entropy_can_fail() {
        let entropy = SeededEntropy::new(1);
        entropy.fail_with(Some(io::ErrorKind::Unsupported));
        assert_eq!(entropy.fill(&mut [0; 4]).unwrap_err().kind(), io::ErrorKind::Unsupported);
        entropy.fail_with(None);
        entropy.fill(&mut [0; 4]).unwrap();
    }

    #[test]
    fn the_environment_is_the_simulation() {
        let (environment, simulation) = environment(4);
        simulation.clock.set(Micros(77));
        assert_eq!(environment.clock.now(), Micros(77));
        environment.disk.create_folder("/data".as_ref()).unwrap();
        assert!(simulation.disk.contents("/data".as_ref()).is_err(), "a folder has no contents");
        assert_eq!(simulation.disk.paths(), [std::path::PathBuf::from("/data")]);

        let after = simulation.after_crash(1, CrashPolicy::Everything, 9).unwrap();
        assert_eq!(after.clock.now(), Micros(77));
        assert_eq!(after.disk.paths().len(), 1);
        let before = simulation.after_crash(0, CrashPolicy::Everything, 9).unwrap();
        assert_eq!(before.disk.paths().len(), 0);
    }
}
