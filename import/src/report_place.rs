//! The place of a report of lines that made no event. A report replaces only an earlier one.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::records::OpenFile;
use crate::source_file::{FileIdentity, SourceFile};

/// The size limit of an existing report's first line.
const MAX_FIRST_LINE_BYTES: u64 = 64 * 1024;

/// The reason why no report is written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The place is that of a file to import.
    #[error("{}: found {name}, which is to be imported, expected another file for --report; nothing was imported", path.display())]
    Source {
        /// The path of the place.
        path: PathBuf,
        /// The name of the source.
        name: String,
    },
    /// The place has a file that is no report.
    #[error("{}: found a file that is no report of an import, expected none, an empty one or an earlier report; name another file, nothing was imported", .0.display())]
    Foreign(PathBuf),
    /// The place could not be examined, or the report not begun.
    #[error("{}: {source}; nothing was imported", path.display())]
    Begin {
        /// The path of the place.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The report could not be completed.
    #[error("{}: {source}; the report was not written, run the import again to have it", path.display())]
    End {
        /// The path of the place.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// A checked place for a report.
#[derive(Debug)]
pub struct ReportPlace {
    /// The path as it was named.
    pub named: PathBuf,
    /// The path of the file itself, with links resolved.
    pub file: PathBuf,
}

/// A line of a report.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportLine {
    #[serde(rename = "file")]
    _file: IgnoredAny,
    #[serde(rename = "line")]
    _line: IgnoredAny,
    #[serde(rename = "reason")]
    _reason: IgnoredAny,
}

impl ReportPlace {
    /// Checks a place without opening anything for writing. It must not be a source under any name or link, and an
    /// existing file must be empty or an earlier report. `open` opens a regular file alone.
    ///
    /// # Errors
    /// [`ReportError::Source`], [`ReportError::Foreign`], [`ReportError::Begin`].
    pub fn check(path: &Path, sources: &[SourceFile], open: OpenFile) -> Result<Self, ReportError> {
        let named = path.to_owned();
        let failed = |source| ReportError::Begin { path: path.to_owned(), source };
        let is_there = fs::symlink_metadata(path).map(|_| true);
        let is_there = is_there.or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(false),
            _ => Err(failed(error)),
        })?;
        if !is_there {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = fs::metadata(folder.unwrap_or(Path::new("."))).map_err(failed)?;
            let name = path.file_name().filter(|_| folder.is_dir());
            name.ok_or_else(|| failed(io::ErrorKind::NotADirectory.into()))?;
            return Ok(Self { file: named.clone(), named });
        }
        let file = path.canonicalize().map_err(failed)?;
        let opened = open(&file).map_err(failed)?;
        let metadata = opened.metadata().map_err(failed)?;
        let identity = Some(FileIdentity::from(&metadata));
        if let Some(source) = sources.iter().find(|source| source.identity == identity) {
            return Err(ReportError::Source { path: named, name: source.name.clone() });
        }
        if !is_report(opened).map_err(failed)? {
            return Err(ReportError::Foreign(named));
        }
        Ok(Self { named, file })
    }
}

/// Returns `true` if the file is empty, or its first line is one of a report.
fn is_report(file: File) -> io::Result<bool> {
    let mut first = Vec::new();
    BufReader::new(file.take(MAX_FIRST_LINE_BYTES)).read_until(b'\n', &mut first)?;
    Ok(first.is_empty() || serde_json::from_slice::<ReportLine>(&first).is_ok())
}

#[cfg(test)]
mod tests {
    use std::fs::hard_link;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;
    use crate::batches::RecordLocation;
    use crate::source_files::find_sources;
    use crate::tally::UnmappedLine;

    const SOURCE: &str = "{\"a\":1}\n";

    fn line() -> String {
        let location = RecordLocation { file: "a".into(), number: 7 };
        format!("{}\n", UnmappedLine { location, reason: "why".to_owned() }.to_json())
    }

    fn open(path: &Path) -> io::Result<File> {
        if fs::metadata(path)?.is_file() { File::open(path) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    fn find(paths: &[PathBuf]) -> Vec<SourceFile> {
        find_sources(paths, |_, _| Ok(())).unwrap()
    }

    /// Every name of a source is refused, and the source stays unchanged.
    #[test]
    fn a_source_is_never_a_report_by_whatever_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("below")).unwrap();
        for (name, text) in [("source", SOURCE.to_owned()), ("below/earlier.jsonl", line())] {
            fs::write(at(name), text).unwrap();
        }
        fs::write(at("empty"), "").unwrap();
        symlink(at("source"), at("link")).unwrap();
        symlink(at("link"), at("link-to-link")).unwrap();
        hard_link(at("source"), at("same")).unwrap();
        symlink(at("below"), at("folder")).unwrap();
        let sources = find(&[at("source"), at("empty"), at("below")]);
        for name in ["source", "link", "link-to-link", "same", "below/../source", "empty"]
            .into_iter()
            .chain(["below/earlier.jsonl", "folder/earlier.jsonl"])
        {
            let refused = ReportPlace::check(&at(name), &sources, open);
            assert!(matches!(refused, Err(ReportError::Source { .. })), "{name}: {refused:?}");
        }
        let linked = find(&[at("link-to-link"), at("folder/earlier.jsonl")]);
        for name in ["source", "same", "below/earlier.jsonl"] {
            assert!(
                matches!(ReportPlace::check(&at(name), &linked, open), Err(ReportError::Source { .. })),
                "{name}"
            );
        }
        assert_eq!(fs::read_to_string(at("source")).unwrap(), SOURCE);
    }

    /// The list of files that a report may replace: none, an empty one, an earlier report.
    #[test]
    fn no_file_but_an_earlier_report_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let check = |name: &str| ReportPlace::check(&at(name), &[], open);
        for text in ["secret", "\n", "{}", SOURCE, &line().replace("reason", "why"), &"x".repeat(100_000)] {
            fs::write(at("file"), text).unwrap();
            assert!(matches!(check("file"), Err(ReportError::Foreign(_))), "{text:.20}");
            assert_eq!(fs::read_to_string(at("file")).unwrap(), text);
        }
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        for name in ["pipe", "dangling", ".", "missing/report", "file/report"] {
            assert!(matches!(check(name), Err(ReportError::Begin { .. })), "{name}");
        }
        assert!(matches!(
            ReportPlace::check(Path::new("/dev/null"), &[], open),
            Err(ReportError::Begin { .. })
        ));
        fs::write(at("file"), line()).unwrap();
        for name in ["file", "new"] {
            check(name).unwrap();
        }
    }
}
