//! Following a service, across its restarts: every event is shown once, in order.

use std::time::Duration;

use bitacora_formats::After;

use super::messages::{Message, Messages};
use super::shown::Shown;
use super::{TailFailure, tell};
use crate::client::{Client, ClientError, Pieces, Refusal};
use crate::commands::read::MAX_LINE_BYTES;
use crate::error::CommandError;
use crate::output::printable;

/// The pause before the first try to come back; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// No pause is longer.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// A service that is followed.
pub(super) struct Following {
    client: Client,
    path: String,
    /// Everything up to here was shown, or does not match.
    seen: After,
    /// Which ledger it is, once it has said so.
    ledger: Option<String>,
    until_caught_up: bool,
    pause: Duration,
    /// Whether somebody was told that the service is gone.
    is_gone: bool,
}

/// How a stream ended.
enum End {
    CaughtUp,
    /// To be begun again, and why.
    Broken(String),
}

impl Following {
    pub(super) fn new(client: Client, path: String, after: After, until_caught_up: bool) -> Self {
        Self { client, path, seen: after, ledger: None, until_caught_up, pause: FIRST_PAUSE, is_gone: false }
    }

    pub(super) async fn go_on(mut self, shown: &mut Shown<'_>) -> Result<(), CommandError> {
        loop {
            let why = match self.connect().await {
                Ok(pieces) => match self.show(pieces, shown).await? {
                    End::CaughtUp => return Ok(()),
                    End::Broken(why) => why,
                },
                // Before the first answer nobody knows whether there is such a service at all.
                Err(error) if self.ledger.is_none() || !is_passing(&error) => {
                    return Err(self.failure(error).into());
                }
                Err(error) => error.to_string(),
            };
            if !self.is_gone {
                self.is_gone = true;
                tell(&format!("{why}; coming back past position {}", self.seen));
            }
            tokio::time::sleep(self.pause).await;
            self.pause = (2 * self.pause).min(MAX_PAUSE);
        }
    }

    async fn connect(&mut self) -> Result<Pieces, ClientError> {
        let path = format!("{}&after={}", self.path, self.seen);
        let last_id = self.ledger.as_ref().map(|ledger| format!("{ledger}:{}", self.seen));
        let pieces = self.client.follow(&path, last_id.as_deref()).await?;
        let Some(ledger) = pieces.ledger_id() else { return Err(self.client.strange()) };
        self.ledger.get_or_insert_with(|| ledger.to_owned());
        Ok(pieces)
    }

    async fn show(&mut self, mut pieces: Pieces, shown: &mut Shown<'_>) -> Result<End, CommandError> {
        let mut messages = Messages::default();
        loop {
            let piece = match pieces.next().await {
                Ok(Some(piece)) => piece,
                Ok(None) => return Ok(End::Broken("the stream was cut".to_owned())),
                Err(error) => return Ok(End::Broken(error.to_string())),
            };
            messages.push(&piece);
            let taken = messages.take().map_err(|_| self.failure(self.client.strange()))?;
            if messages.waiting() > MAX_LINE_BYTES {
                return Err(self.failure(self.client.strange()).into());
            }
            for message in taken {
                if let Some(end) = self.show_message(message, shown)? {
                    shown.output.flush()?;
                    return Ok(end);
                }
            }
            shown.output.flush()?;
        }
    }

    fn show_message(&mut self, message: Message, shown: &mut Shown<'_>) -> Result<Option<End>, CommandError> {
        match message {
            Message::Event { position, mut line } => {
                // Never twice, and never back, whatever the service says.
                if position <= self.seen {
                    return Err(self.failure(self.client.strange()).into());
                }
                line.push(b'\n');
                shown.event(&line)?;
                self.has_come_to(position);
            }
            Message::Mark { position } => self.has_come_to(position),
            Message::CaughtUp { position } => {
                self.has_come_to(position);
                if self.until_caught_up {
                    return Ok(Some(End::CaughtUp));
                }
            }
            Message::Ending { why } => return Ok(Some(End::Broken(why.to_owned()))),
            Message::Failed { what, is_retryable: true } => return Ok(Some(End::Broken(printable(&what)))),
            Message::Failed { what, is_retryable: false } => {
                return Err(TailFailure::OnTheWay { what: printable(&what), position: self.seen }.into());
            }
            Message::Other => (),
        }
        Ok(None)
    }

    fn has_come_to(&mut self, position: After) {
        self.seen = self.seen.max(position);
        self.pause = FIRST_PAUSE;
        if self.is_gone {
            self.is_gone = false;
            tell("the service is back");
        }
    }

    fn failure(&self, source: ClientError) -> TailFailure {
        if self.ledger.is_none() {
            return source.into();
        }
        TailFailure::Ended { position: self.seen, source }
    }
}

/// Whether it may be over by the next try.
fn is_passing(error: &ClientError) -> bool {
    match error {
        ClientError::Connect { .. } | ClientError::Broken { .. } | ClientError::Late { .. } => true,
        ClientError::Strange { .. } => false,
        ClientError::Refused(Refusal { problem, .. }) => problem.retryable,
    }
}
