//! The search for transcripts that are new or have grown.

use bitacora_import::{TranscriptContext, TranscriptForm};

use super::Watcher;
use crate::error::TranscriptFault;
use crate::followed::{Followed, Now};
use crate::limits::{MAX_TRANSCRIPTS, REREAD_WITHIN, SEARCH_EVERY};
use crate::positions::Position;
use crate::report::WatchReport;
use crate::roots::FoundTranscript;

impl Watcher {
    /// Follows what is new or has grown since it was let go.
    pub(super) fn search(&mut self, now: Now, told: &mut Vec<WatchReport>) {
        let Some(root) = self.root.clone() else { return };
        if self.searched.is_some_and(|searched| now.steady.duration_since(searched) < SEARCH_EVERY) {
            return;
        }
        let is_first = self.searched.is_none();
        self.searched = Some(now.steady);
        let mut found = root.search(self.rules.since);
        if found.len() > MAX_TRANSCRIPTS {
            self.tell_fault(&root.folder, &TranscriptFault::TooMany, told);
            found.drain(..found.len().saturating_sub(MAX_TRANSCRIPTS));
        }
        if is_first {
            let is_there = |path: &std::path::PathBuf| found.iter().any(|found| found.path == *path);
            self.positions.retain(|path, _| is_there(path));
        }
        self.status.known = found.len();
        for transcript in found {
            if let Some(fault) = &transcript.fault {
                self.tell_fault(&transcript.path, fault, told);
            } else if !self.followed.contains_key(&transcript.path) {
                self.follow(transcript, root.form, is_first, now);
            }
        }
        if is_first {
            let (transcripts, grown) = (self.status.known, self.followed.len());
            let (connection, folder) = (self.connection.name.clone(), root.folder.display().to_string());
            told.push(WatchReport::Watching { connection, folder, transcripts, grown });
        }
    }

    fn follow(&mut self, found: FoundTranscript, form: TranscriptForm, is_first: bool, now: Now) {
        let position = self.positions.get(&found.path).filter(|position| position.file == found.file);
        let is_whole = |position: &&Position| position.offset == found.length;
        // A chat whose calls have no ids of the gate is matched from its beginning: each of its calls takes a request.
        let is_matched_whole = form == TranscriptForm::Gemini;
        let is_recent = now.wall.duration_since(found.changed).unwrap_or_default() < REREAD_WITHIN;
        if position.filter(is_whole).is_some() && !(is_matched_whole && is_first && is_recent) {
            return;
        }
        let given = TranscriptContext { session: found.session, ..TranscriptContext::default() };
        let followed = Followed::new(found.path.clone(), form, given, now);
        let followed = match position.filter(|_| !is_matched_whole) {
            Some(position) => followed.behind(position),
            None => followed,
        };
        self.followed.insert(found.path, followed);
    }
}
