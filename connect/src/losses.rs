//! Marks of inputs that a hook could keep in no way: an empty file each, whose name says when and why.
//!
//! An empty file can be made where the spool is full, and where a limit lets no file grow. The next delivery turns the marks into
//! an event. A name ends in a code under a key that is derived from the agent's token, so a name that anybody else makes is no mark.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bitacora_client::Token;
use zeroize::Zeroizing;

use crate::connection::make_private_folder;
use crate::limits::MAX_LOSSES;

/// The end of a mark's name.
const SUFFIX: &str = ".lost";
/// The end of the name of a report that is under way.
const REPORT_SUFFIX: &str = ".told";
/// The part of a name that was not renamed to its place yet.
const UNFINISHED: &str = ".new-";
/// The context of the key.
const KEY_CONTEXT: &str = "bitacora 2026-11 marks of lost inputs";
/// The hexadecimal digits of a mark's code.
const CODE_DIGITS: usize = 32;

/// The reason why an input is kept nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossReason {
    /// The spool was full, or could not be written.
    Spool,
    /// The hook ended by its own deadline.
    Late,
    /// The service takes neither the input nor its trace.
    Refused,
}

impl LossReason {
    const ALL: [Self; 3] = [Self::Spool, Self::Late, Self::Refused];

    fn word(self) -> &'static str {
        match self {
            Self::Spool => "spool",
            Self::Late => "late",
            Self::Refused => "refused",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Spool => "the spool took no more",
            Self::Late => "the hook ended by its own deadline",
            Self::Refused => "the service refuses even a trace of it",
        }
    }
}

/// The marks of one connection.
pub(crate) struct Losses {
    folder: PathBuf,
    key: Zeroizing<[u8; 32]>,
}

/// The entries in the folder of marks.
#[derive(Debug, Default)]
pub(crate) struct LossEntries {
    /// Names of marks of this connection, the oldest first.
    pub(crate) marks: BTreeSet<String>,
    /// Files that may be reports of this connection.
    pub(crate) reports: Vec<PathBuf>,
    /// Everything else.
    pub(crate) foreign: usize,
}

impl Losses {
    /// Returns the marks in a connection's folder of state.
    pub(crate) fn of(state: &Path, token: &Token) -> Self {
        let key = blake3::derive_key(KEY_CONTEXT, token.reveal().as_bytes());
        Self { folder: state.join("lost"), key: Zeroizing::new(key) }
    }

    /// Marks a loss. Where even that fails, nothing is left that could tell of it.
    pub(crate) fn mark(&self, reason: LossReason) {
        if make_private_folder(&self.folder).is_err() {
            return;
        }
        let is_full = self.entries().is_ok_and(|entries| entries.marks.len() >= MAX_LOSSES);
        let Some(name) = self.new_name(reason).filter(|_| !is_full) else { return };
        let _unmarked =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.folder.join(name));
    }

    /// Takes the turn of whoever tells of marks or changes them; `None` where another process has it. It ends with the process.
    pub(crate) fn turn(&self) -> Option<File> {
        // The folder itself is locked, so that no other file in it can stand in the lock's place. A pipe would stop this process.
        let is_folder = fs::metadata(&self.folder).is_ok_and(|metadata| metadata.is_dir());
        let folder = File::open(Some(&self.folder).filter(|_| is_folder)?).ok()?;
        folder.try_lock().is_ok().then_some(folder)
    }

    /// Reads the folder. What somebody else put there is counted, and hides nothing.
    pub(crate) fn entries(&self) -> io::Result<LossEntries> {
        let mut entries = LossEntries::default();
        let read = match fs::read_dir(&self.folder) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(entries),
            Err(error) => return Err(error),
        };
        for entry in read {
            let entry = entry?;
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            match entry.file_name().to_str().filter(|_| is_file) {
                Some(name) if self.is_mark(name) => {
                    entries.marks.insert(name.to_owned());
                }
                Some(name) if name.ends_with(REPORT_SUFFIX) => entries.reports.push(entry.path()),
                Some(name) if name.contains(UNFINISHED) => {}
                _ => entries.foreign = entries.foreign.saturating_add(1),
            }
        }
        Ok(entries)
    }

    /// Returns an id that the same marks have again and that nobody foretells.
    pub(crate) fn id_of(&self, marks: &[String]) -> String {
        blake3::keyed_hash(&self.key, marks.join("/").as_bytes()).to_hex().to_string()
    }

    /// Returns the file of a mark, or of a report.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the name of a new report.
    pub(crate) fn new_report(&self) -> Option<String> {
        Some(format!("{}{REPORT_SUFFIX}", time_and_random()?))
    }

    /// Returns the name that a mark of another token has under this one's.
    pub(crate) fn renamed(&self, mark: &str) -> String {
        let plain = mark.strip_suffix(SUFFIX).and_then(|mark| mark.rsplit_once('-')).map(|(plain, _)| plain);
        self.sealed(plain.unwrap_or_default())
    }

    fn new_name(&self, reason: LossReason) -> Option<String> {
        Some(self.sealed(&format!("{}-{}", time_and_random()?, reason.word())))
    }

    fn sealed(&self, plain: &str) -> String {
        let code = blake3::keyed_hash(&self.key, plain.as_bytes()).to_hex();
        format!("{plain}-{}{SUFFIX}", code.get(..CODE_DIGITS).unwrap_or_default())
    }

    fn is_mark(&self, name: &str) -> bool {
        name.ends_with(SUFFIX) && self.renamed(name) == name
    }
}

/// Returns what marks say together.
pub(crate) fn evidence_of(marks: &[String]) -> String {
    let counts = LossReason::ALL.into_iter().filter_map(|reason| {
        let count = marks.iter().filter(|name| name.split('-').nth(2) == Some(reason.word())).count();
        (count > 0).then(|| format!("{count} because {}", reason.text()))
    });
    format!("{} inputs of hooks are lost: {}", marks.len(), counts.collect::<Vec<_>>().join(", "))
}

/// Returns the beginning of a name: it sorts by time, and no other process makes it.
fn time_and_random() -> Option<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(format!("{:020}-{}", now.as_nanos(), hex::encode(random)))
}
