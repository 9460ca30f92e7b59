//! The binary `bitacora-verify`: the verifier alone, for an auditor.

mod arguments;
mod keyring_file;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use bitacora_formats::printable;
use bitacora_verify::{
    CheckResult, InputError, LedgerLocation, LedgerSelection, Progress, ReportView, TailRetries, Verdict,
    VerifyOptions, check_archives, check_bundle, check_proof, find_ledgers, read_known_head,
    read_witness_policy, verify_ledger,
};

use self::arguments::{Arguments, HELP, UsageError, VerifyRequest};

/// The exit code of a command line that makes no sense.
const USAGE: u8 = 2;
/// The exit code of a result that could not be written.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    let request = match Arguments::read(std::env::args_os().skip(1)) {
        Ok(request) => request,
        Err(error) => return fail_with(&error, USAGE),
    };
    match request {
        VerifyRequest::Help => written(io::stdout().write_all(HELP.as_bytes()), 0),
        VerifyRequest::Version => {
            written(writeln!(io::stdout(), "bitacora-verify {}", env!("CARGO_PKG_VERSION")), 0)
        }
        VerifyRequest::Check(arguments) => match check(&arguments) {
            Ok(verdict) => verdict,
            Err(error) => match error.downcast_ref::<InputError>() {
                Some(InputError::Policy { .. }) => fail_with(&*error, USAGE),
                _ if error.is::<UsageError>() => fail_with(&*error, USAGE),
                _ => fail_with(&*error, Verdict::Incomplete.exit_code()),
            },
        },
    }
}

/// Checks what the command line names, and shows it.
fn check(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let policy = arguments.witnesses.as_deref().map(read_witness_policy).transpose()?;
    if let Some(path) = &arguments.evidence {
        return Ok(show(&check_proof(path, &arguments.keys, policy.as_ref())?, arguments));
    }
    if let Some(path) = &arguments.bundle {
        return Ok(show(&check_bundle(path, &arguments.keys, policy.as_ref())?, arguments));
    }
    let keyring = arguments.keyring.as_deref().map(keyring_file::load).transpose()?;
    if !arguments.archive.is_empty() {
        let known = (&*arguments.keys, keyring.as_ref());
        return Ok(show(&check_archives(&arguments.archive, known, &NoProgress)?, arguments));
    }
    let folder = arguments.folder.as_deref().ok_or(UsageError::Folder)?;
    let default = "main".parse()?;
    let name = arguments.ledger.as_ref().unwrap_or(&default);
    let is_named = arguments.ledger.is_some();
    let (places, data) = find_ledgers(folder, LedgerSelection { name, is_named, all: !is_named })?;
    let archives = arguments.archives.clone().unwrap_or_else(|| data.join("archives"));
    let heads = arguments.known_heads.iter().map(|path| read_known_head(path));
    let known_heads = heads.collect::<Result<Vec<_>, _>>()?;
    let mut worst = (None, Ok(()));
    for LedgerLocation { folder, name, is_named } in &places {
        let options = VerifyOptions {
            every_signature: arguments.every_signature,
            keyring: keyring.as_ref(),
            name: is_named.then_some(name.as_str()),
            leaves: arguments.leaves,
            threads: arguments.threads,
            trusted: &arguments.keys,
            known_heads: &known_heads,
            witnesses: policy.as_ref(),
            archives: Some(&archives),
            patience: TailRetries::LIVE,
            progress: None,
        };
        let report = verify_ledger(folder, &options);
        let (every_signature, explain) = (arguments.every_signature, arguments.explain);
        let shown = ReportView { name, report: &report, every_signature, explain };
        let done = shown.write(arguments.json, &mut io::stdout().lock());
        worst = (worst.0.max(Some(report.verdict())), worst.1.and(done));
    }
    Ok(written(worst.1, worst.0.unwrap_or(Verdict::Incomplete).exit_code()))
}

/// A listener that shows no progress.
struct NoProgress;

impl Progress for NoProgress {
    fn expect(&self, _: u64) {}

    fn advance(&self, _: u64) {}
}

fn show(result: &dyn CheckResult, arguments: &Arguments) -> ExitCode {
    written(result.write(arguments.json, &mut io::stdout().lock()), result.verdict().exit_code())
}

/// Returns the exit code. A reader that closes the pipe early does not change it.
fn written(done: io::Result<()>, code: u8) -> ExitCode {
    match done {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe && code == 0 => fail_with(&error, FAILED),
        _ => code.into(),
    }
}

fn fail_with(error: &dyn Error, code: u8) -> ExitCode {
    // If nobody reads this either, the exit code remains.
    let _unheard = writeln!(io::stderr(), "bitacora-verify: {}", printable(&error.to_string())).is_err();
    code.into()
}
