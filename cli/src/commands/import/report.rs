//! The report of lines that made no event.
//! It replaces only an earlier report, once the import has ended.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::files::durable_file::{UnfinishedFile, folder_of};
use crate::files::input_file;
use bitacora_import::{FileIdentity, SourceFile};

/// The size limit of an existing report's first line.
const MAX_FIRST_LINE_BYTES: u64 = 64 * 1024;

/// The reason why no report is written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReportError {
    #[error("{}: found {name}, which is to be imported, expected another file for --report; nothing was imported", path.display())]
    Source { path: PathBuf, name: String },
    #[error("{}: found a file that is no report of an import, expected none, an empty one or an earlier report; name another file, nothing was imported", .0.display())]
    Foreign(PathBuf),
    #[error("{}: {source}; nothing was imported", path.display())]
    Begin { path: PathBuf, source: io::Error },
    #[error("{}: {source}; the report was not written, run the import again to have it", path.display())]
    End { path: PathBuf, source: io::Error },
}

/// A checked place for a report.
#[derive(Debug)]
pub(super) struct ReportPlace {
    /// The path as it was named.
    named: PathBuf,
    /// The path of the file itself, with links resolved.
    file: PathBuf,
}

/// A report that is being written.
pub(super) struct Report {
    named: PathBuf,
    unfinished: UnfinishedFile,
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
    /// existing file must be empty or an earlier report.
    ///
    /// # Errors
    /// [`ReportError::Source`], [`ReportError::Foreign`], [`ReportError::Begin`].
    pub(super) fn check(path: &Path, sources: &[SourceFile]) -> Result<Self, ReportError> {
        let named = path.to_owned();
        let failed = |source| ReportError::Begin { path: path.to_owned(), source };
        let is_there = fs::symlink_metadata(path).map(|_| true);
        let is_there = is_there.or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(false),
            _ => Err(failed(error)),
        })?;
        if !is_there {
            let folder = fs::metadata(folder_of(path)).map_err(failed)?;
            let name = path.file_name().filter(|_| folder.is_dir());
            name.ok_or_else(|| failed(io::ErrorKind::NotADirectory.into()))?;
            return Ok(Self { file: named.clone(), named });
        }
        let file = path.canonicalize().map_err(failed)?;
        let opened = input_file::open_at_once(&file).map_err(failed)?;
        let metadata = opened.metadata().map_err(failed)?;
        input_file::must_be_regular(&metadata).map_err(failed)?;
        let identity = Some(FileIdentity::from(&metadata));
        if let Some(source) = sources.iter().find(|source| source.identity == identity) {
            return Err(ReportError::Source { path: named, name: source.name.clone() });
        }
        if !is_report(opened).map_err(failed)? {
            return Err(ReportError::Foreign(named));
        }
        Ok(Self { named, file })
    }

    /// Begins the report beside its place.
    ///
    /// # Errors
    /// [`ReportError::Begin`].
    pub(super) fn begin(&self) -> Result<(Report, BufWriter<File>), ReportError> {
        let failed = |source| ReportError::Begin { path: self.named.clone(), source };
        let unfinished = UnfinishedFile::begin(&self.file).map_err(failed)?;
        let file = unfinished.handle().map_err(failed)?;
        Ok((Report { named: self.named.clone(), unfinished }, BufWriter::new(file)))
    }
}

impl Report {
    /// Renames the finished report to its place. Everything must be written to its file before.
    ///
    /// # Errors
    /// [`ReportError::End`].
    pub(super) fn finish(self) -> Result<(), ReportError> {
        let Self { named, unfinished } = self;
        unfinished.finish().map_err(|source| ReportError::End { path: named, source })
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
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;
    use crate::files::source_files::find;
    use bitacora_import::{RecordLocation, UnmappedLine};

    const SOURCE: &str = "{\"a\":1}\n";

    fn line() -> String {
        let location = RecordLocation { file: "a".into(), number: 7 };
        format!("{}\n", UnmappedLine { location, reason: "why".to_owned() }.to_json())
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
        let sources = find(&[at("source"), at("empty"), at("below")]).unwrap();
        for name in ["source", "link", "link-to-link", "same", "below/../source", "empty"]
            .into_iter()
            .chain(["below/earlier.jsonl", "folder/earlier.jsonl"])
        {
            let refused = ReportPlace::check(&at(name), &sources);
            assert!(matches!(refused, Err(ReportError::Source { .. })), "{name}: {refused:?}");
        }
        let linked = find(&[at("link-to-link"), at("folder/earlier.jsonl")]).unwrap();
        for name in ["source", "same", "below/earlier.jsonl"] {
            assert!(
                matches!(ReportPlace::check(&at(name), &linked), Err(ReportError::Source { .. })),
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
        let check = |name: &str| ReportPlace::check(&at(name), &[]);
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
        assert!(matches!(ReportPlace::check(Path::new("/dev/null"), &[]), Err(ReportError::Begin { .. })));
        fs::write(at("file"), line()).unwrap();
        for name in ["file", "new"] {
            check(name).unwrap();
        }
    }

    #[test]
    fn it_is_there_as_a_whole_at_the_end_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("report"), folder.path().join("link"));
        fs::write(&path, line()).unwrap();
        symlink(&path, &link).unwrap();
        let place = ReportPlace::check(&link, &[]).unwrap();
        let (report, mut writer) = place.begin().unwrap();
        writer.write_all(b"more").unwrap();
        writer.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), line());
        drop(report);
        assert_eq!(
            (fs::read_to_string(&path).unwrap(), fs::read_dir(folder.path()).unwrap().count()),
            (line(), 2)
        );
        let (report, mut writer) = place.begin().unwrap();
        writer.write_all(b"more").unwrap();
        writer.flush().unwrap();
        report.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "more");
        assert!(link.is_symlink() && fs::read_dir(folder.path()).unwrap().count() == 2);
    }
}
