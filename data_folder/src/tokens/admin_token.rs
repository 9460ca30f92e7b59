//! The admin token beside the keyring: created by `serve`, found by commands on the same machine.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bitacora_client::Token;
use bitacora_formats::LedgerName;
use bitacora_server::{FirstToken, FirstTokenError, FirstTokens};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::geteuid;
use zeroize::Zeroizing;

use crate::durable_file;
use crate::keys::keyring_file::location::lies_in_data;
use crate::tokens::token::{MAX_FILE_BYTES, TokenError, generate_token, token_hash};

/// The suffix of the file's name, behind the keyring's name.
const BESIDE_KEYRING: &str = ".admin-token";
/// The mode bits that give anybody but the file's owner access.
const OTHERS_BITS: u32 = 0o077;

/// Returns the path of the file beside a keyring.
#[must_use]
pub fn admin_token_path(keyring: &Path) -> PathBuf {
    let mut path = OsString::from(keyring);
    path.push(BESIDE_KEYRING);
    path.into()
}

/// Returns `true` if the file name ends in `.admin-token`.
pub(crate) fn is_named_so(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(BESIDE_KEYRING))
}

/// Reads the token. `None` if there is no such file.
///
/// # Errors
/// A file that others may read or change, that belongs to another user, that is a symbolic link, or that lies in the data folder,
/// is refused: others may know the token by now, or may have put it there.
pub fn read_admin_token(path: &Path, data: Option<&Path>) -> Result<Option<Token>, TokenError> {
    read_as(geteuid().as_raw(), path, data)
}

fn read_as(user: u32, path: &Path, data: Option<&Path>) -> Result<Option<Token>, TokenError> {
    let failed = |source| TokenError::File { path: path.to_owned(), source };
    if let Some(data) = data.filter(|data| lies_in_data(path, data)) {
        return Err(TokenError::InData { path: path.to_owned(), data: data.to_owned() });
    }
    // Without waiting: a pipe of that name has perhaps no writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = match open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(TokenError::Link(path.to_owned())),
        Err(error) => return Err(failed(error.into())),
    };
    must_be_private(user, path, &file)?;
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_FILE_BYTES as u64 + 1).read_to_string(&mut text).map_err(failed)?;
    let malformed = |source| TokenError::Malformed { place: path.display().to_string(), source };
    text.parse().map(Some).map_err(malformed)
}

/// Checks the opened file, not the one that has its name by now.
fn must_be_private(user: u32, path: &Path, file: &File) -> Result<(), TokenError> {
    let failed = |source| TokenError::File { path: path.to_owned(), source };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::other("not a file")));
    }
    let owner = metadata.uid();
    if owner != user {
        return Err(TokenError::OfAnother { path: path.to_owned(), owner, user });
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & OTHERS_BITS != 0 {
        return Err(TokenError::OpenToOthers { path: path.to_owned(), mode });
    }
    Ok(())
}

/// The file that first tokens are written to, and read from again.
pub struct AdminTokenFile {
    path: PathBuf,
    data: PathBuf,
}

