//! The command line of `bitacora-verify`. It is read without a library, so that an auditor has less to read.

use std::ffi::{OsStr, OsString};
use std::num::NonZero;
use std::path::PathBuf;

use bitacora_formats::{LedgerName, VerifierKey};
use bitacora_verify::LeafCheck;

/// The help.
pub(crate) const HELP: &str = "\
Verify a ledger's folder, or every ledger of a data folder

Usage: bitacora-verify [OPTIONS] FOLDER
       bitacora-verify [OPTIONS] --evidence FILE
       bitacora-verify [OPTIONS] --bundle FILE
       bitacora-verify [OPTIONS] --archive PATH

Options:
      --ledger NAME       Verify only this ledger of a data folder
      --keyring FILE      Open every frame too: records, commitments, tree and streams
      --every-signature   Verify the signature of every frame, not only of the last one of each segment
      --chain-only        Check only the hash chain and its signatures
      --require-leaves    End with exit code 50 unless the leaf of every event is there
      --vkey KEY          A verifier key that you know to be the ledger's; repeatable
      --known-head FILE   A tree head kept elsewhere that the ledger must extend; repeatable
      --witnesses FILE    A witness policy (c2sp.org/tlog-policy)
      --archives FOLDER   The folder of the ledgers' archives [default: archives in the data folder]
      --evidence FILE     Check the proof of one event instead
      --bundle FILE       Check an evidence bundle instead: many events in one file
      --archive PATH      Check archives by themselves instead: a file or a folder; repeatable
      --threads N         The number of threads [default: the number of cores]
      --explain           Explain what each kind of evidence proves
      --json              Print JSON
  -h, --help              Print help
  -V, --version           Print version

Exit codes: 0 verified by a key and a tree head that you brought, 10 verified with nothing external to
compare with, 30 rolled back or replaced, 40 invalid, 50 incomplete, 2 wrong usage.
";

/// The request of the command line.
#[derive(Debug)]
pub(crate) enum VerifyRequest {
    Help,
    Version,
    Check(Box<Arguments>),
}

/// The arguments of a check.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) folder: Option<PathBuf>,
    pub(crate) ledger: Option<LedgerName>,
    pub(crate) keyring: Option<PathBuf>,
    pub(crate) every_signature: bool,
    pub(crate) leaves: LeafCheck,
    pub(crate) keys: Vec<VerifierKey>,
    pub(crate) known_heads: Vec<PathBuf>,
    pub(crate) witnesses: Option<PathBuf>,
    pub(crate) archives: Option<PathBuf>,
    pub(crate) evidence: Option<PathBuf>,
    pub(crate) bundle: Option<PathBuf>,
    pub(crate) archive: Vec<PathBuf>,
    pub(crate) threads: Option<NonZero<usize>>,
    pub(crate) explain: bool,
    pub(crate) json: bool,
}

/// The reason why the command line makes no sense.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("found no folder; name a ledger's folder or a data folder, or see --help")]
    Folder,
    #[error("found a second folder, {}; name one", .0.display())]
    SecondFolder(PathBuf),
    #[error("found the option {0}, which is not known; see --help")]
    Unknown(String),
    #[error("found {0} without its value; see --help")]
    NoValue(String),
    #[error("found {value:?} as the value of {option}: {what}")]
    Value { option: String, value: String, what: String },
    #[error("found {0} together with {1}; check one of them at a time")]
    Both(&'static str, &'static str),
}

impl Arguments {
    /// Reads the command line, without the program's name.
    pub(crate) fn read(arguments: impl Iterator<Item = OsString>) -> Result<VerifyRequest, UsageError> {
        let mut read = Self::none();
        let mut rest = arguments;
        let mut only_paths = false;
        while let Some(argument) = rest.next() {
            match argument.to_str().filter(|text| !only_paths && text.starts_with('-')) {
                None => read.name_folder(argument.into())?,
                Some("--") => only_paths = true,
                Some("-h" | "--help") => return Ok(VerifyRequest::Help),
                Some("-V" | "--version") => return Ok(VerifyRequest::Version),
                Some(option) => read.take(option, &mut rest)?,
            }
        }
        let files = [
            ("--evidence", read.evidence.is_some()),
            ("--bundle", read.bundle.is_some()),
            ("--archive", !read.archive.is_empty()),
        ];
        let mut named = files.into_iter().filter(|(_, is_named)| *is_named).map(|(option, _)| option);
        match (&read.folder, named.next(), named.next()) {
            (None, None, _) => Err(UsageError::Folder),
            (Some(_), Some(option), _) => Err(UsageError::Both(option, "a folder")),
            (None, Some(option), Some(other)) => Err(UsageError::Both(other, option)),
            _ => Ok(VerifyRequest::Check(Box::new(read))),
        }
    }

