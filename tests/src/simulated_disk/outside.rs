//! Changes of a disk without the ledger: setting up, looking, rot, and other people's hands.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SimulatedDisk;
use super::errno;
use super::fault::DiskCall;
use super::tree::{Mutation, error};

/// None of these can fail by arrangement, and all are durable at once.
impl SimulatedDisk {
    /// Makes a folder and all above it that are missing.
    pub fn make_folders(&self, folder: &Path) -> io::Result<()> {
        let mut machine = self.machine();
        let mut way = PathBuf::from("/");
        for component in folder.components() {
            way.push(component);
            match machine.tree.find(&way) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let (folder, name) = machine.tree.place(&way)?;
                    let inode = machine.tree.next_inode();
                    machine.take(DiskCall::Outside, &way, Mutation::PutFolder { folder, name, inode }, None);
                }
                Err(error) => return Err(error),
            }
        }
        let inode = machine.tree.find(folder)?;
        machine.tree.folder(inode).map(drop)
    }

    /// Puts a file with these contents there. If one was there, another file now has its name: handles of the old one stay usable.
    pub fn put(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        let mut machine = self.machine();
        let place = machine.tree.place(path)?;
        if let Some(inode) = machine.tree.at(&place)? {
            machine.tree.file(inode)?;
        }
        let (folder, name) = place;
        let inode = machine.tree.next_inode();
        let data = Arc::from(contents);
        machine.take(DiskCall::Outside, path, Mutation::Put { folder, name, inode, data }, None);
        Ok(())
    }

    /// Takes a file's name away; open handles stay usable.
    pub fn unlink(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.machine();
        let inode = machine.tree.find(path)?;
        machine.tree.file(inode)?;
        let (folder, name) = machine.tree.place(path)?;
        machine.take(DiskCall::Outside, path, Mutation::Unlink { folder, name }, None);
        Ok(())
    }

    /// Turns one bit (0 to 7) of a byte over, on the platter and in every cache.
    pub fn flip_bit(&self, path: &Path, offset: u64, bit: u32) -> io::Result<()> {
        let mut machine = self.machine();
        let inode = machine.tree.find(path)?;
        if offset >= machine.tree.file(inode)?.live().len() || bit > 7 {
            return Err(error(errno::EINVAL));
        }
        machine.take(DiskCall::Outside, path, Mutation::FlipBit { inode, offset, bit }, None);
        Ok(())
    }

    /// Sets the permission bits; they are shown and not enforced.
    pub fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        let mut machine = self.machine();
        let inode = machine.tree.find(path)?;
        machine.take(DiskCall::Outside, path, Mutation::SetMode { inode, mode }, None);
        Ok(())
    }

    /// Makes the page cache forget what it calls clean: what a failed sync lost now reads as it is on the platter.
    pub fn evict_clean_pages(&self) {
        self.machine().take(DiskCall::Outside, Path::new("/"), Mutation::EvictClean, None);
    }

    /// Returns the bytes that reading the whole file gives.
    pub fn contents(&self, path: &Path) -> io::Result<Vec<u8>> {
        let machine = self.machine();
        let content = machine.tree.file(machine.tree.find(path)?)?.live();
        let mut bytes = vec![0; content.len() as usize];
        content.read(&mut bytes, 0);
        Ok(bytes)
    }

    /// Returns the contents of the file that no crash can take, if its name stays.
    pub fn durable_contents(&self, path: &Path) -> io::Result<Vec<u8>> {
        let machine = self.machine();
        let content = machine.tree.file(machine.tree.find(path)?)?.durable();
        let mut bytes = vec![0; content.len() as usize];
        content.read(&mut bytes, 0);
        Ok(bytes)
    }

    /// Every file and folder below `/`, sorted.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.machine().tree.paths()
    }
}
