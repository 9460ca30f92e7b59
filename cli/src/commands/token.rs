//! `token`: creates, lists and revokes tokens.
//! A token is shown once; the ledger gets its hash alone.

use std::collections::BTreeMap;
use std::io;

use bitacora_data_folder::{generate_token, token_hash};
use bitacora_formats::{After, BodyForm, Data, Micros, format_time};
use bitacora_ledger::{
    Clock, CloseError, Entropy, Filter, Ledger, ReadError, ReadFrom, ReadQuery, SystemClock, SystemEntropy,
};
use bitacora_vocabulary::{
    BoundedText, EventData, Name, PrincipalCreated, PrincipalExpired, PrincipalRevoked, Role, TextError,
};
use clap::{Subcommand, ValueEnum};
use hyper::body::Bytes;
use rustix::fs::{FileType, Mode, fchmod, fstat};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::ledger_access::access::{Access, event_loop};
use crate::ledger_access::append_retry::{Delivery, Miss};
use crate::ledger_access::event_page::EventPage;
use crate::ledger_access::token_advice::token_advice;
use crate::options::global::Global;
use crate::options::time::EndTime;
use crate::terminal::output::{Output, printable};
use crate::terminal::table::{TextTable, to_the_second};
use bitacora_client::{ClientError, Connection, Refusal, Token};
use bitacora_import::EventDraft;

/// The source of these events.
const SOURCE: &str = "urn:bitacora:token";
/// The stream of these events.
const STREAM: &str = "principals";
/// The mode bits that give anybody but a file's owner access.
const OTHERS_BITS: u32 = 0o077;
/// The number of events of a page.
const PAGE_EVENTS: usize = 1_000;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and show it once: `token create --role agent --agent coder > coder.token`; `serve` creates a ledger's first, an admin's.
    Create {
        /// The role of its holder.
        #[arg(long, value_enum)]
        role: RoleArgument,
        /// The agent's name, for role agent; it stands in all events that the agent writes.
        #[arg(long, value_name = "NAME", required_if_eq("role", "agent"))]
        agent: Option<String>,
        /// A description of its holder.
        #[arg(long, value_name = "WORDS")]
        name: Option<String>,
        /// The lifetime, or its end: 12h, 30d, 2026-12-24. [default: until it is revoked]
        #[arg(long, value_name = "TIME")]
        expires: Option<EndTime>,
    },
    /// List the holders of tokens; the tokens themselves cannot be shown.
    List,
    /// Revoke the tokens of this principal.
    Revoke {
        /// The principal's id, as `token list` shows it.
        principal: String,
        /// The reason.
        #[arg(long, value_name = "WORDS")]
        note: Option<String>,
    },
}

/// The role of a token's holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleArgument {
    /// Read, append, and ask before calls.
    Agent,
    /// Also govern agents.
    Operator,
    /// Also govern the ledger.
    Admin,
    /// Only read.
    Auditor,
    /// Only collect the metrics of the service.
    Metrics,
}

/// The reason why there is no new token, or no list of them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenFailure {
    #[error("the system gives no random bytes: {0}; nothing was changed")]
    Random(io::Error),
    #[error(
        "others may read the file that the token is written to, and its mode cannot be changed: {0}; nothing was made"
    )]
    Output(io::Error),
    #[error("{what}: {source}; nothing was changed")]
    Text { what: &'static str, source: TextError },
    #[error("{0}")]
    Missed(Box<Miss>),
    #[error("{0}{advice}", advice = token_advice(.0))]
    Client(#[from] ClientError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Close(#[from] CloseError),
    #[error("an event cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
}

impl CommandFailure for TokenFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Missed(miss) => miss.exit(),
            Self::Client(ClientError::Refused(Refusal { problem, .. }))
                if matches!(problem.status, 401 | 403) =>
            {
                Exit::Refused
            }
            Self::Text { .. } => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}

pub(crate) fn run(
    command: &TokenCommand,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match command {
        TokenCommand::Create { role, agent, name, expires } => {
            close_output_to_others().map_err(TokenFailure::Output)?;
            let token = generate_token().map_err(TokenFailure::Random)?;
            let holder = NewHolder {
                role: role.role(),
                name: name.as_deref(),
                agent: agent.as_deref(),
                expires: expires.map(|end| end.0.0),
            };
            let created = create(global, &token, &holder)?;
            if global.json {
                output.json(&json!({"principal": created.principal, "actor": created.actor(), "token": token.reveal()}))?;
            } else {
                output.line(token.reveal())?;
            }
        }
        TokenCommand::Revoke { principal, note } => {
            let position = revoke(global, principal, note.as_deref())?;
            if global.json {
                output.json(&json!({"position": position}))?;
            } else {
                output.line(format_args!("recorded at position {}", printable(&position)))?;
            }
        }
        TokenCommand::List => list(global, output)?,
    }
    Ok(Exit::Done)
}

