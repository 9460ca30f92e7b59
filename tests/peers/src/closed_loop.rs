//! The closed loop that drives every store: a client sends its next request after the last answer.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::PeerError;
use crate::events::{PeerEvent, Source};
use crate::results::Appends;

/// Clients, and events that each sends at once.
#[derive(Debug, Clone, Copy)]
pub struct LoadShape {
    pub clients: usize,
    pub events: usize,
}

/// The duration of a run, and of the warm-up that does not count.
#[derive(Debug, Clone, Copy)]
pub struct Loop {
    pub warm_up: Duration,
    pub measured: Duration,
}

/// A connection. Returned `Ok` ⇒ the store says that all of the events are synced.
pub trait PeerClient: Send + 'static {
    fn append(&mut self, events: Vec<PeerEvent>) -> impl Future<Output = Result<(), PeerError>> + Send;
}

/// A client that blocks its thread.
pub trait BlockingClient: Send {
    fn append(&mut self, events: Vec<PeerEvent>) -> Result<(), PeerError>;
}

/// Answers as they come.
struct AnswerTimes {
    from: Instant,
    until: Instant,
    times_us: Mutex<Vec<u32>>,
}

impl AnswerTimes {
    fn begin(times: &Loop) -> Arc<Self> {
        let from = Instant::now() + times.warm_up;
        Arc::new(Self { from, until: from + times.measured, times_us: Mutex::default() })
    }

    fn add(&self, began: Instant) {
        let ended = Instant::now();
        if began >= self.from && ended <= self.until {
            let us = u32::try_from((ended - began).as_micros()).unwrap_or(u32::MAX);
            self.times_us.lock().expect("nobody panics with it").push(us);
        }
    }

    fn appends(&self, shape: LoadShape) -> Result<Appends, PeerError> {
        let mut times = self.times_us.lock().expect("nobody panics with it").clone();
        if times.is_empty() {
            return Err("no answer within the time".into());
        }
        times.sort_unstable();
        let at = |per_mille: usize| times[(times.len() - 1) * per_mille / 1_000];
        let seconds = (self.until - self.from).as_secs_f64();
        Ok(Appends {
            clients: shape.clients,
            events: shape.events,
            events_per_s: (times.len() * shape.events) as f64 / seconds,
            p50_us: at(500),
            p99_us: at(990),
            max_us: at(1_000),
        })
    }
}

impl Loop {
    /// Drives clients on an event loop with as many threads as there are cores.
    pub async fn drive<C: PeerClient>(
        &self,
        shape: LoadShape,
        clients: Vec<C>,
    ) -> Result<Appends, PeerError> {
        let counted = AnswerTimes::begin(self);
        let mut running = tokio::task::JoinSet::new();
        for (number, mut client) in clients.into_iter().enumerate() {
            let counted = Arc::clone(&counted);
            running.spawn(async move {
                let mut source = Source::new(number, shape.clients);
                while Instant::now() < counted.until {
                    let events = source.events(shape.events);
                    let began = Instant::now();
                    client.append(events).await?;
                    counted.add(began);
                }
                Ok::<_, PeerError>(())
            });
        }
        while let Some(ended) = running.join_next().await {
            ended??;
        }
        counted.appends(shape)
    }

    /// Drives clients on a thread each.
    pub fn drive_threads<C: BlockingClient>(
        &self,
        shape: LoadShape,
        clients: Vec<C>,
    ) -> Result<Appends, PeerError> {
        let counted = AnswerTimes::begin(self);
        thread::scope(|scope| {
            let running: Vec<_> = clients
                .into_iter()
                .enumerate()
                .map(|(number, mut client)| {
                    let counted = Arc::clone(&counted);
                    scope.spawn(move || {
                        let mut source = Source::new(number, shape.clients);
                        while Instant::now() < counted.until {
                            let events = source.events(shape.events);
                            let began = Instant::now();
                            client.append(events)?;
                            counted.add(began);
                        }
                        Ok::<_, PeerError>(())
                    })
                })
                .collect();
            running.into_iter().try_for_each(|thread| thread.join().expect("a client does not panic"))
        })?;
        counted.appends(shape)
    }
}

/// An event loop as the stores' own clients have it.
pub fn event_loop() -> Result<tokio::runtime::Runtime, PeerError> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}
