//! The files that every page loads: a style sheet, a script, the worker that all tabs share, an icon.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The path below which they lie.
pub(crate) const ASSETS: &str = "/console/assets/";

/// A file that pages load.
pub(crate) struct Asset {
    name: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) text: &'static str,
}

pub(crate) static STYLE: Asset = Asset {
    name: "console.css",
    media_type: "text/css; charset=utf-8",
    text: include_str!("../assets/console.css"),
};
pub(crate) static SCRIPT: Asset = Asset {
    name: "console.js",
    media_type: "text/javascript; charset=utf-8",
    text: include_str!("../assets/console.js"),
};
pub(crate) static WORKER: Asset = Asset {
    name: "changes.js",
    media_type: "text/javascript; charset=utf-8",
    text: include_str!("../assets/changes.js"),
};
pub(crate) static ICON: Asset =
    Asset { name: "icon.svg", media_type: "image/svg+xml", text: include_str!("../assets/icon.svg") };

impl Asset {
    /// Returns the address, which changes with the contents: a browser may keep them for ever.
    pub(crate) fn address(&self) -> String {
        format!("{ASSETS}{:016x}/{}", self.digest(), self.name)
    }

    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the file at this address, below [`ASSETS`].
    pub(crate) fn at(address: &str) -> Option<&'static Self> {
        let (_, name) = address.strip_prefix(ASSETS)?.split_once('/')?;
        [&STYLE, &SCRIPT, &WORKER, &ICON].into_iter().find(|asset| asset.name == name)
    }
}