/// The holder of a new token.
pub(crate) struct NewHolder<'a> {
    pub(crate) role: Role,
    pub(crate) name: Option<&'a str>,
    pub(crate) agent: Option<&'a str>,
    /// The end of the token's life, microseconds since 1970.
    pub(crate) expires: Option<u64>,
}

/// Records the holder of a token.
pub(crate) fn create(
    global: &Global,
    token: &Token,
    holder: &NewHolder<'_>,
) -> Result<PrincipalCreated, CommandError> {
    create_as(global, &new_principal()?, token, holder)
}

/// Returns a new id of a holder.
pub(crate) fn new_principal() -> Result<String, CommandError> {
    Ok(principal_id().map_err(TokenFailure::Random)?)
}

/// Records the holder of a token under an id.
pub(crate) fn create_as(
    global: &Global,
    principal: &str,
    token: &Token,
    holder: &NewHolder<'_>,
) -> Result<PrincipalCreated, CommandError> {
    let created = PrincipalCreated {
        principal: text("id", principal)?,
        role: holder.role,
        name: holder.name.map(|name| text("--name", name)).transpose()?,
        agent: holder.agent.map(|agent| text("--agent", agent)).transpose()?,
        token_hash: token_hash(token),
        expires: holder.expires,
    };
    append(global, &created)?;
    Ok(created)
}

/// Revokes the tokens of a holder; returns the position of the record.
pub(crate) fn revoke(global: &Global, principal: &str, note: Option<&str>) -> Result<String, CommandError> {
    let note = note.map(|note| text("--note", note)).transpose()?;
    append(global, &PrincipalRevoked { principal: text("the principal", principal)?, note })
}

/// Returns `true` if a holder was not revoked because there is none any more.
pub(crate) fn is_no_holder(error: &CommandError) -> bool {
    is_refused(error, 404)
}

/// Returns `true` if the token that asked is none of an admin.
pub(crate) fn is_forbidden(error: &CommandError) -> bool {
    is_refused(error, 403)
}

fn is_refused(error: &CommandError, status: u16) -> bool {
    let failure = error.source().and_then(|error| error.downcast_ref::<TokenFailure>());
    let Some(TokenFailure::Missed(miss)) = failure else { return false };
    matches!(&**miss, Miss::Client(ClientError::Refused(refusal)) if refusal.problem.status == status)
}

/// Restricts the file behind a shell's `>` to its owner, before a token is written into it: a shell lets others read it.
fn close_output_to_others() -> io::Result<()> {
    let output = io::stdout();
    let found = fstat(&output)?;
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    if is_file && found.st_mode & OTHERS_BITS != 0 {
        fchmod(&output, Mode::RUSR | Mode::WUSR)?;
    }
    Ok(())
}

impl RoleArgument {
    fn role(self) -> Role {
        match self {
            Self::Agent => Role::Agent,
            Self::Operator => Role::Operator,
            Self::Admin => Role::Admin,
            Self::Auditor => Role::Auditor,
            Self::Metrics => Role::Metrics,
        }
    }
}

fn text<const MAX: usize>(what: &'static str, text: &str) -> Result<BoundedText<MAX>, TokenFailure> {
    BoundedText::new(text).map_err(|source| TokenFailure::Text { what, source })
}

/// Returns a new random id of 64 bits.
fn principal_id() -> io::Result<String> {
    let mut bits = [0; 8];
    SystemEntropy.fill(&mut bits)?;
    Ok(format!("p-{}", hex::encode(bits)))
}

/// Appends one event as an admin, or as the owner of the folder; returns its position.
fn append<T: EventData>(global: &Global, data: &T) -> Result<String, CommandError> {
    let draft = EventDraft {
        id: principal_id().map_err(TokenFailure::Random)?,
        source: SOURCE.to_owned(),
        kind: T::KIND.into(),
        stream: STREAM.to_owned(),
        data: serde_json::to_string(data).map_err(TokenFailure::from)?,
        ..EventDraft::default()
    };
    let access = Access::open(global)?;
    let mut delivery = Delivery::new(&access, &global.ledger, None);
    let body = Bytes::from(draft.to_json());
    let delivered = event_loop()?.block_on(delivery.deliver(BodyForm::Structured, &body));
    drop(delivery);
    let closed = access.end();
    let delivered = delivered.map_err(|miss| TokenFailure::Missed(Box::new(miss)))?;
    closed.map_err(TokenFailure::from)?;
    Ok(delivered.receipts.into_iter().next().map(|receipt| receipt.position).unwrap_or_default())
}

/// The holders of tokens, by id.
pub(crate) type PrincipalsById = BTreeMap<Name, PrincipalCreated>;

