//! The members of a bundle: plain files in a tar archive, each known, in one order. Nothing is unpacked to the disk.

use super::error::BundleError;

pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const SIGNING_KEYS: &str = "signing-keys.note";
pub(super) const PROOFS_HEAD: &str = "heads/proofs.note";
pub(super) const LAST_HEAD: &str = "heads/last.note";
pub(super) const EVENTS: &str = "events.ndjson";
pub(super) const PROOFS: &str = "proofs.ndjson";

/// The members in their order. The last head alone may be absent.
const NAMES: [&str; 8] =
    ["README.txt", MANIFEST, "bitacora_verify.py", SIGNING_KEYS, PROOFS_HEAD, LAST_HEAD, EVENTS, PROOFS];

/// The size of a header, and the unit of contents, bytes.
const BLOCK_BYTES: usize = 512;
/// The zeros at the end of an archive, at least, bytes.
const END_BYTES: usize = 2 * BLOCK_BYTES;

/// The contents of the members, by name.
pub(super) struct BundleMembers<'a>(Vec<(&'static str, &'a [u8])>);

impl<'a> BundleMembers<'a> {
    /// Reads the archive.
    pub(super) fn read(archive: &'a [u8]) -> Result<Self, BundleError> {
        let mut found = Vec::new();
        let (mut at, mut expected) = (0, NAMES.as_slice());
        loop {
            let header = archive.get(at..at + BLOCK_BYTES).ok_or(fault(at, "the file ends in a header"))?;
            if header.iter().all(|byte| *byte == 0) {
                break;
            }
            let (name, bytes) = read_header(header).map_err(|what| fault(at, what))?;
            if let [LAST_HEAD, after, ..] = expected
                && name == after.as_bytes()
            {
                expected = expected.get(1..).unwrap_or_default();
            }
            let Some((known, rest)) = expected.split_first().filter(|(known, _)| known.as_bytes() == name)
            else {
                let expected = expected.first().map_or_else(|| "none".to_owned(), |name| (*name).to_owned());
                return Err(BundleError::Member {
                    found: String::from_utf8_lossy(name).into_owned(),
                    expected,
                });
            };
            let begin = at + BLOCK_BYTES;
            let end = begin.checked_add(bytes).filter(|end| *end <= archive.len());
            let end = end.ok_or(fault(at, "the file ends in the content of a member"))?;
            let padded = end.next_multiple_of(BLOCK_BYTES).min(archive.len());
            let (content, padding) = (archive.get(begin..end), archive.get(end..padded));
            if padding.is_none_or(|padding| padding.iter().any(|byte| *byte != 0)) {
                return Err(fault(end, "bytes between two members"));
            }
            found.push((*known, content.unwrap_or_default()));
            (at, expected) = (padded, rest);
        }
        let end = archive.get(at..).unwrap_or_default();
        if end.len() < END_BYTES || end.iter().any(|byte| *byte != 0) {
            return Err(fault(at, "the end is not two blocks of zeros or more"));
        }
        match expected {
            [] => Ok(Self(found)),
            [missing, ..] => Err(BundleError::Missing { missing }),
        }
    }

    /// Returns all members but this one, in their order.
    pub(super) fn others(&self, left_out: &str) -> impl Iterator<Item = (&'static str, &'a [u8])> {
        self.0.iter().copied().filter(move |(name, _)| *name != left_out)
    }

