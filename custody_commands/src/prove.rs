//! `prove`: the proof of one event, or of many, for a third party without access to the ledger.

mod bundle;

use std::path::PathBuf;

use bitacora_api::InclusionAnswer;
use bitacora_data_folder::readable_archives;
use bitacora_formats::{LeafEntry, Position, UnverifiedEvidence, UnverifiedReceipt, VerifierKey};
use bitacora_verify::{DisclosedPart, ProofSource, ProveError, receipt_text};
use clap::Args;

use self::bundle::BundleArguments;
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::files::new_file::{self, NewFileError};
use crate::ledger_access::access::{AccessError, event_loop};
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::token_advice::token_advice;
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use crate::terminal::passphrase::keyring_file;
use bitacora_client::{ClientError, Connection};

/// The arguments of `prove`.
#[derive(Debug, Args)]
pub struct ProveArguments {
    /// The event's position.
    #[arg(required_unless_present = "bundle")]
    position: Option<Position>,
    #[command(flatten)]
    bundle: BundleArguments,
    /// Export a receipt for tools of transparency logs instead: it discloses nothing of the event. A service gives only receipts.
    #[arg(long, conflicts_with_all = ["bare", "with_part"])]
    receipt: bool,
    /// Disclose only the event's position, time and commitment.
    #[arg(long, conflicts_with = "with_part")]
    bare: bool,
    /// Disclose the data subject's part too; a reader can then check guesses about other events of that subject.
    #[arg(long)]
    with_part: bool,
    /// A verifier key that you know to be the ledger's, as NAME+ID+KEY, one of which must have signed the tree head;
    /// repeatable. Without any, a service's receipt is not checked against a key.
    #[arg(long, value_name = "KEY")]
    vkey: Vec<VerifierKey>,
    /// The file to write, which must not exist. [default: stdout]
    #[arg(long, alias = "output", value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The refusal of a head that a successor of a known key signed.
const ENDORSED: &str = "a key that you know endorsed the one that signed the tree head, and a seed that leaked could have endorsed it too";

/// The reason why there is no proof.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProveFailure {
    #[error(transparent)]
    Prove(#[from] ProveError),
    #[error("{0}{advice}", advice = token_advice(.0))]
    Client(#[from] ClientError),
    #[error(
        "a service gives receipts alone: add --receipt, or name the folder and keyring with --data and --keyring"
    )]
    Service,
    #[error("what the service gave is no proof of position {position}: {what}; verify the ledger")]
    Strange { position: Position, what: String },
    #[error(
        "by the keys of --vkey the proof of position {position} does not hold: {what}; ask for the key that signs now, and whose it is"
    )]
    OtherKey { position: Position, what: String },
    #[error(
        "the tree head over position {position} came with a line of somebody unknown, with characters that change how a text is shown; name a file for the proof with --out"
    )]
    Shown { position: Position },
    #[error("a bundle is a file: name it with --out")]
    NoFile,
    #[error("{0}; the proof was not written")]
    Write(NewFileError),
}

impl CommandFailure for ProveFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Service | Self::NoFile => Exit::Usage,
            Self::Client(error) => error.into(),
            _ => Exit::Failed,
        }
    }
}

impl ProveArguments {
    fn disclosed(&self) -> DisclosedPart {
        match (self.bare, self.with_part) {
            (true, _) => DisclosedPart::Nothing,
            (false, true) => DisclosedPart::Part,
            (false, false) => DisclosedPart::Record,
        }
    }

    /// Checks the proof as a reader would who knows the named keys. Checks nothing where no key is named.
    fn check_keys(&self, position: Position, proof: &str) -> Result<(), ProveFailure> {
        if self.vkey.is_empty() {
            return Ok(());
        }
        let held = match self.receipt {
            true => UnverifiedReceipt::parse(proof)
                .and_then(|receipt| receipt.verify(&self.vkey))
                .map_or_else(|error| Err(error.to_string()), |_| Ok(())),
            false => UnverifiedEvidence::parse(proof.as_bytes())
                .and_then(|evidence| evidence.verify(&self.vkey))
                .map_err(|error| error.to_string())
                .and_then(|proven| proven.is_trusted().then_some(()).ok_or_else(|| ENDORSED.to_owned())),
        };
        held.map_err(|what| ProveFailure::OtherKey { position, what })
    }
}

