//! Checks of archives' files by themselves, offline, and of how they join.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bitacora_archive_format::{ArchiveError, Manifest};
use bitacora_formats::{Keyring, SigningChain, VerifierKey, format_time};
use serde_json::{Value, json};

use super::archive::{ArchiveProblem, CheckedArchive};
use super::inputs::InputError;
use super::options::Progress;
use super::output::CheckResult;
use super::report::Verdict;

/// The suffix of an archive's file.
const ARCHIVE: &str = ".bca";
/// The depth of folders that are searched: a store has a folder of the ledger's id, and in it one of the generation.
const MAX_FOLDER_DEPTH: usize = 3;

/// The result of checking archives.
pub struct ArchiveReport {
    checked: Vec<(PathBuf, CheckedArchive)>,
    /// The first archive with a fault, or that does not join the one before.
    fault: Option<(PathBuf, String)>,
    /// The archives that could not be read.
    gaps: Vec<String>,
    /// Set when each of them is signed by a known key.
    trusted: bool,
}

/// Returns `true` if one of the known keys signed the manifest. A key that only endorsed the signer is not enough: a
/// leaked seed endorses others.
fn is_signed_by_one(trusted: &[VerifierKey], manifest: &Manifest, signed_by: u32) -> Result<bool, String> {
    let known = manifest.origin.places_of(trusted, &manifest.signing_keys);
    let known = known.map_err(|(key, problem)| format!("{key}: {problem}"))?;
    Ok(known.contains(&signed_by))
}

/// Checks the archives in these files, and in all archive files in these folders, in the order of their positions.
///
/// # Errors
/// [`InputError::File`] for a path that cannot be read.
pub fn check_archives(
    paths: &[PathBuf],
    (trusted, keyring): (&[VerifierKey], Option<&Keyring>),
    progress: &dyn Progress,
) -> Result<ArchiveReport, InputError> {
    let mut files = Vec::new();
    for path in paths {
        find(path, MAX_FOLDER_DEPTH, &mut files)
            .map_err(|source| InputError::File { path: path.display().to_string(), source })?;
    }
    progress.expect(files.iter().filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum());
    let mut archives = ArchiveReport { checked: Vec::new(), fault: None, gaps: Vec::new(), trusted: false };
    let chain = keyring.map(Keyring::signing_chain);
    for file in files {
        if let Err(fault) = archives.take(&file, chain, keyring, progress) {
            archives.fault = Some((file, fault));
            return Ok(archives);
        }
    }
    archives.join();
    archives.trust(trusted);
    Ok(archives)
}

/// Finds the archives at a path. A path that is no folder counts as one.
fn find(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort_unstable();
    for entry in entries {
        let is_archive = entry.to_str().is_some_and(|name| name.ends_with(ARCHIVE));
        if is_archive || depth > 0 && entry.is_dir() {
            find(&entry, depth.saturating_sub(1), files)?;
        }
    }
    Ok(())
}

impl ArchiveReport {
    fn take(
        &mut self,
        file: &Path,
        chain: Option<&SigningChain>,
        keyring: Option<&Keyring>,
        progress: &dyn Progress,
    ) -> Result<(), String> {
        let opened = CheckedArchive::check(file, chain, Some(progress)).and_then(|archive| {
            if let Some(keyring) = keyring {
                archive.open(keyring, |_, _| Ok::<(), ArchiveProblem>(()))?;
            }
            Ok(archive)
        });
        match opened {
            Ok(archive) => self.checked.push((file.to_owned(), archive)),
            Err(ArchiveProblem::Unreadable(error)) => self.gaps.push(format!("{}: {error}", file.display())),
            Err(ArchiveProblem::Wrong {
                error:
                    error @ (ArchiveError::KeyMissing { .. }
                    | ArchiveError::KeyRetired { .. }
                    | ArchiveError::WrongKey { .. }),
                ..
            }) => self.gaps.push(format!("{}: {error}", file.display())),
            Err(problem) => return Err(problem.to_string()),
        }
        Ok(())
    }

