//! A lane into the ledger: sends requests in order, and takes out events that the ledger refuses.

use std::sync::{Arc, Mutex, PoisonError};

use bitacora_formats::limits::MAX_REQUEST_EVENTS;

use super::append_channel::{Acknowledgement, AppendChannel, AppendMiss};
use super::batches::{EventBatch, Item, RecordLocation};

/// The most events that are singled out of one request before it is halved to find the others faster.
const MAX_SINGLED_OUT: usize = 16;
/// The number of events of an import's first requests: few enough for the ledger to derive a decision and an outcome from each.
const FIRST_REQUEST_EVENTS: usize = 200;
/// The number of accepted requests before a larger one is tried, once one was refused.
const TAKEN_BEFORE_MORE: u32 = 64;

/// One lane.
pub(crate) struct Lane<C> {
    channel: C,
    size: SharedRequestSize,
}

/// The request size shared by all lanes of an import: what one has learnt holds for all.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedRequestSize(Arc<Mutex<RequestSize>>);

impl SharedRequestSize {
    fn most(&self) -> usize {
        self.change(|size| size.most)
    }

    fn change<T>(&self, change: impl FnOnce(&mut RequestSize) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The number of events of a request, learnt from refusals: it depends on how much the ledger derives from the events.
#[derive(Debug)]
struct RequestSize {
    most: usize,
    /// The number of accepted requests of that size since it was set.
    taken: u32,
    /// The number of requests that have to be accepted before a larger one is tried.
    patience: u32,
}

impl Default for RequestSize {
    fn default() -> Self {
        Self { most: FIRST_REQUEST_EVENTS, taken: 0, patience: 1 }
    }
}

impl RequestSize {
    /// Notes that a request of `refused` events was too large. Each refusal costs all the work on its events.
    fn shrink(&mut self, refused: usize) {
        // Requests of a size that is given up may still be under way: their refusal says nothing new.
        let most = self.most.min((refused / 2).max(1));
        *self = Self { most, taken: 0, patience: TAKEN_BEFORE_MORE };
    }

    /// Notes that a request of this many events was accepted. A larger size is tried after several of the largest.
    fn grow(&mut self, events: usize) {
        if events < self.most {
            return;
        }
        self.taken += 1;
        if self.taken >= self.patience {
            *self = Self { most: (self.most * 2).min(MAX_REQUEST_EVENTS), taken: 0, ..*self };
        }
    }
}

/// The result of one request, or of a part of one.
#[derive(Debug)]
pub(crate) enum LaneOutcome {
    /// The request was acknowledged.
    Acknowledged {
        /// The ledger's acknowledgement.
        acknowledgement: Acknowledgement,
        /// The size of the request.
        bytes: u64,
    },
    /// An event was refused.
    Rejected(RejectedEvent),
}

/// An event that the ledger refuses, independently of the other events.
#[derive(Debug)]
pub struct RejectedEvent {
    /// The place of its record.
    pub location: RecordLocation,
    /// Its id.
    pub id: String,
    /// The ledger's code of the refusal.
    pub code: String,
    /// The reason, for people.
    pub reason: String,
}

impl<C: AppendChannel> Lane<C> {
    /// Returns a lane that shares the learnt request size.
    pub(crate) fn new(channel: C, size: SharedRequestSize) -> Self {
        Self { channel, size }
    }

    /// Returns the number of retries, of requests that met a busy ledger or whose outcome was unknown.
    pub(crate) fn retries(&self) -> u64 {
        self.channel.retries()
    }

    /// Delivers the events, and reports each part once it is settled. An event that is refused because of its content
    /// does not keep the others out.
    pub(crate) async fn land(
        &mut self,
        batch: EventBatch,
        outcomes: &mut Vec<LaneOutcome>,
    ) -> Result<(), C::Miss> {
        let mut singled_out = 0;
        let mut waiting = vec![batch];
        while let Some(mut batch) = waiting.pop() {
            if batch.0.is_empty() {
                continue;
            }
            let most = self.size.most();
            if batch.0.len() > most {
                // The batch pushed last is taken first.
                let rest = batch.0.split_off(most);
                waiting.extend([EventBatch(rest), batch]);
                continue;
            }
            let body = batch.body();
            let bytes = body.len() as u64;
            let miss = match self.channel.append(body).await {
                Ok(acknowledgement) => {
                    outcomes.push(LaneOutcome::Acknowledged { acknowledgement, bytes });
                    self.size.change(|size| size.grow(batch.0.len()));
                    continue;
                }
                Err(miss) => miss,
            };
            let count = batch.0.len();
            let index = match miss.refused_event() {
                Some(index) if index < count => index,
                None if miss.is_about_size() && count > 1 => {
                    self.size.change(|size| size.shrink(count));
                    waiting.push(batch);
                    continue;
                }
                None if miss.is_about_size() => 0,
                _ => return Err(miss),
            };
            let Item { location, id, .. } = batch.0.remove(index);
            // The event's number in the request means nothing to a user who has only the file.
            let (reason, of_request) = (miss.to_string(), format!("event {index}: "));
            let reason = reason.strip_prefix(&of_request).unwrap_or(&reason).to_owned();
            let code = miss.code().to_owned();
            outcomes.push(LaneOutcome::Rejected(RejectedEvent { location, id, code, reason }));
            singled_out += 1;
            if singled_out < MAX_SINGLED_OUT { waiting.push(batch) } else { waiting.extend(halves(batch)) }
        }
        Ok(())
    }
}

/// Returns the second half, then the first: the last one is taken first.
fn halves(mut batch: EventBatch) -> [EventBatch; 2] {
    let second = batch.0.split_off(batch.0.len() / 2);
    [EventBatch(second), batch]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the accepted and refused requests for this many batches of 1,000 events, where a request of more than `fits` is refused.
    fn requests(batches: usize, fits: usize) -> (usize, usize) {
        let (mut size, mut taken, mut refused) = (RequestSize::default(), 0, 0);
        for _ in 0..batches {
            let mut left = MAX_REQUEST_EVENTS;
            while left > 0 {
                let events = left.min(size.most);
                if events > fits {
                    refused += 1;
                    size.shrink(events);
                } else {
                    (taken, left) = (taken + 1, left - events);
                    size.grow(events);
                }
            }
        }
        (taken, refused)
    }

    #[test]
    fn what_is_too_large_is_learnt_and_not_tried_with_every_batch() {
        // 200, 400 and 400 events of the first batch, 800 and 200 of the second, then whole batches.
        assert_eq!(requests(20, MAX_REQUEST_EVENTS), (23, 0));
        let (taken, refused) = requests(20, 250);
        assert!(taken <= 101 && refused <= 2, "{taken} taken, {refused} refused");
        let (taken, refused) = requests(20, 130);
        assert!(taken <= 201 && refused <= 4, "{taken} taken, {refused} refused");
        let (_, refused) = requests(1, 1);
        assert!(refused <= 7 + 1_000 / TAKEN_BEFORE_MORE as usize, "{refused} refused");
    }

    #[test]
    fn what_one_lane_has_learnt_holds_for_all_and_is_learnt_once() {
        let one = SharedRequestSize::default();
        let other = one.clone();
        one.change(|size| size.grow(FIRST_REQUEST_EVENTS));
        assert_eq!(other.most(), 2 * FIRST_REQUEST_EVENTS);
        // Both had a request of that size under way.
        one.change(|size| size.shrink(2 * FIRST_REQUEST_EVENTS));
        other.change(|size| size.shrink(2 * FIRST_REQUEST_EVENTS));
        assert_eq!(one.most(), FIRST_REQUEST_EVENTS);
        // The ends of batches say nothing of requests as large as that.
        (0..2 * TAKEN_BEFORE_MORE).for_each(|_| one.change(|size| size.grow(FIRST_REQUEST_EVENTS - 1)));
        assert_eq!(one.most(), FIRST_REQUEST_EVENTS);
        (0..TAKEN_BEFORE_MORE).for_each(|_| one.change(|size| size.grow(FIRST_REQUEST_EVENTS)));
        assert_eq!(other.most(), 2 * FIRST_REQUEST_EVENTS);
    }
}