    fn none() -> Self {
        Self {
            folder: None,
            ledger: None,
            keyring: None,
            every_signature: false,
            leaves: LeafCheck::WhereThere,
            keys: Vec::new(),
            known_heads: Vec::new(),
            witnesses: None,
            archives: None,
            evidence: None,
            bundle: None,
            archive: Vec::new(),
            threads: None,
            explain: false,
            json: false,
        }
    }

    fn name_folder(&mut self, folder: PathBuf) -> Result<(), UsageError> {
        match self.folder.replace(folder) {
            None => Ok(()),
            Some(_) => Err(UsageError::SecondFolder(self.folder.take().unwrap_or_default())),
        }
    }

    /// Takes in an option. Its value follows it, or stands behind `=`.
    fn take(&mut self, text: &str, rest: &mut impl Iterator<Item = OsString>) -> Result<(), UsageError> {
        let (option, joined) = match text.split_once('=') {
            Some((option, value)) => (option, Some(OsString::from(value))),
            None => (text, None),
        };
        let mut value =
            || joined.clone().or_else(|| rest.next()).ok_or_else(|| UsageError::NoValue(option.to_owned()));
        match option {
            "--every-signature" => self.every_signature = true,
            "--chain-only" => self.leaves = LeafCheck::None,
            "--require-leaves" => self.leaves = LeafCheck::All,
            "--explain" => self.explain = true,
            "--json" => self.json = true,
            "--ledger" => self.ledger = Some(parse(option, &value()?)?),
            "--threads" => self.threads = Some(parse(option, &value()?)?),
            "--vkey" => self.keys.push(parse(option, &value()?)?),
            "--keyring" => self.keyring = Some(value()?.into()),
            "--known-head" => self.known_heads.push(value()?.into()),
            "--witnesses" => self.witnesses = Some(value()?.into()),
            "--archives" => self.archives = Some(value()?.into()),
            "--evidence" => self.evidence = Some(value()?.into()),
            "--bundle" => self.bundle = Some(value()?.into()),
            "--archive" => self.archive.push(value()?.into()),
            _ => return Err(UsageError::Unknown(option.to_owned())),
        }
        Ok(())
    }
}

fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(option: &str, value: &OsStr) -> Result<T, UsageError> {
    let value = value.to_string_lossy();
    value.parse().map_err(|error: T::Err| UsageError::Value {
        option: option.to_owned(),
        value: value.to_string(),
        what: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<VerifyRequest, UsageError> {
        Arguments::read(arguments.iter().map(OsString::from))
    }

    #[test]
    fn options_take_the_next_argument_or_the_text_behind_the_sign() {
        for spelled in
            [&["data", "--keyring", "k", "--threads=2"][..], &["--keyring=k", "--threads", "2", "data"]]
        {
            let Ok(VerifyRequest::Check(arguments)) = read(spelled) else { panic!("{spelled:?}") };
            assert_eq!(arguments.folder, Some("data".into()));
            assert_eq!((arguments.keyring, arguments.threads), (Some("k".into()), NonZero::new(2)));
        }
        let Ok(VerifyRequest::Check(arguments)) = read(&["--", "--json"]) else { panic!("a folder") };
        assert!(arguments.folder == Some("--json".into()) && !arguments.json);
    }

    #[test]
    fn a_command_line_without_sense_is_refused() {
        let refused: [(&[&str], &str); 9] = [
            (&[], "no folder"),
            (&["a", "b"], "a second folder, b"),
            (&["--fast", "a"], "--fast"),
            (&["a", "--keyring"], "--keyring without its value"),
            (&["a", "--threads", "0"], "\"0\" as the value of --threads"),
            (&["a", "--evidence", "e"], "--evidence together with a folder"),
            (&["a", "--archive=e"], "--archive together with a folder"),
            (&["a", "--bundle", "b"], "--bundle together with a folder"),
            (&["--bundle", "b", "--evidence", "e"], "--bundle together with --evidence"),
        ];
        for (arguments, expected) in refused {
            let error = read(arguments).unwrap_err().to_string();
            assert!(error.contains(expected), "{arguments:?}: {error}");
        }
        assert!(matches!(read(&["--help"]), Ok(VerifyRequest::Help)));
        assert!(matches!(read(&["a", "-V"]), Ok(VerifyRequest::Version)));
    }
}
