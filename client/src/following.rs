//! Following a ledger across the service's restarts: every event comes once, in order.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use bitacora_formats::After;

use crate::backoff::Backoff;
use crate::connection::{Connection, Pieces};
use crate::cursor::{Cursor, CursorError};
use crate::error::ClientError;
use crate::limits::MAX_MESSAGE_BYTES;
use crate::messages::{Messages, StreamMessage};

/// The next item of a ledger that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowItem {
    /// A stored event that matches: the service's line of NDJSON without a line feed.
    Event {
        /// The event's position.
        position: After,
        /// The line.
        line: Vec<u8>,
    },
    /// Everything durable up to this position was given, or does not match.
    CaughtUp {
        /// The position.
        position: After,
    },
    /// The connection is lost; the next call makes it again.
    Away {
        /// The reason.
        why: String,
    },
    /// The connection is back.
    Back,
}

/// The reason why following ended.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// There was no first answer, or the service refuses.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The stream ended on a lasting error.
    #[error("{what}; go on past position {position}")]
    Failed {
        /// In the service's words.
        what: String,
        /// The position up to which everything was given.
        position: After,
    },
    /// The service repeated an event that was given before.
    #[error(
        "an event at or before position {position}, which was given before; check what answers at this address"
    )]
    Repeated {
        /// The position up to which everything was given.
        position: After,
    },
    /// The cursor is not read, not kept, or of another ledger.
    #[error(transparent)]
    Cursor(#[from] CursorError),
}

/// A ledger that is followed.
pub struct FollowStream {
    connection: Connection,
    path: String,
    pieces: Option<Pieces>,
    messages: Messages,
    ready: VecDeque<StreamMessage>,
    /// The position up to which everything was given, or does not match.
    seen: After,
    /// The id of the ledger, once the service has named it.
    ledger: Option<String>,
    cursor: Option<Cursor>,
    backoff: Backoff,
    requested_pause: Option<Duration>,
    is_away: bool,
}

impl FollowStream {
    pub(crate) fn new(
        connection: Connection,
        path: &str,
        filters: &str,
        cursor: Option<Cursor>,
    ) -> Result<Self, FollowError> {
        let kept = cursor.as_ref().map(Cursor::load).transpose()?.flatten();
        let (ledger, seen) = kept.map_or((None, After::START), |(ledger, after)| (Some(ledger), after));
        let path = if filters.is_empty() { format!("{path}?") } else { format!("{path}?{filters}&") };
        Ok(Self {
            connection,
            path,
            pieces: None,
            messages: Messages::default(),
            ready: VecDeque::new(),
            seen,
            ledger,
            cursor,
            backoff: Backoff::endless(),
            requested_pause: None,
            is_away: false,
        })
    }

    /// Follows past a position, over a separate connection; `path` is the resource of the events, `filters` a query
    /// without `?`.
    ///
    /// # Errors
    /// None where no cursor is named.
    pub fn past(
        connection: Connection,
        path: &str,
        filters: &str,
        after: After,
    ) -> Result<Self, FollowError> {
        let following = Self::new(connection, path, filters, None)?;
        Ok(Self { seen: after, ..following })
    }

    /// Returns the position up to which everything was given, or does not match.
    #[must_use]
    pub fn seen(&self) -> After {
        self.seen
    }

    /// Returns `true` if something more has arrived already, so that the next call does not wait.
    #[must_use]
    pub fn has_more(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns `true` if there was an answer yet.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.ledger.is_some()
    }

