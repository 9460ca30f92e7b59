//! The thread that owns the store of a ledger's read models: opens, checks, folds and closes it.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle, ScopedJoinHandle};

use bitacora_formats::ModelCursor;
use bitacora_ledger::{OpenMode, ReadError};
use tokio::runtime::Builder;

use super::ReadModelsInner;
use super::clean_close::{CleanClose, remove_all};
use super::fold::Fold;
use super::manifests;
use super::model_tree::Build;
use super::published_model::PublishedModel;
use super::store::{RowIntegrityError, Store, guarded};
use super::worker::{ReadFailures, Worker};
use crate::limits::{FOLD_THREADS, MAX_STORE_DEPTH, RETRY_PAUSE};

/// Starts the thread.
pub(crate) fn start(inner: &Arc<ReadModelsInner>) -> io::Result<JoinHandle<()>> {
    let inner = Arc::clone(inner);
    thread::Builder::new().name("bitacora-models".to_owned()).spawn(move || {
        while !inner.is_ending() {
            let Err(integrity_error) = session(&inner) else { break };
            // Rows that were not settled by then are looked through by the next opening.
            if inner.ends_for_good() {
                break;
            }
            tracing::warn!(%integrity_error, "the store of read models is closed and opened again");
            for published in &inner.published {
                published.hide();
                published.set_failure(Some(&integrity_error.to_string()));
            }
            if !integrity_error.is_of_the_machine() {
                move_aside(&inner);
            }
            inner.pause(RETRY_PAUSE);
        }
    })
}

/// One opening of the store, up to the end or to a failure of it.
fn session(inner: &ReadModelsInner) -> Result<(), RowIntegrityError> {
    make_folder(inner);
    let close = CleanClose {
        environment: &inner.environment,
        store: &inner.folder,
        note: inner.folder.with_extension("clean"),
        key: &inner.key,
    };
    let is_clean = close.take();
    let store = open_store(inner, is_clean)?;
    let ended = fold_all(inner, &store, is_clean);
    for published in &inner.published {
        published.hide();
    }
    let is_settled = ended.is_ok() && store.settle().unwrap_or_default();
    drop(store);
    ended?;
    if is_settled {
        empty_journal(inner);
    }
    // Rows that nobody had time to fold again are found by looking through all of them.
    if inner.published.iter().any(|published| published.is_suspect()) {
        return Ok(());
    }
    // A question may still hold the store open; what it then writes does not fit the note, which costs a look at all rows.
    if let Err(error) = close.write() {
        tracing::debug!(%error, "it was not noted that the store of read models was closed");
    }
    Ok(())
}

/// Has every model folded, until the end or a failure of the store.
fn fold_all(inner: &ReadModelsInner, store: &Store, is_clean: bool) -> Result<(), RowIntegrityError> {
    let builds: Vec<(Arc<PublishedModel>, Arc<Build>)> = (inner.published.iter())
        .map(|published| Ok((Arc::clone(published), store.oldest(published.model, &inner.key)?)))
        .collect::<Result<_, RowIntegrityError>>()?;
    store.keep_only(&builds.iter().map(|(_, build)| Arc::clone(build)).collect::<Vec<_>>())?;
    let mut shares: Vec<Vec<(Arc<PublishedModel>, Arc<Build>)>> =
        (0..FOLD_THREADS).map(|_| Vec::new()).collect();
    for (number, build) in builds.into_iter().enumerate() {
        if let Some(share) = shares.get_mut(number % FOLD_THREADS) {
            share.push(build);
        }
    }
    thread::scope(|scope| {
        let threads: Vec<_> = (shares.into_iter().enumerate())
            .map(|(number, share)| {
                let named = thread::Builder::new().name(format!("bitacora-fold-{number}"));
                let started = named.spawn_scoped(scope, move || fold(inner, store, number, share, is_clean));
                started.inspect_err(|_| inner.fail())
            })
            .collect();
        let mut ended = Ok(());
        for thread in threads {
            let one = match thread.map(ScopedJoinHandle::join) {
                Ok(Ok(one)) => one,
                _ => Err(RowIntegrityError::Panic),
            };
            // A thread that only ended because another one failed has nothing to say.
            if one.is_err() && matches!(ended, Ok(()) | Err(RowIntegrityError::Interrupted)) {
                ended = one;
            }
        }
        ended
    })
}

/// Runs one folding thread's work in a session.
fn fold(
    inner: &ReadModelsInner,
    store: &Store,
    number: usize,
    share: Vec<(Arc<PublishedModel>, Arc<Build>)>,
    is_clean: bool,
) -> Result<(), RowIntegrityError> {
    let ended = guarded(|| fold_share(inner, store, number, share, is_clean));
    if ended.is_err() {
        // The others end too: the store is opened again.
        inner.fail();
    }
    ended
}