impl AdminTokenFile {
    /// Returns the file beside this keyring, for ledgers of this data folder.
    #[must_use]
    pub fn beside(keyring: &Path, data: &Path) -> Self {
        Self { path: admin_token_path(keyring), data: data.to_owned() }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the token of the file, or creates both. Returned `Ok` ⇒ the file is durable. Concurrent callers get the
    /// same token: one of them creates the file, and the others read it.
    fn token(&self) -> Result<Token, TokenError> {
        let failed = |source| TokenError::File { path: self.path.clone(), source };
        if let Some(token) = self.found()? {
            return Ok(token);
        }
        let token = generate_token().map_err(failed)?;
        let line = Zeroizing::new(format!("{}\n", token.reveal()));
        match durable_file::create_whole(&self.path, line.as_bytes()) {
            Ok(()) => Ok(token),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.found()?.ok_or_else(|| failed(error))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Returns the token of an existing file. Its name is made durable: its creator may have crashed before that.
    fn found(&self) -> Result<Option<Token>, TokenError> {
        let token = read_admin_token(&self.path, Some(&self.data))?;
        if token.is_some() {
            let failed = |source| TokenError::File { path: self.path.clone(), source };
            durable_file::sync_name(&self.path).map_err(failed)?;
        }
        Ok(token)
    }
}

impl FirstTokens for AdminTokenFile {
    fn first_token(&self, _: &LedgerName) -> Result<FirstToken, FirstTokenError> {
        let token = self.token().map_err(|error| FirstTokenError(Box::new(error)))?;
        Ok(FirstToken { hash: token_hash(&token), place: self.path.display().to_string() })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn it_is_made_once_beside_the_keyring_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = AdminTokenFile::beside(&folder.path().join("keyring"), &folder.path().join("data"));
        assert_eq!(file.path(), folder.path().join("keyring.admin-token"));
        assert!(read_admin_token(file.path(), None).unwrap().is_none());
        let made = file.token().unwrap();
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(fs::read_to_string(file.path()).unwrap(), format!("{}\n", made.reveal()));
        assert_eq!(token_hash(&file.token().unwrap()), token_hash(&made), "it is taken again");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn several_that_make_it_at_once_have_the_same_token() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let file = AdminTokenFile::beside(&folder.path().join("keyring"), &folder.path().join("data"));
            let at_once = Barrier::new(4);
            let hashes: Vec<_> = thread::scope(|scope| {
                let make = || {
                    at_once.wait();
                    token_hash(&file.token().unwrap())
                };
                let makers = [(); 4].map(|()| scope.spawn(make));
                makers.map(|maker| maker.join().unwrap()).into()
            });
            let kept = token_hash(&file.token().unwrap());
            assert!(hashes.iter().all(|hash| *hash == kept), "somebody has a token that no file holds");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
        }
    }

    #[test]
    fn a_file_that_others_may_read_or_that_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = AdminTokenFile::beside(&folder.path().join("keyring"), &folder.path().join("data"));
        file.token().unwrap();
        for mode in [0o644, 0o640, 0o604, 0o620, 0o601, 0o666] {
            chmod(file.path(), mode);
            let refused = read_admin_token(file.path(), None).err();
            assert!(matches!(refused, Some(TokenError::OpenToOthers { mode: found, .. }) if found == mode));
            assert!(file.token().is_err(), "{mode:o}: nor is it written over");
        }
        chmod(file.path(), 0o400);
        assert!(read_admin_token(file.path(), None).unwrap().is_some());
        fs::remove_file(file.path()).unwrap();
        fs::create_dir(file.path()).unwrap();
        assert!(read_admin_token(file.path(), None).is_err() && file.token().is_err());
    }

    #[test]
    fn a_file_in_the_data_folder_is_refused_by_whatever_name() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        let inside = AdminTokenFile::beside(&data.join("keyring"), &data);
        assert!(matches!(inside.token().err(), Some(TokenError::InData { .. })));
        let outside = AdminTokenFile::beside(&folder.path().join("keyring"), &data);
        assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
        fs::write(data.join("token"), "").unwrap();
        symlink(data.join("token"), outside.path()).unwrap();
        assert!(matches!(outside.token().err(), Some(TokenError::InData { .. })));
    }

    #[test]
    fn a_link_is_refused_wherever_it_points() {
        let folder = tempfile::tempdir().unwrap();
        let (data, elsewhere) = (folder.path().join("data"), folder.path().join("elsewhere"));
        AdminTokenFile { path: elsewhere.clone(), data: data.clone() }.token().unwrap();
        let file = AdminTokenFile::beside(&folder.path().join("keyring"), &data);
        for target in [elsewhere, folder.path().join("nothing"), file.path().to_owned()] {
            symlink(&target, file.path()).unwrap();
            assert!(matches!(file.token().err(), Some(TokenError::Link(_))), "{target:?}");
            assert_eq!(fs::read_link(file.path()).unwrap(), target, "nor is it replaced");
            fs::remove_file(file.path()).unwrap();
        }
    }

    #[test]
    fn a_file_of_another_user_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = AdminTokenFile::beside(&folder.path().join("keyring"), &folder.path().join("data"));
        file.token().unwrap();
        let own = geteuid().as_raw();
        assert!(read_as(own, file.path(), None).unwrap().is_some());
        let refused = read_as(own + 1, file.path(), None).err();
        assert!(
            matches!(refused, Some(TokenError::OfAnother { owner, user, .. }) if (owner, user) == (own, own + 1))
        );
    }
}
