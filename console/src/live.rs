//! The stream of what changes, for pages that are open: types and positions alone, no contents.

mod hub;
mod messages;

use std::sync::Arc;

use bitacora_api::{CallerAnswer, paths};
use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body_util::BodyExt as _;
use http_body_util::channel::{Channel, Sender};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, interval_at};

pub(crate) use self::hub::ChangeHubs;
use crate::interface::{BoxError, InterfaceClient};
use crate::limits::{LOOK_AGAIN_EVERY, WAITING_MESSAGES};
use crate::page_error::PageError;
use crate::response::ConsoleBody;
use crate::sign_in::Session;
use crate::visit::Visit;

/// The message of a stream that missed some.
const MISSED: Bytes = Bytes::from_static(b"data: {\"position\":null,\"types\":[]}\n\n");
/// The message of a service that ends.
const CLOSING: Bytes = Bytes::from_static(b"event: ended\ndata: {}\n\n");
/// The message that keeps a connection alive.
const HEARTBEAT: Bytes = Bytes::from_static(b":\n\n");

/// Returns the stream of changes from the present head on.
///
/// # Errors
/// [`PageError::Busy`] if the session follows too often already.
pub(crate) fn changes(hubs: &ChangeHubs, visit: &Visit) -> Result<Response<ConsoleBody>, PageError> {
    let place = Arc::clone(&visit.session.streams).try_acquire_owned().map_err(|_| PageError::Busy)?;
    let changes = hubs.follow(&visit.ledger, &visit.interface);
    let (sender, body) = Channel::<Bytes, BoxError>::new(WAITING_MESSAGES);
    let follower = Follower {
        hubs: hubs.clone(),
        session: Arc::clone(&visit.session),
        ledger: visit.ledger.clone(),
        client: visit.interface.clone(),
        browser: sender,
        _place: place,
    };
    tokio::spawn(follower.run(changes));
    let mut response = Response::new(body.boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

/// One browser that follows a ledger.
struct Follower {
    hubs: ChangeHubs,
    session: Arc<Session>,
    ledger: String,
    client: InterfaceClient,
    browser: Sender<Bytes, BoxError>,
    _place: OwnedSemaphorePermit,
}

impl Follower {
    /// Passes on changes until the browser is gone, its session has ended, or its viewer may not read the ledger any more.
    async fn run(self, changes: Receiver<Bytes>) {
        let session = Arc::clone(&self.session);
        tokio::select! {
            () = session.ended() => (),
            () = self.pass_on(changes) => (),
        }
    }

    async fn pass_on(mut self, mut changes: Receiver<Bytes>) {
        let mut look = interval_at(Instant::now() + LOOK_AGAIN_EVERY, LOOK_AGAIN_EVERY);
        if self.browser.send_data(HEARTBEAT).await.is_err() {
            return;
        }
        loop {
            let message = tokio::select! {
                change = changes.recv() => match change {
                    Ok(message) => message,
                    Err(RecvError::Lagged(_)) => MISSED,
                    // The one whose token the stream was asked for with is gone.
                    Err(RecvError::Closed) if self.may_read().await => {
                        tokio::time::sleep(crate::limits::CHANGES_EVERY).await;
                        changes = self.hubs.follow(&self.ledger, &self.client);
                        MISSED
                    }
                    Err(RecvError::Closed) => return,
                },
                _ = look.tick() => if self.may_read().await { HEARTBEAT } else { return },
            };
            let is_last = message == CLOSING;
            if self.browser.send_data(message).await.is_err() || is_last {
                return;
            }
        }
    }

    async fn may_read(&self) -> bool {
        let path = paths::path(paths::CALLER, &[&self.ledger]);
        self.client.get::<CallerAnswer>(&path).await.is_ok()
    }
}
