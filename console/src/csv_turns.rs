//! The turns of callers who ask for files: each has one a round, so that nobody's many files keep others waiting.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Turns that callers take one after the other, each caller one a round.
#[derive(Clone)]
pub(crate) struct CsvTurns(Arc<Mutex<Waiting>>);

struct Waiting {
    /// Turns that nobody has.
    free: usize,
    /// The callers that wait, in the order of their turns. Each is here once, and waits at least once.
    callers: VecDeque<(String, VecDeque<oneshot::Sender<CsvTurn>>)>,
}

/// A turn. Once it is dropped, it is the next caller's.
pub(crate) struct CsvTurn(CsvTurns);

impl CsvTurns {
    /// So many turns at once.
    pub(crate) fn new(at_once: usize) -> Self {
        Self(Arc::new(Mutex::new(Waiting { free: at_once, callers: VecDeque::new() })))
    }

    /// Waits for a turn of this caller.
    pub(crate) async fn take(&self, caller: &str) -> Option<CsvTurn> {
        let turn = {
            let mut waiting = self.lock();
            if waiting.free > 0 {
                waiting.free -= 1;
                return Some(CsvTurn(self.clone()));
            }
            waiting.enter(caller)
        };
        // Nobody drops the sender without a turn.
        turn.await.ok()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn enter(&mut self, caller: &str) -> oneshot::Receiver<CsvTurn> {
        let (sender, turn) = oneshot::channel();
        match self.callers.iter_mut().find(|(known, _)| known == caller) {
            Some((_, waits)) => waits.push_back(sender),
            None => self.callers.push_back((caller.to_owned(), VecDeque::from([sender]))),
        }
        turn
    }

    /// Returns whoever is next. Their caller goes behind all others.
    fn next(&mut self) -> Option<oneshot::Sender<CsvTurn>> {
        let (caller, mut waits) = self.callers.pop_front()?;
        let next = waits.pop_front();
        if !waits.is_empty() {
            self.callers.push_back((caller, waits));
        }
        next
    }
}

impl Drop for CsvTurn {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        while let Some(next) = waiting.next() {
            if next.is_closed() {
                continue;
            }
            drop(waiting);
            // One that goes away just now drops the turn, which passes it on.
            let _gone = next.send(Self(self.0.clone()));
            return;
        }
        waiting.free += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_caller_with_many_waits_as_long_as_one_with_a_single_one() {
        let turns = CsvTurns::new(1);
        let held = turns.take("many").await;
        let done = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for (caller, times) in [("many", 5), ("single", 1), ("few", 2)] {
            for _ in 0..times {
                let (turns, done) = (turns.clone(), Arc::clone(&done));
                tasks.push(tokio::spawn(async move {
                    let _turn = turns.take(caller).await.unwrap();
                    done.lock().unwrap().push(caller);
                    tokio::task::yield_now().await;
                }));
            }
        }
        tokio::task::yield_now().await;
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        let expected = ["many", "single", "few", "many", "few", "many", "many", "many"];
        assert_eq!(*done.lock().unwrap(), expected);
        assert_eq!(turns.lock().free, 1);
        assert!(turns.lock().callers.is_empty());
    }

    #[tokio::test]
    async fn a_turn_of_somebody_who_is_gone_is_the_next_one_s() {
        let turns = CsvTurns::new(1);
        let held = turns.take("one").await;
        let tasks = ["gone", "there"].map(|caller| {
            let turns = turns.clone();
            tokio::spawn(async move { turns.take(caller).await.is_some() })
        });
        tokio::task::yield_now().await;
        let [gone, there] = tasks;
        gone.abort();
        let _aborted = gone.await;
        drop(held);
        assert!(there.await.unwrap());
        let held = turns.take("one").await;
        let late = turns.lock().enter("late");
        drop(held);
        drop(late);
        assert_eq!(turns.lock().free, 1, "it was handed over to nobody");
    }
}