fn fold_share(
    inner: &ReadModelsInner,
    store: &Store,
    number: usize,
    share: Vec<(Arc<PublishedModel>, Arc<Build>)>,
    is_clean: bool,
) -> Result<(), RowIntegrityError> {
    let mut folds = Vec::new();
    let all = share.iter().map(|(published, _)| Arc::clone(published)).collect();
    for (published, build) in share {
        folds.push(match guarded(|| verified(inner, &build, is_clean)) {
            Ok(cursor) => Fold::new(published, build, cursor),
            Err(integrity_error)
                if integrity_error.is_of_the_store()
                    || matches!(integrity_error, RowIntegrityError::Interrupted) =>
            {
                return Err(integrity_error);
            }
            Err(integrity_error) => {
                published.count_integrity_error(&integrity_error);
                let again = store.next(published.model, &inner.key, inner.ledger.head().position)?;
                store.remove(&build)?;
                Fold::new(published, again, None)
            }
        });
    }
    let Some(wake) = inner.wakes.get(number).cloned() else { return Ok(()) };
    let Ok(waiting) = Builder::new_current_thread().enable_time().build() else {
        return Err(RowIntegrityError::Panic);
    };
    let heads = inner.ledger.watch_head();
    Worker {
        inner,
        store,
        published: all,
        folds,
        stopped: Vec::new(),
        heads,
        wake,
        waiting,
        failures: ReadFailures::default(),
        begins_after: None,
    }
    .run()
}

/// The cursor of a build whose rows are all there and of this log's history.
fn verified(
    inner: &ReadModelsInner,
    build: &Build,
    is_clean: bool,
) -> Result<Option<ModelCursor>, RowIntegrityError> {
    let cursor = build.cursor()?;
    if let Some(cursor) = &cursor {
        let ledger = &inner.ledger;
        if cursor.ledger != ledger.id() || cursor.position > ledger.head().position {
            return Err(RowIntegrityError::History);
        }
        match ledger.frame_of(cursor.position) {
            Ok(frame) => {
                // Archived frames have no chain hash any more; their tree says the same.
                let other_chain =
                    frame.previous.zip(cursor.previous).is_some_and(|(log, folded)| log != folded);
                if other_chain || frame.tree_root != cursor.tree_root {
                    return Err(RowIntegrityError::History);
                }
            }
            // Released events were read back and verified, so that no other history can have taken their place since, also while their
            // archive gives nothing.
            Err(ReadError::Archive(_)) if ledger.released_through() >= Some(cursor.position) => (),
            Err(_) => return Err(RowIntegrityError::History),
        }
    }
    if !is_clean {
        build.scrub(cursor.as_ref(), || !inner.is_ending())?;
    }
    Ok(cursor)
}

/// Opens the store, or makes one. The store ends the process where some of its own bytes are damaged, so these are looked at before. A
/// store whose opening has not come back is not opened a second time.
fn open_store(inner: &ReadModelsInner, is_clean: bool) -> Result<Store, RowIntegrityError> {
    let disk = &*inner.environment.disk;
    let opening = inner.folder.with_extension("opening");
    let came_back = !disk.exists(&opening).unwrap_or(false);
    if !came_back || !is_clean && !manifests::are_whole(disk, &inner.folder) {
        move_aside(inner);
    }
    if came_back {
        // Where this cannot be written, neither can the store.
        let _noted = disk.open(&opening, OpenMode::CreateNew);
    }
    let store = Store::open(&inner.environment.disk, &inner.folder);
    match disk.remove_file(&opening) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::debug!(%error, "it stays noted that the store of read models is being opened");
        }
        _ => {}
    }
    store
}

/// Takes away what a journal holds of which all is in tables. The file itself stays: the store begins anew without one.
fn empty_journal(inner: &ReadModelsInner) {
    let disk = &*inner.environment.disk;
    let emptied = disk.list(&inner.folder).and_then(|entries| {
        for entry in entries.iter().filter(|entry| !entry.is_folder && entry.name.ends_with(".jnl")) {
            disk.open(&inner.folder.join(&entry.name), OpenMode::Write)?.set_len(0)?;
        }
        Ok(())
    });
    if let Err(error) = emptied {
        tracing::debug!(%error, "the journal of the store of read models stays as long as it is");
    }
}

fn make_folder(inner: &ReadModelsInner) {
    let disk = &*inner.environment.disk;
    if let Some(parent) = inner.folder.parent() {
        // Where that fails, opening the store tells why.
        let _made = disk.create_folder(parent);
    }
}

/// Puts a damaged store aside, as evidence of the damage; the one before it goes.
fn move_aside(inner: &ReadModelsInner) {
    let disk = &*inner.environment.disk;
    let aside = inner.folder.with_extension("damaged");
    let moved = match remove_all(disk, &aside, MAX_STORE_DEPTH) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => disk.rename(&inner.folder, &aside),
    };
    match moved {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::error!(%error, folder = %inner.folder.display(), "a damaged store of read models could not be moved aside");
        }
        _ => tracing::warn!(folder = %aside.display(), "a damaged store of read models was moved aside"),
    }
}