    /// Returns the next item, and waits for it without a timeout. A broken connection is made again, and each event
    /// comes once.
    ///
    /// # Errors
    /// [`FollowError`]; everything given stays valid.
    pub async fn next(&mut self) -> Result<FollowItem, FollowError> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                match self.take(message)? {
                    Some(followed) => return Ok(followed),
                    None => continue,
                }
            }
            let Some(pieces) = &mut self.pieces else {
                if self.is_away {
                    let pause = self.backoff.pause(self.requested_pause.take());
                    tokio::time::sleep(pause.unwrap_or_default()).await;
                }
                match self.connect().await {
                    Ok(()) if std::mem::take(&mut self.is_away) => return Ok(FollowItem::Back),
                    Ok(()) => continue,
                    // Before the first answer nobody knows whether there is such a service at all.
                    Err(FollowError::Client(error)) if self.has_begun() && error.may_pass_later() => {
                        self.requested_pause = error.requested_pause();
                        if let Some(away) = self.away(error.to_string()) {
                            return Ok(away);
                        }
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            };
            let why = match pieces.next().await {
                Ok(Some(piece)) => {
                    self.messages.push(&piece);
                    let taken = self.messages.take().map_err(|_| self.connection.strange())?;
                    if self.messages.waiting() > MAX_MESSAGE_BYTES {
                        return Err(self.connection.strange().into());
                    }
                    self.ready.extend(taken);
                    continue;
                }
                Ok(None) => "the stream was cut".to_owned(),
                Err(error) => error.to_string(),
            };
            if let Some(away) = self.away(why) {
                return Ok(away);
            }
        }
    }

    /// Notes in the cursor that everything up to the last given event was handled. Returned `Ok` ⇒ durable.
    ///
    /// # Errors
    /// [`FollowError::Cursor`].
    pub fn handled(&self) -> Result<(), FollowError> {
        if let (Some(cursor), Some(ledger)) = (&self.cursor, &self.ledger) {
            cursor.save(ledger, self.seen)?;
        }
        Ok(())
    }

    async fn connect(&mut self) -> Result<(), FollowError> {
        let path = format!("{}after={}", self.path, self.seen);
        let last_id = self.ledger.as_ref().map(|ledger| format!("{ledger}:{}", self.seen));
        let pieces = self.connection.follow(&path, last_id.as_deref()).await?;
        let Some(ledger) = pieces.ledger_id() else { return Err(self.connection.strange().into()) };
        if let Some(cursor) = self.cursor.as_ref().filter(|_| self.ledger.as_deref() != Some(ledger)) {
            cursor.after(ledger)?;
        }
        self.ledger = Some(ledger.to_owned());
        self.messages = Messages::default();
        self.pieces = Some(pieces);
        Ok(())
    }

    fn take(&mut self, message: StreamMessage) -> Result<Option<FollowItem>, FollowError> {
        match message {
            StreamMessage::Event { position, line } => {
                // Never twice, and never back, whatever the service says.
                if position <= self.seen {
                    return Err(FollowError::Repeated { position: self.seen });
                }
                self.has_come_to(position);
                Ok(Some(FollowItem::Event { position, line }))
            }
            StreamMessage::Mark { position } => {
                self.has_come_to(position);
                Ok(None)
            }
            StreamMessage::CaughtUp { position } => {
                self.has_come_to(position);
                Ok(Some(FollowItem::CaughtUp { position }))
            }
            StreamMessage::Ending { why } => Ok(self.away(why.to_owned())),
            StreamMessage::Failed { what, is_retryable: true } => Ok(self.away(what)),
            StreamMessage::Failed { what, is_retryable: false } => {
                Err(FollowError::Failed { what, position: self.seen })
            }
            StreamMessage::Other => Ok(None),
        }
    }

    fn has_come_to(&mut self, position: After) {
        self.seen = self.seen.max(position);
        self.backoff = Backoff::endless();
    }

    /// Drops the connection; reported once.
    fn away(&mut self, why: String) -> Option<FollowItem> {
        self.pieces = None;
        self.ready.clear();
        if std::mem::replace(&mut self.is_away, true) { None } else { Some(FollowItem::Away { why }) }
    }
}

impl fmt::Debug for FollowStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowStream")
            .field("path", &self.path)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}