    /// Checks that neighbouring archives of one ledger join; reports where they do not.
    fn join(&mut self) {
        let place = |(_, archive): &(PathBuf, CheckedArchive)| {
            let manifest = archive.outline().manifest().manifest();
            (manifest.origin.ledger, manifest.range)
        };
        self.checked.sort_by_key(place);
        for pair in self.checked.windows(2) {
            let [(_, before), (file, after)] = pair else { continue };
            let [before, after] = [before, after].map(|archive| archive.outline().manifest().manifest());
            if before.origin.ledger != after.origin.ledger {
                continue;
            }
            if before.range.last().get() + 1 < after.range.first().get() {
                let (first, last) = (before.range.last().get() + 1, after.range.first().get() - 1);
                self.gaps
                    .push(format!("positions {first} to {last} of {} are in none of them", after.origin));
            } else if let Err(error) = after.follows(before) {
                self.fault = Some((file.clone(), error.to_string()));
                return;
            }
        }
    }

    fn trust(&mut self, trusted: &[VerifierKey]) {
        let mut all = !trusted.is_empty() && !self.checked.is_empty();
        for (file, archive) in &self.checked {
            let signed = archive.outline().manifest();
            let by = signed.signing_key().unwrap_or(0);
            match is_signed_by_one(trusted, signed.manifest(), by) {
                Ok(is_known) => all &= is_known,
                Err(fault) => {
                    self.fault = Some((file.clone(), fault));
                    return;
                }
            }
        }
        self.trusted = all;
    }

    fn verdict_text(&self) -> &'static str {
        match self.verdict() {
            Verdict::Invalid => "invalid",
            Verdict::Incomplete => "incomplete",
            Verdict::Confirmed => "verified",
            _ => "verified, with nothing external to compare with",
        }
    }
}

impl CheckResult for ArchiveReport {
    fn verdict(&self) -> Verdict {
        match (&self.fault, self.gaps.is_empty() && !self.checked.is_empty(), self.trusted) {
            (Some(_), ..) => Verdict::Invalid,
            (None, false, _) => Verdict::Incomplete,
            (None, true, true) => Verdict::Confirmed,
            (None, true, false) => Verdict::Alone,
        }
    }

    fn to_json(&self) -> Value {
        let archives = self.checked.iter().map(|(file, archive)| {
            let manifest = archive.outline().manifest().manifest();
            json!({
                "file": file.display().to_string(),
                "origin": manifest.origin.to_string(),
                "first": manifest.range.first().to_string(),
                "last": manifest.range.last().to_string(),
                "firstTime": format_time(manifest.times.0),
                "lastTime": format_time(manifest.times.1),
                "events": manifest.range.events().to_string(),
                "bytes": archive.bytes().to_string(),
                "rootAfter": manifest.root_after.to_string(),
                "treeHead": archive.outline().manifest().tree_head().map(|head| head.head().size.to_string()),
            })
        });
        json!({
            "archives": archives.collect::<Vec<_>>(),
            "fault": self.fault.as_ref().map(|(file, what)| json!({ "file": file.display().to_string(), "what": what })),
            "gaps": self.gaps,
            "trusted": self.trusted,
            "verdict": self.verdict_text(),
            "exitCode": self.verdict().exit_code(),
        })
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (file, archive) in &self.checked {
            let signed = archive.outline().manifest();
            let manifest = signed.manifest();
            lines.push(format!("archive     {}", file.display()));
            lines.push(format!(
                "            {}, positions {} to {}, {} bytes",
                manifest.origin,
                manifest.range.first(),
                manifest.range.last(),
                archive.bytes()
            ));
            if let Some(head) = signed.tree_head() {
                lines.push(format!("            in the tree head of size {}", head.head().size));
            }
        }
        lines.extend(self.gaps.iter().map(|gap| format!("incomplete  {gap}")));
        if let Some((file, what)) = &self.fault {
            lines.push(format!("fault       {}: {what}", file.display()));
        }
        lines.push(format!("verdict     {} (exit code {})", self.verdict_text(), self.verdict().exit_code()));
        lines
    }
}
