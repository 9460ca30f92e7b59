//! The folders in which harnesses write transcripts, and the search for them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bitacora_harness::Dialect;
use bitacora_import::TranscriptForm;

use crate::error::TranscriptFault;
use crate::limits::{MAX_DEPTH, MAX_ENTRIES, MAX_PATH_BYTES};
use crate::tail::{identity, open};

/// The folder of a connection's transcripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) folder: PathBuf,
    pub(crate) form: TranscriptForm,
    /// The one project whose chats are read, of Gemini CLI.
    project: Option<PathBuf>,
}

/// A file that looks like a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundTranscript {
    pub(crate) path: PathBuf,
    pub(crate) changed: SystemTime,
    /// The file, by device and inode, and its length.
    pub(crate) file: (u64, u64),
    pub(crate) length: u64,
    /// The reason why it is not read.
    pub(crate) fault: Option<TranscriptFault>,
    /// The session of a subagent's chat, which only its folder names.
    pub(crate) session: Option<String>,
}

/// A search, with the number of entries that it may still look at.
struct Search<'a> {
    form: TranscriptForm,
    project: Option<&'a Path>,
    since: SystemTime,
    left: usize,
    found: &'a mut Vec<FoundTranscript>,
}

impl Root {
    /// Returns the folder in which a harness of this user writes; `None` where it writes none that can be read.
    pub(crate) fn of(
        dialect: Dialect,
        project: Option<&Path>,
        home: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let own = |name: &str, default: &str| {
            let named = variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
            named.unwrap_or_else(|| home.join(default))
        };
        let (folder, form) = match dialect {
            Dialect::Claude => {
                let projects = own("CLAUDE_CONFIG_DIR", ".claude").join("projects");
                let folder =
                    project.map_or_else(|| projects.clone(), |project| projects.join(encoded(project)));
                (folder, TranscriptForm::ClaudeCode)
            }
            Dialect::Codex => (own("CODEX_HOME", ".codex").join("sessions"), TranscriptForm::Codex),
            Dialect::Gemini => (home.join(".gemini/tmp"), TranscriptForm::Gemini),
            // Its transcripts lie in a database of its own.
            Dialect::Cursor => return None,
        };
        Some(Self { folder, form, project: project.map(Path::to_owned) })
    }

    /// Returns the transcripts that were changed since, in the order of their change. Links are not followed.
    pub(crate) fn search(&self, since: SystemTime) -> Vec<FoundTranscript> {
        let mut found = Vec::new();
        let project = self.project.as_deref();
        let mut search = Search { form: self.form, project, since, left: MAX_ENTRIES, found: &mut found };
        search.folder(&self.folder, 0);
        found.sort_by(|a, b| (a.changed, &a.path).cmp(&(b.changed, &b.path)));
        found
    }
}

impl Search<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) {
        // A folder that cannot be read has nothing that can be compared; the harness cannot read it either.
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            if self.left == 0 {
                return;
            }
            self.left = self.left.saturating_sub(1);
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            if kind.is_dir() {
                if depth < MAX_DEPTH && !self.is_foreign(&path, depth) {
                    self.folder(&path, depth.saturating_add(1));
                }
                continue;
            }
            let Some(is_read) = self.is_transcript(&path) else { continue };
            let Ok(metadata) = entry.metadata() else { continue };
            let changed = metadata.modified().unwrap_or(UNIX_EPOCH);
            if changed < self.since {
                continue;
            }
            let fault = match (kind.is_symlink(), kind.is_file(), is_read) {
                (true, ..) => Some(TranscriptFault::Link),
                (_, false, _) => Some(TranscriptFault::NoFile),
                (.., false) => Some(TranscriptFault::OldForm),
                _ => None,
            };
            let session = self.session_of(&path);
            let (file, length) = (identity(&metadata), metadata.len());
            self.found.push(FoundTranscript { path, changed, file, length, fault, session });
        }
    }

    /// Returns `true` for the folder of another project of Gemini CLI, which names its project in a file.
    fn is_foreign(&self, folder: &Path, depth: usize) -> bool {
        let (Some(project), TranscriptForm::Gemini, 0) = (self.project, self.form, depth) else {
            return false;
        };
        let Ok(file) = open(&folder.join(".project_root")) else { return true };
        let mut named = String::new();
        let read = file.take(MAX_PATH_BYTES).read_to_string(&mut named);
        read.is_err() || Path::new(named.trim_end_matches('\n')) != project
    }

    /// Tells whether a file is a transcript by its name; `Some(false)` is one of a form that is not read.
    fn is_transcript(&self, path: &Path) -> Option<bool> {
        let name = path.file_name()?.to_str()?;
        let is_lines = name.ends_with(".jsonl");
        match self.form {
            TranscriptForm::ClaudeCode => is_lines.then_some(true),
            TranscriptForm::Codex => (is_lines && name.starts_with("rollout-")).then_some(true),
            TranscriptForm::Gemini => {
                let mut above = path.ancestors().skip(1).take(2).filter_map(Path::file_name);
                if !above.any(|folder| folder == CHATS) {
                    return None;
                }
                let is_old = name.starts_with("session-") && name.ends_with(".json");
                let is_replaced = is_old && path.with_extension("jsonl").exists();
                (is_lines || (is_old && !is_replaced)).then_some(is_lines)
            }
        }
    }

    /// Gemini CLI writes the chats of subagents into a folder named by the session.
    fn session_of(&self, path: &Path) -> Option<String> {
        if self.form != TranscriptForm::Gemini {
            return None;
        }
        let folder = path.parent()?.file_name()?.to_str()?;
        (folder != CHATS).then(|| folder.to_owned())
    }
}

/// The name of Gemini's folders of chats.
const CHATS: &str = "chats";

/// Returns the name of a project's folder of transcripts, as Claude Code makes it.
fn encoded(project: &Path) -> String {
    let text = project.to_string_lossy();
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Returns the time that lies so many microseconds after 1970.
pub(crate) fn at_micros(micros: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_micros(micros)).unwrap_or(UNIX_EPOCH)
}
