//! A page of this user alone that leads a browser to a secret address.
//!
//! A browser is started with the name of this file. The address itself would stand in the list of processes, which every user of the
//! machine reads.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// The name of the file. The next page takes its place.
const NAME: &str = "bitacora-console.html";
/// The variables that name a folder for files of a session, in the order in which they are looked at.
const FOLDERS: [&str; 2] = ["XDG_RUNTIME_DIR", "TMPDIR"];
/// The mode of the file.
const MODE: u32 = 0o600;
/// The mode bits that give anybody but a folder's owner access.
const OTHERS_BITS: u32 = 0o077;

/// Writes the page for an address into the user's own runtime folder, and returns its path.
///
/// # Errors
/// There is no folder that is this user's alone, the address could leave its place in the page, or the disk gives an error.
pub fn write_link_page(address: &str) -> io::Result<PathBuf> {
    let named = FOLDERS.iter().filter_map(std::env::var_os).map(PathBuf::from);
    let own = named.into_iter().find(|folder| folder.is_absolute() && is_own(folder));
    let folder = own.ok_or_else(|| io::Error::other("no folder is this user's alone"))?;
    write_in(&folder, address)
}

/// Returns `true` for a folder of this user that nobody else may enter.
fn is_own(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|found| {
        found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & OTHERS_BITS == 0
    })
}

fn write_in(folder: &Path, address: &str) -> io::Result<PathBuf> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$*+,;=%&".contains(&byte);
    if !address.bytes().all(is_plain) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the address has other characters than addresses have",
        ));
    }
    let path = folder.join(NAME);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let address = address.replace('&', "&amp;");
    let page = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<title>Bitacora</title>\n\
         <p><a href=\"{address}\">Open the console</a></p>\n"
    );
    let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&path)?;
    file.write_all(page.as_bytes())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn the_page_is_its_owners_and_leads_to_the_address() {
        let folder = tempfile::tempdir().unwrap();
        for code in ["one", "two"] {
            let address = format!("http://127.0.0.1:7717/console/sign-in?code={code}&next=%2Fconsole");
            let path = write_in(folder.path(), &address).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
            let page = fs::read_to_string(&path).unwrap();
            assert!(page.contains(&format!("0; url={}\"", address.replace('&', "&amp;"))), "{page}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the first one is gone");
    }

    #[test]
    fn no_address_leaves_its_place_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        for address in ["http://x/\"><script>", "http://x/ y", "http://x/\n", "http://x/'", "http://x/é"] {
            assert_eq!(write_in(folder.path(), address).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        let other = folder.path().join("other");
        fs::write(&other, "kept").unwrap();
        symlink(&other, folder.path().join(NAME)).unwrap();
        write_in(folder.path(), "http://x/").unwrap();
        assert_eq!(fs::read_to_string(other).unwrap(), "kept");
    }

    #[test]
    fn a_folder_that_others_may_enter_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(is_own(folder.path()));
        for mode in [0o755, 0o710, 0o701, 0o777] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert!(!is_own(folder.path()), "{mode:o}");
        }
    }
}