/// A holder of a token, as it is shown to programs.
#[derive(Serialize)]
struct PrincipalRow {
    #[serde(flatten)]
    principal: PrincipalCreated,
    actor: String,
    expired: bool,
}

/// Returns the holders of tokens.
pub(crate) fn holders(global: &Global) -> Result<PrincipalsById, CommandError> {
    Ok(fold(&principal_events(global)?))
}

/// Reads the events that say who has a token.
fn principal_events(global: &Global) -> Result<Vec<(String, Value)>, CommandError> {
    Ok(match Access::open_for_reading(global)? {
        Access::Folder(folder) => in_folder(&folder.ledger)?,
        Access::Service(mut client) => {
            let path = format!("/v1/ledgers/{}/events", global.ledger);
            event_loop()?.block_on(through_service(&mut client, &path))?
        }
    })
}

fn list(global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let events = principal_events(global)?;
    let now = SystemClock.now();
    let shown: Vec<PrincipalRow> = fold(&events)
        .into_values()
        .map(|principal| {
            let expired = principal.expires.is_some_and(|expires| Micros(expires) <= now);
            PrincipalRow { actor: principal.actor(), expired, principal }
        })
        .collect();
    if global.json {
        let principals = serde_json::to_value(shown).map_err(TokenFailure::from)?;
        return Ok(output.json(&json!({"principals": principals}))?);
    }
    let mut table = TextTable::new(&["principal", "actor", "taken", "name", "agent"]);
    for PrincipalRow { principal, actor, expired } in &shown {
        let expires = principal.expires.map(|expires| to_the_second(&format_time(Micros(expires))));
        let taken = match expires {
            Some(expires) if *expired => format!("expired {expires}"),
            Some(expires) => format!("until {expires}"),
            None => "until revoked".to_owned(),
        };
        let [name, agent] = [principal.name.as_deref(), principal.agent.as_deref()];
        table.row(&[&principal.principal, actor, &taken, name.unwrap_or("-"), agent.unwrap_or("-")]);
    }
    let none = match events.is_empty() {
        true => "nobody has a token yet; `bitacora serve` makes the first one",
        false => "nobody has a token any more",
    };
    Ok(table.write(none, output)?)
}

/// Folds the events as the ledger does. Unreadable ones change nothing there either.
fn fold(events: &[(String, Value)]) -> PrincipalsById {
    let mut principals = PrincipalsById::new();
    for (kind, data) in events {
        if kind == PrincipalCreated::KIND {
            if let Ok(created) = serde_json::from_value::<PrincipalCreated>(data.clone()) {
                principals.insert(created.principal.clone(), created);
            }
        } else if let Ok(gone) = serde_json::from_value::<PrincipalExpired>(data.clone()) {
            principals.remove(&gone.principal);
        }
    }
    principals
}

fn kinds() -> [&'static str; 3] {
    [PrincipalCreated::KIND, PrincipalRevoked::KIND, PrincipalExpired::KIND]
}

fn in_folder(ledger: &Ledger) -> Result<Vec<(String, Value)>, TokenFailure> {
    let filter = Filter { kinds: kinds().map(str::to_owned).to_vec(), ..Filter::default() };
    let mut next = Some(ReadFrom::After(After::START));
    let mut events = Vec::new();
    while let Some(from) = next {
        let page =
            ledger.read(&ReadQuery { from, until: None, limit: PAGE_EVENTS, filter: filter.clone() })?;
        for stored in &page.events {
            if let Data::Json(json) = &stored.event.data {
                events.push((stored.event.kind.to_string(), serde_json::from_slice(json.as_bytes())?));
            }
        }
        next = page.next;
    }
    Ok(events)
}

async fn through_service(client: &mut Connection, path: &str) -> Result<Vec<(String, Value)>, TokenFailure> {
    let kinds = kinds().map(|kind| format!("&type={kind}")).concat();
    let mut after = "0".to_owned();
    let mut events = Vec::new();
    loop {
        let page = format!("{path}?after={after}&limit={PAGE_EVENTS}{kinds}");
        let page = client.get(&page, "application/json").await?.whole().await?;
        let page: EventPage = serde_json::from_slice(&page).map_err(|_| client.strange())?;
        let next = page.next(&after);
        events.extend(page.events());
        match next {
            Some(next) => after = next,
            None => return Ok(events),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_token_follows_from_the_events() {
        let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let created = |id: &str| {
            let data = json!({"principal": id, "role": "auditor", "token_hash": hash});
            ("principal.created".to_owned(), data)
        };
        let gone = |kind: &str, id: &str| (kind.to_owned(), json!({"principal": id}));
        let events = [
            created("a"),
            created("b"),
            created("c"),
            gone("principal.revoked", "a"),
            gone("principal.expired", "c"),
        ];
        assert_eq!(fold(&events).keys().map(Name::as_str).collect::<Vec<_>>(), ["b"]);
    }
}
