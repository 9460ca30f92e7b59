//! The file of an import's report: written beside its place, and renamed at the end.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use bitacora_import::{ReportError, ReportPlace};

use crate::files::durable_file::UnfinishedFile;

/// A report that is being written.
pub(super) struct Report {
    named: PathBuf,
    unfinished: UnfinishedFile,
}

impl Report {
    /// Begins the report beside its place.
    ///
    /// # Errors
    /// [`ReportError::Begin`].
    pub(super) fn begin(place: &ReportPlace) -> Result<(Self, BufWriter<File>), ReportError> {
        let failed = |source| ReportError::Begin { path: place.named.clone(), source };
        let unfinished = UnfinishedFile::begin(&place.file).map_err(failed)?;
        let file = unfinished.handle().map_err(failed)?;
        Ok((Self { named: place.named.clone(), unfinished }, BufWriter::new(file)))
    }

    /// Renames the finished report to its place. Everything must be written to its file before.
    ///
    /// # Errors
    /// [`ReportError::End`].
    pub(super) fn finish(self) -> Result<(), ReportError> {
        let Self { named, unfinished } = self;
        unfinished.finish().map_err(|source| ReportError::End { path: named, source })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use bitacora_import::{RecordLocation, UnmappedLine};

    use super::*;
    use crate::files::input_file;

    fn line() -> String {
        let location = RecordLocation { file: "a".into(), number: 7 };
        format!("{}\n", UnmappedLine { location, reason: "why".to_owned() }.to_json())
    }

    #[test]
    fn it_is_there_as_a_whole_at_the_end_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("report"), folder.path().join("link"));
        fs::write(&path, line()).unwrap();
        symlink(&path, &link).unwrap();
        let place = ReportPlace::check(&link, &[], input_file::open).unwrap();
        let (report, mut writer) = Report::begin(&place).unwrap();
        writer.write_all(b"more").unwrap();
        writer.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), line());
        drop(report);
        assert_eq!(
            (fs::read_to_string(&path).unwrap(), fs::read_dir(folder.path()).unwrap().count()),
            (line(), 2)
        );
        let (report, mut writer) = Report::begin(&place).unwrap();
        writer.write_all(b"more").unwrap();
        writer.flush().unwrap();
        report.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "more");
        assert!(link.is_symlink() && fs::read_dir(folder.path()).unwrap().count() == 2);
    }
}
