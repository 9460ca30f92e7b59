//! One lane into the ledger: requests one after another, and out of each whatever the ledger will not have.

use bitacora_formats::BodyForm;

use super::batches::{Batch, Item, Place};
use crate::delivery::{Delivered, Delivery, Miss};

/// Events taken out of one request by one, before it is halved to find the others faster.
const MAX_SINGLED_OUT: usize = 16;

/// One lane.
pub(crate) struct Lane {
    pub(crate) delivery: Delivery,
}

/// What became of one request, or of a part of one.
#[derive(Debug)]
pub(crate) enum Landed {
    Acknowledged { delivered: Delivered, bytes: u64 },
    Rejected(Rejected),
}

/// An event that the ledger refuses, whatever is around it.
#[derive(Debug)]
pub(crate) struct Rejected {
    pub(crate) place: Place,
    pub(crate) id: String,
    pub(crate) code: String,
    pub(crate) reason: String,
}

impl Lane {
    /// Delivers the events, and tells of each part as it is settled. An event that is refused for what it is does not keep
    /// the others out.
    pub(crate) async fn land(&mut self, batch: Batch, told: &mut Vec<Landed>) -> Result<(), Miss> {
        let mut singled_out = 0;
        let mut waiting = vec![batch];
        while let Some(mut batch) = waiting.pop() {
            if batch.0.is_empty() {
                continue;
            }
            let body = batch.body();
            let miss = match self.delivery.deliver(BodyForm::Batch, &body).await {
                Ok(delivered) => {
                    told.push(Landed::Acknowledged { delivered, bytes: body.len() as u64 });
                    continue;
                }
                Err(miss) => miss,
            };
            let count = batch.0.len();
            let index = match miss.refused_event() {
                Some(index) if index < count => index,
                None if miss.is_about_size() && count > 1 => {
                    waiting.extend(halves(batch));
                    continue;
                }
                None if miss.is_about_size() => 0,
                _ => return Err(miss),
            };
            let Item { place, id, .. } = batch.0.remove(index);
            // Which event of the request it was says nothing to whoever has only the file.
            let (reason, of_request) = (miss.to_string(), format!("event {index}: "));
            let reason = reason.strip_prefix(&of_request).unwrap_or(&reason).to_owned();
            let code = miss.code().to_owned();
            told.push(Landed::Rejected(Rejected { place, id, code, reason }));
            singled_out += 1;
            if singled_out < MAX_SINGLED_OUT { waiting.push(batch) } else { waiting.extend(halves(batch)) }
        }
        Ok(())
    }
}

/// The second half, then the first: what is taken last goes first.
fn halves(mut batch: Batch) -> [Batch; 2] {
    let second = batch.0.split_off(batch.0.len() / 2);
    [Batch(second), batch]
}
