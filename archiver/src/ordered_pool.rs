//! Work on many things side by side, whose results come in the order of the things.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::throttle::ArchivePace;

/// Gives things to the threads that work on them; no more than they have room for.
pub(crate) struct Feed<I> {
    threads: Vec<SyncSender<I>>,
    next: usize,
}

impl<I> Feed<I> {
    /// Waits until there is room. Returns `false` once nobody wants any more: the feeder may stop.
    pub(crate) fn put(&mut self, thing: I) -> bool {
        let Some(thread) = self.threads.get(self.next) else { return false };
        self.next = (self.next + 1) % self.threads.len();
        thread.send(thing).is_ok()
    }
}

/// The results of the things, in their order.
pub(crate) struct Results<O> {
    threads: Vec<Receiver<O>>,
    next: usize,
}

impl<O> Iterator for Results<O> {
    type Item = O;

    fn next(&mut self) -> Option<O> {
        // The things were dealt in turns: the first thread without one is the end.
        let result = self.threads.get(self.next)?.recv().ok()?;
        self.next = (self.next + 1) % self.threads.len();
        Some(result)
    }
}

/// Works on what `feed` gives, on so many threads as the pace has, and as patiently, while `take` is given the results; what both of
/// them return. Each thread holds at most three things and results. Where `take` ends early, so do the others.
///
/// A panic of `feed` or of the work goes on in the caller.
pub(crate) fn in_order<I, O, F, T>(
    pace: ArchivePace,
    feed: impl FnOnce(&mut Feed<I>) -> F + Send,
    work: impl Fn(I) -> O + Sync,
    take: impl FnOnce(&mut Results<O>) -> T,
) -> (F, T)
where
    I: Send,
    O: Send,
    F: Send,
{
    thread::scope(|scope| {
        let (mut into, mut out) = (Vec::new(), Vec::new());
        for _ in 0..pace.threads().max(1) {
            let (put, things) = sync_channel::<I>(1);
            let (give, results) = sync_channel::<O>(1);
            let work = &work;
            scope.spawn(move || {
                pace.begin_thread();
                for thing in things {
                    if give.send(work(thing)).is_err() {
                        return;
                    }
                }
            });
            into.push(put);
            out.push(results);
        }
        let fed = scope.spawn(move || {
            pace.begin_thread();
            feed(&mut Feed { threads: into, next: 0 })
        });
        let taken = take(&mut Results { threads: out, next: 0 });
        match fed.join() {
            Ok(fed) => (fed, taken),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_things() {
        for threads in [1, 2, 3, 7] {
            let feed = |feed: &mut Feed<u64>| (0..100).all(|number| feed.put(number));
            let work = |number: u64| {
                thread::sleep(Duration::from_micros(number * 37 % 200));
                number * 2
            };
            let (fed, taken) =
                in_order(ArchivePace::Full { threads }, feed, work, |results| results.collect::<Vec<_>>());
            assert!(fed);
            assert_eq!(taken, (0..100).map(|number| number * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn who_takes_no_more_ends_the_rest() {
        let worked = AtomicUsize::new(0);
        let feed = |feed: &mut Feed<usize>| (0..1_000_000).take_while(|number| feed.put(*number)).count();
        let work = |number| {
            worked.fetch_add(1, Ordering::Relaxed);
            number
        };
        let (fed, taken) = in_order(ArchivePace::Full { threads: 2 }, feed, work, Iterator::next);
        assert_eq!(taken, Some(0));
        assert!(fed < 100 && worked.load(Ordering::Relaxed) < 100, "{fed}");
    }

    #[test]
    fn nothing_comes_of_nothing() {
        let (fed, taken) =
            in_order(ArchivePace::Background, |_: &mut Feed<()>| 7, |()| (), |results| results.count());
        assert_eq!((fed, taken), (7, 0));
    }
}