    /// Returns the content of a member, if it is there.
    pub(super) fn get(&self, name: &'static str) -> Option<&'a [u8]> {
        self.0.iter().find(|(found, _)| *found == name).map(|(_, content)| *content)
    }

    /// Returns the content of a member that is text.
    pub(super) fn text(&self, name: &'static str) -> Result<&'a str, BundleError> {
        let content = self.get(name).ok_or(BundleError::Missing { missing: name })?;
        std::str::from_utf8(content).map_err(|_| BundleError::Form {
            member: name,
            what: "found bytes that are not UTF-8".to_owned(),
        })
    }
}

fn fault(offset: usize, what: &'static str) -> BundleError {
    BundleError::Archive { offset, what }
}

/// Returns the name in a header, and the length of its content. Any other thing than a plain file is refused: links,
/// devices, long names, sparse files.
fn read_header(header: &[u8]) -> Result<(&[u8], usize), &'static str> {
    let field = |begin: usize, end: usize| header.get(begin..end).unwrap_or_default();
    // The sum counts its own field as spaces.
    let sum = header.iter().map(|byte| usize::from(*byte)).sum::<usize>();
    let own = field(148, 156).iter().map(|byte| usize::from(*byte)).sum::<usize>();
    if octal(field(148, 156)) != Some(sum - own + 8 * usize::from(b' ')) {
        return Err("the checksum of a header does not hold");
    }
    if field(257, 262) != b"ustar" {
        return Err("a header is not of the format ustar");
    }
    if !matches!(field(156, 157), [0 | b'0']) {
        return Err("a member is no plain file");
    }
    if field(345, 500).iter().any(|byte| *byte != 0) {
        return Err("a name is longer than any member's");
    }
    let name = field(0, 100);
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    let bytes = octal(field(124, 136)).ok_or("the length of a member is not in octal digits")?;
    Ok((name.get(..length).unwrap_or_default(), bytes))
}

/// Reads octal digits, behind which are zeros or spaces alone.
fn octal(field: &[u8]) -> Option<usize> {
    let digits = field.iter().take_while(|byte| (b'0'..=b'7').contains(*byte)).count();
    let (digits, rest) = field.split_at_checked(digits)?;
    if digits.is_empty() || !rest.iter().all(|byte| matches!(byte, 0 | b' ')) {
        return None;
    }
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an archive of these members, each with the content `x`.
    fn archive(names: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for name in names {
            let mut header = [0; BLOCK_BYTES];
            header[..name.len()].copy_from_slice(name.as_bytes());
            header[124..135].copy_from_slice(b"00000000001");
            header[156] = b'0';
            header[257..262].copy_from_slice(b"ustar");
            with_sum(&mut header);
            bytes.extend(header);
            bytes.push(b'x');
            bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
        }
        bytes.resize(bytes.len() + END_BYTES, 0);
        bytes
    }

    fn with_sum(header: &mut [u8]) {
        header[148..156].fill(b' ');
        let sum: usize = header.iter().map(|byte| usize::from(*byte)).sum();
        header[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
    }

    fn refusal(archive: &[u8]) -> String {
        BundleMembers::read(archive).err().unwrap().to_string()
    }

    #[test]
    fn members_are_read_in_their_order_and_no_others() {
        let whole = archive(&NAMES);
        let members = BundleMembers::read(&whole).ok().unwrap();
        assert_eq!(members.get(EVENTS), Some(&b"x"[..]));
        assert_eq!(members.others(MANIFEST).count(), NAMES.len() - 1);
        let short: Vec<_> = NAMES.into_iter().filter(|name| *name != LAST_HEAD).collect();
        assert!(BundleMembers::read(&archive(&short)).ok().unwrap().get(LAST_HEAD).is_none());
        for other in ["../../etc/cron.d/x", "/etc/passwd", "more", "README.txt"] {
            let mut names = NAMES.to_vec();
            names[1] = other;
            assert!(refusal(&archive(&names)).contains("expected manifest.json"), "{other}");
        }
        let twice: Vec<_> = NAMES.into_iter().chain([PROOFS]).collect();
        assert!(refusal(&archive(&twice)).contains("expected none"));
        assert!(refusal(&archive(&NAMES[..7])).contains("no member proofs.ndjson"));
        assert!(refusal(&archive(&[])).contains("no member README.txt"));
    }

    #[test]
    fn a_file_that_is_no_such_archive_is_refused() {
        let whole = archive(&NAMES);
        for cut in [0, 1, 511, 512, 600, whole.len() - END_BYTES, whole.len() - 1] {
            assert!(BundleMembers::read(&whole[..cut]).is_err(), "{cut}");
        }
        let more = [&whole[..], b"x"].concat();
        assert!(refusal(&more).contains("not two blocks of zeros"));
        assert!(refusal(&[0x1f, 0x8b, 8].repeat(400)).contains("checksum"));
        let changed = |at: usize, to: &[u8]| {
            let mut changed = whole.clone();
            changed[at..at + to.len()].copy_from_slice(to);
            with_sum(&mut changed[..BLOCK_BYTES]);
            refusal(&changed)
        };
        assert!(changed(156, b"2").contains("no plain file"), "a link");
        assert!(changed(156, b"L").contains("no plain file"), "a long name");
        assert!(changed(156, b"x").contains("no plain file"), "a header of pax");
        assert!(changed(345, b"..").contains("name is longer"), "a prefix");
        assert!(changed(257, b"USTAR").contains("format ustar"));
        assert!(changed(124, b"77777777777").contains("ends in the content"));
        assert!(changed(124, &[0x80]).contains("octal"), "a length of other digits");
        let mut between = whole.clone();
        between[BLOCK_BYTES + 1] = 1;
        assert!(refusal(&between).contains("between two members"));
    }
}
