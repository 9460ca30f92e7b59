//! Uploads in parts: begun, fed, and made an object as a whole or not at all.

use std::collections::BTreeMap;

/// Those that were begun and neither completed nor given up.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    begun: BTreeMap<u64, Upload>,
    last: u64,
}

#[derive(Debug)]
struct Upload {
    key: String,
    parts: BTreeMap<u32, Vec<u8>>,
}

impl Uploads {
    pub(super) fn begin(&mut self, key: &str) -> u64 {
        self.last += 1;
        self.begun.insert(self.last, Upload { key: key.to_owned(), parts: BTreeMap::new() });
        self.last
    }

    /// Keeps the part and returns `true` if there is such an upload.
    pub(super) fn put(&mut self, id: u64, number: u32, bytes: Vec<u8>) -> bool {
        let upload = self.begun.get_mut(&id);
        upload.is_some_and(|upload| upload.parts.insert(number, bytes).is_none_or(|_| true))
    }

    /// Ends an upload, and returns the object's key and content.
    pub(super) fn complete(&mut self, id: u64) -> Option<(String, Vec<u8>)> {
        let upload = self.begun.remove(&id)?;
        Some((upload.key, upload.parts.into_values().flatten().collect()))
    }

    pub(super) fn give_up(&mut self, id: u64) {
        self.begun.remove(&id);
    }

    pub(super) fn len(&self) -> usize {
        self.begun.len()
    }
}
