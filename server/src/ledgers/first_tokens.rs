//! The first admin token of a ledger without tokens, made before anybody is served, unless it is open.

use std::error::Error;
use std::io;
use std::sync::Arc;

use bitacora_formats::{Data, Event, Json, LedgerName};
use bitacora_ledger::{AppendError, AppendRequest, Entropy, Ledger};
use bitacora_vocabulary::{BoundedText, EventData, Name, PrincipalCreated, Role, Sha256Text};

use crate::ledgers::slot::is_closed;

/// The source of events about principals, as the command line writes them.
const SOURCE: &str = "urn:bitacora:token";
/// Their stream.
const STREAM: &str = "principals";
/// The owner of folder and keyring, as events name it.
const OWNER: &str = "admin:local";
/// The name of the principal that a first start makes.
const FIRST_ADMIN: &str = "first admin";
/// Bytes of a random id.
const ID_BYTES: usize = 8;

/// Rule for ledgers that have no tokens.
#[derive(Clone)]
pub enum Admission {
    /// Every caller shows a token. A ledger without tokens is given its first admin when it opens.
    Tokens(Arc<dyn FirstTokens>),
    /// Every caller on this machine is admin of each ledger without tokens. The service listens on loopback and Unix sockets alone.
    Open,
}

/// Source of the first admin's token of a ledger.
pub trait FirstTokens: Send + Sync {
    /// Finds the token of the first admin, or makes it and puts it where its owner finds it. Returned ⇒ it is durable there.
    ///
    /// # Errors
    /// [`FirstTokenError`]; the service does not start then.
    fn first_token(&self, ledger: &LedgerName) -> Result<FirstToken, FirstTokenError>;
}

/// Traces of a first token. The token itself never reaches the service.
#[derive(Debug, Clone)]
pub struct FirstToken {
    /// SHA-256 of the token.
    pub hash: Sha256Text,
    /// The place where its owner finds it.
    pub place: String,
}

/// The reason for which there is no first token.
#[derive(Debug, thiserror::Error)]
#[error("no admin token: {0}")]
pub struct FirstTokenError(#[source] pub Box<dyn Error + Send + Sync>);

/// The reason for which a ledger stays without a first admin. It is closed to all callers without the folder.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FirstAdminError {
    #[error(transparent)]
    Token(#[from] FirstTokenError),
    #[error("the system gives no random bytes: {0}")]
    Random(io::Error),
    #[error("its first admin cannot be recorded: {0}; the next start tries again")]
    Append(#[from] AppendError),
}

/// Gives a ledger its first admin, if it has no tokens. Returned `Ok` ⇒ durable.
pub(crate) fn give_first_admin(
    name: &LedgerName,
    ledger: &Ledger,
    entropy: &dyn Entropy,
    tokens: &dyn FirstTokens,
) -> Result<(), FirstAdminError> {
    if is_closed(ledger) || ledger.governance().is_none() {
        return Ok(());
    }
    // Before the event: a crash in between leaves a token that the next start takes again.
    let FirstToken { hash, place } = tokens.first_token(name)?;
    let admin = PrincipalCreated {
        principal: random_id(entropy).map_err(FirstAdminError::Random)?,
        role: Role::Admin,
        name: BoundedText::new(FIRST_ADMIN).ok(),
        agent: None,
        token_hash: hash,
        expires: None,
    };
    record_admin(ledger, OWNER, &admin)?;
    tracing::info!(ledger = %name, file = %place, "the ledger has its first admin; the token is in the file");
    Ok(())
}

/// Records a principal as the first of a ledger. Returned `Ok` ⇒ durable.
pub(crate) fn record_admin(
    ledger: &Ledger,
    actor: &str,
    admin: &PrincipalCreated,
) -> Result<(), AppendError> {
    let id = admin.principal.to_string();
    let mut event = Event::new(id, SOURCE, PrincipalCreated::KIND, STREAM);
    event.actor = Some(actor.into());
    // Data that was read from a ledger, or made of texts that fit, is JSON that fits.
    let json = serde_json::to_vec(admin).ok().and_then(|bytes| Json::check(bytes).ok());
    event.data = json.map_or(Data::None, Data::Json);
    ledger.append_ahead(AppendRequest::of(vec![event]))?.wait().map(|_| ())
}

/// A principal's id that no other one has.
fn random_id(entropy: &dyn Entropy) -> io::Result<Name> {
    let mut bits = [0; ID_BYTES];
    entropy.fill(&mut bits)?;
    let id = bits.iter().fold("p-".to_owned(), |id, byte| format!("{id}{byte:02x}"));
    BoundedText::new(&id).map_err(io::Error::other)
}
