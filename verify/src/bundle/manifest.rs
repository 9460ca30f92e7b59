//! The manifest of a bundle: what was asked for, and the digest of every other member.

use bitacora_formats::{format_time, parse_time};
use sha2::{Digest as _, Sha256};

use super::error::BundleError;
use super::json_object::JsonObject;
use super::members::{BundleMembers, MANIFEST};

/// The format of bundles that can be read.
const FORMAT: &str = "bitacora-bundle v1";
/// The members that a manifest has.
const NEEDED: [&str; 9] =
    ["format", "ledger", "after", "until", "events", "first", "last", "treeSize", "members"];
/// The members that a manifest may have.
const FILTERS: [&str; 4] = ["since", "before", "session", "run"];

/// The manifest. Nobody signed it.
pub(super) struct BundleManifest {
    pub(super) ledger: String,
    pub(super) after: u64,
    pub(super) until: u64,
    pub(super) since: Option<String>,
    pub(super) before: Option<String>,
    pub(super) session: Option<String>,
    pub(super) run: Option<String>,
    pub(super) events: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) tree_size: u64,
}

impl BundleManifest {
    /// Reads the manifest, and compares the members with their digests.
    pub(super) fn read(members: &BundleMembers<'_>) -> Result<Self, BundleError> {
        let object = JsonObject::read(members.text(MANIFEST)?).map_err(form)?;
        let is_known = |name: &str| NEEDED.contains(&name) || FILTERS.contains(&name);
        if let Some(other) = object.names().find(|name| !is_known(name)) {
            return Err(form(format!("found the member {other:?}, which no manifest has")));
        }
        let format = object.text("format").map_err(form)?;
        if format != FORMAT {
            return Err(form(format!("found the format {format:?}, expected {FORMAT}")));
        }
        check_members(&object, members)?;
        let decimal = |name: &str| object.decimal(name).map_err(form);
        let filter = |name: &str| match object.get(name) {
            None => Ok(None),
            Some(_) => object.text(name).map(Some).map_err(form),
        };
        // Times are compared as texts, which their one form allows.
        let time = |name: &str| match filter(name)? {
            Some(text) if parse_time(&text).is_ok_and(|time| format_time(time) == text) => Ok(Some(text)),
            Some(text) => Err(form(format!(
                "found {text:?} in {name}, expected a time with six digits of a second and Z"
            ))),
            None => Ok(None),
        };
        Ok(Self {
            ledger: object.text("ledger").map_err(form)?,
            after: decimal("after")?,
            until: decimal("until")?,
            since: time("since")?,
            before: time("before")?,
            session: filter("session")?,
            run: filter("run")?,
            events: decimal("events")?,
            first: decimal("first")?,
            last: decimal("last")?,
            tree_size: decimal("treeSize")?,
        })
    }

    /// Returns `true` if the events are of a session or a run.
    pub(super) fn is_of_a_session(&self) -> bool {
        self.session.is_some() || self.run.is_some()
    }

    /// Returns `true` if the events are all those of a range of positions.
    pub(super) fn is_of_a_range(&self) -> bool {
        !self.is_of_a_session() && self.since.is_none() && self.before.is_none()
    }
}

fn form(what: String) -> BundleError {
    BundleError::Form { member: MANIFEST, what }
}

/// Compares the list of members with the members.
fn check_members(manifest: &JsonObject<'_>, members: &BundleMembers<'_>) -> Result<(), BundleError> {
    let listed: Vec<JsonObject<'_>> = manifest.value("members", "list of members").map_err(form)?;
    let others: Vec<_> = members.others(MANIFEST).collect();
    if listed.len() != others.len() {
        return Err(form(format!("found {} members in its list, expected {}", listed.len(), others.len())));
    }
    for (listed, (name, content)) in listed.iter().zip(others) {
        let mut names: Vec<_> = listed.names().collect();
        names.sort_unstable();
        if names != ["bytes", "name", "sha256"] || listed.text("name").map_err(form)? != name {
            return Err(form(format!("found another entry, expected name, bytes and sha256 of {name}")));
        }
        let differs = |found: String, expected: String| BundleError::Digest { member: name, found, expected };
        let bytes = listed.decimal("bytes").map_err(form)?;
        if bytes != content.len() as u64 {
            return Err(differs(format!("{} bytes", content.len()), bytes.to_string()));
        }
        let (found, expected) = (hex::encode(Sha256::digest(content)), listed.text("sha256").map_err(form)?);
        if found != expected {
            return Err(differs(format!("the SHA-256 {found}"), expected));
        }
    }
    Ok(())
}
