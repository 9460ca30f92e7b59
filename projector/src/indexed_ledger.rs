//! A ledger with its index: the handle that the rooms above hold.

mod delegation;

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use bitacora_formats::{Keyring, LedgerKeys, Position};
use bitacora_ledger::{
    CloseError, Environment, EventPage, Ledger, PageBuilder, PageEnd, ReadError, ReadQuery, TakeEvent,
};

use crate::block_dir::{BlockDir, PROJECTIONS};
use crate::calls::CallsModel;
use crate::checkpoints::CheckpointsModel;
use crate::contracts::ContractsModel;
use crate::costs::CostsModel;
use crate::follower;
use crate::gaps::GapsModel;
use crate::index::{Index, IndexPiece};
use crate::learned::LearningModel;
use crate::models::{Model, ReadModels};
use crate::options::IndexOptions;
use crate::resolutions::ResolutionsModel;
use crate::runs::RunsModel;
use crate::selection::Selection;
use crate::sessions::SessionsModel;
use crate::status::IndexStatus;
use crate::stored_block::BlockIntegrityError;
use crate::tools::ToolsModel;
use crate::trust::TrustModel;

/// Every read model. They are dealt out to the folding threads in turns, in an order that gives each about as much work.
const MODELS: &[&dyn Model] = &[
    &CallsModel,
    &SessionsModel,
    &RunsModel,
    &CostsModel,
    &ResolutionsModel,
    &CheckpointsModel,
    &GapsModel,
    &TrustModel,
    &LearningModel,
    &ContractsModel,
    &ToolsModel,
];

/// Returns the names of the read models that a ledger with them keeps.
pub fn model_names() -> impl Iterator<Item = &'static str> {
    MODELS.iter().map(|model| model.name())
}

/// A ledger whose filtered reads look only at events that may match. Cheap to clone; the last clone that goes ends the
/// follower.
///
/// The ledger below answers the rest, by the methods in `delegation.rs`.
#[derive(Clone)]
pub struct IndexedLedger {
    inner: Arc<Inner>,
}

struct Inner {
    index: Arc<Index>,
    models: Option<ReadModels>,
    follower: Mutex<Option<JoinHandle<()>>>,
}

impl IndexedLedger {
    /// Takes up the index below the ledger's folder, as far as it is believed, and follows the ledger from there on: both
    /// on a thread of its own, while reads are answered.
    ///
    /// An index that cannot be kept is shown in [`Self::index_status`] and stops nothing.
    #[must_use]
    pub fn open(
        ledger: Ledger,
        environment: &Environment,
        folder: &Path,
        keyring: &Keyring,
        options: &IndexOptions,
    ) -> Self {
        let keys = LedgerKeys::new(keyring, ledger.id());
        let environment = &ledger.environment_of(folder, environment);
        let models = options.read_models.then(|| {
            let key = keys.index_key().clone();
            let recalls = options.recalls.clone().unwrap_or_default();
            ReadModels::open(ledger.clone(), environment, &folder.join(PROJECTIONS), key, MODELS, recalls)
        });
        let block_dir = BlockDir::new(environment.clone(), folder, keys.index_key().clone());
        let index = Arc::new(Index::new(ledger, block_dir, keys.index_key(), options));
        let follower = match follower::start(&index) {
            Ok(thread) => Some(thread),
            Err(error) => {
                tracing::error!(%error, "the index's follower did not start; reads go to the log itself");
                index.has_stopped();
                None
            }
        };
        Self { inner: Arc::new(Inner { index, models, follower: Mutex::new(follower) }) }
    }

    /// A page of stored events, as [`Ledger::read`] answers it. Where labels are asked for and the index knows them, only
    /// the events that carry them are looked at.
    ///
    /// # Errors
    /// As [`Ledger::read`].
    pub fn read(&self, query: &ReadQuery) -> Result<EventPage, ReadError> {
        query.collect(|query, take| self.read_each(query, take))
    }

    /// A page as [`Ledger::read_each`] gives it away, found as [`Self::read`] finds it.
    ///
    /// # Errors
    /// As [`Ledger::read_each`].
    pub fn read_each<'a>(
        &'a self,
        query: &ReadQuery,
        take: &'a mut TakeEvent<'a>,
    ) -> Result<PageEnd, ReadError> {
        let index = &*self.inner.index;
        let Some(selection) = Selection::of(&query.filter, &index.terms) else {
            return index.ledger.read_each(query, take);
        };
        let mut page = index.ledger.begin_page(query, take)?;
        while let Some(range) = page.remaining() {
            let near = if page.is_descending() { *range.end() } else { *range.start() };
            match index.piece(near) {
                IndexPiece::Stored(block) => {
                    let (low, high) = both(&range, block.first(), block.last());
                    let positions = block
                        .search(&*index.block_dir.environment().disk)
                        .and_then(|search| selection.positions(&search, block.first(), low, high));
                    look(&mut page, positions, low, high, |integrity_error| {
                        index.report_integrity_error(&block, integrity_error);
                    })?;
                }
                IndexPiece::Open => {
                    let asked = index.ask_open(near, |open| {
                        let (low, high) = both(&range, open.first(), open.last().unwrap_or(near));
                        (selection.positions(open, open.first(), low, high), low, high)
                    });
                    // Stored in between: the next look finds it there.
                    let Some((positions, low, high)) = asked else { continue };
                    look(&mut page, positions, low, high, |_| {})?;
                }
                IndexPiece::Unknown(unknown) => {
                    let (low, high) = both(&range, *unknown.start(), *unknown.end());
                    page.scan(if page.is_descending() { low } else { high })?;
                }
            }
        }
        Ok(page.finish())
    }

    /// Returns the status of the index.
    #[must_use]
    pub fn index_status(&self) -> IndexStatus {
        self.inner.index.status()
    }

    /// Has the index forget the content of these events, which was removed from archives. Their blocks are made again in the background.
    pub fn expire(&self, range: RangeInclusive<Position>) {
        self.inner.index.forget(range);
    }

    /// The read models, where [`IndexOptions::read_models`] asked for them.
    #[must_use]
    pub fn read_models(&self) -> Option<&ReadModels> {
        self.inner.models.as_ref()
    }

    /// Ends the followers, which store what they hold, and closes the ledger. Does nothing the second time.
    ///
    /// # Errors
    /// As [`Ledger::close`].
    pub fn close(&self) -> Result<(), CloseError> {
        self.inner.end_followers();
        self.inner.index.ledger.close()
    }
}

/// Returns the part of `range` between two positions.
fn both(range: &RangeInclusive<Position>, low: Position, high: Position) -> (Position, Position) {
    (low.max(*range.start()), high.min(*range.end()))
}

/// Shows the page what was found from `low` to `high`; where that is in doubt, all of it is looked at.
fn look(
    page: &mut PageBuilder<'_>,
    positions: Result<Vec<Position>, BlockIntegrityError>,
    low: Position,
    high: Position,
    report: impl FnOnce(&BlockIntegrityError),
) -> Result<(), ReadError> {
    let bound = if page.is_descending() { low } else { high };
    match positions {
        Ok(positions) => page.pick(&positions, bound),
        Err(found) => {
            report(&found);
            page.scan(bound)
        }
    }
}

impl Inner {
    fn end_followers(&self) {
        self.index.end();
        if let Some(models) = &self.models {
            models.end();
        }
        let follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner).take();
        if follower.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the index's follower did not end as it should");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end_followers();
    }
}