/// Runs `prove`.
pub fn run(arguments: &ProveArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    arguments.out.as_deref().map_or(Ok(()), new_file::refuse_existing).map_err(ProveFailure::Write)?;
    match (arguments.position, &arguments.out) {
        (Some(position), _) => prove(arguments, position, &context.global, &mut context.output),
        (None, Some(out)) => arguments.bundle.write(out, context),
        (None, None) => Err(ProveFailure::NoFile.into()),
    }
}

fn prove(
    arguments: &ProveArguments,
    position: Position,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let proof = match &global.url {
        Some(_) if !arguments.receipt => return Err(ProveFailure::Service.into()),
        Some(url) => {
            let mut client = global.client(url).map_err(AccessError::from)?;
            event_loop()?.block_on(ask(&mut client, global, position))?
        }
        None => {
            let data = global.data()?;
            let keyring = keyring_file(&global.keyring()?, Some(data)).load()?.keyring;
            let folder = data.join("ledgers").join(global.ledger.as_str());
            let archives = readable_archives(global.archive_place(data));
            let source = ProofSource::new(&folder, &keyring, &global.ledger, Some(&*archives));
            let proof = match arguments.receipt {
                true => source.receipt(position),
                false => source.evidence(position, arguments.disclosed()),
            };
            proof.map_err(ProveFailure::from)?
        }
    };
    arguments.check_keys(position, &proof)?;
    match &arguments.out {
        // Of its owner's alone: evidence discloses an event.
        Some(path) => new_file::write(path, proof.as_bytes()).map_err(ProveFailure::Write)?,
        // It may go to a terminal as it is.
        None if proof.split('\n').any(|line| printable(line) != line) => {
            return Err(ProveFailure::Shown { position }.into());
        }
        None => output.bytes(proof.as_bytes())?,
    }
    Ok(Exit::Done)
}

/// Gets a tree head of the service: its note, and the number of events that it covers.
async fn head(
    client: &mut Connection,
    global: &Global,
    resource: &str,
    position: Position,
) -> Result<(String, u64), ProveFailure> {
    let path = format!("/v1/ledgers/{}/{resource}", global.ledger);
    let head = client.get(&path, "text/plain").await?.whole().await?;
    let strange = |what: &str| ProveFailure::Strange { position, what: what.to_owned() };
    let note = String::from_utf8(head.to_vec()).map_err(|_| strange("a tree head that is not utf-8"))?;
    let size = note.lines().nth(1).and_then(|size| size.parse().ok());
    let size = size.ok_or_else(|| strange("a tree head without a size"))?;
    Ok((note, size))
}

/// Asks the service for a proof under the last cosigned tree head, or under a newer one where that does not cover the
/// event. Checks that head and proof fit together. Their origin is for the reader of the receipt to check, by a key
/// that it knows.
async fn ask(client: &mut Connection, global: &Global, position: Position) -> Result<String, ProveFailure> {
    let ledger = &global.ledger;
    let strange = |what: &str| ProveFailure::Strange { position, what: what.to_owned() };
    let (mut note, mut size) = head(client, global, "checkpoint", position).await?;
    if size < position.get() {
        (note, size) = head(client, global, "treehead", position).await?;
    }
    let path = format!("/v1/ledgers/{ledger}/proofs/inclusion?position={position}&size={size}");
    let answer = client.get(&path, "application/json").await?.whole().await?;
    let answer: InclusionAnswer =
        serde_json::from_slice(&answer).map_err(|_| strange("an answer of another form"))?;
    let entry = hex::decode(&answer.entry).ok().and_then(|entry| <[u8; 48]>::try_from(entry).ok());
    let entry = entry.ok_or_else(|| strange("no entry of 48 bytes"))?;
    let (place, leaf) = entry.split_first_chunk::<8>().ok_or_else(|| strange("no entry"))?;
    if u64::from_be_bytes(*place) != position.get() {
        return Err(strange("the entry of another position"));
    }
    let leaf = LeafEntry::decode(leaf.try_into().map_err(|_| strange("no leaf"))?);
    let hashes: Result<Vec<_>, _> = answer.hashes.iter().map(|hash| hash.parse()).collect();
    let text = receipt_text(position, leaf, hashes.map_err(|_| strange("a hash of another form"))?, note);
    let receipt = UnverifiedReceipt::parse(&text).map_err(|error| strange(&error.to_string()))?;
    receipt.check_proof().map_err(|error| strange(&error.to_string()))?;
    Ok(text)
}
