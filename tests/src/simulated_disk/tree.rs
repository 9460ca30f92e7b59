//! All folders and files of a disk, with their durable names. A value: clones are independent.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::content::Content;
use super::crash::CrashPolicy;
use super::errno;
use super::file::FileNode;
use super::names::{NameEdit, NameJournal};
use crate::seeded::SeededRandom;

pub(super) const ROOT: u64 = 1;
const MAX_NAME_BYTES: usize = 255;
const NEW_FILE_MODE: u32 = 0o600;
const NEW_FOLDER_MODE: u32 = 0o700;

/// One step of a disk's history, enough to take it again.
#[derive(Debug, Clone)]
pub(super) enum Mutation {
    /// A call that changed nothing: it failed, or the disk lied.
    Nothing,
    Create {
        folder: u64,
        name: OsString,
        inode: u64,
        is_folder: bool,
    },
    Write {
        inode: u64,
        data: Arc<[u8]>,
        offset: u64,
    },
    SetLen {
        inode: u64,
        bytes: u64,
    },
    Sync {
        inode: u64,
    },
    /// A failed sync; with a seed, some sectors have arrived all the same.
    SyncFailing {
        inode: u64,
        arriving: Option<u64>,
    },
    SyncFolder {
        folder: u64,
    },
    /// A failed sync of a folder: its changes count as synced and are not.
    SyncFolderFailing {
        folder: u64,
    },
    Rename {
        from: (u64, OsString),
        to: (u64, OsString),
    },
    Remove {
        folder: u64,
        name: OsString,
    },
    /// From outside, durable at once: a file with these contents under this name.
    Put {
        folder: u64,
        name: OsString,
        inode: u64,
        data: Arc<[u8]>,
    },
    /// From outside, durable at once: a folder.
    PutFolder {
        folder: u64,
        name: OsString,
        inode: u64,
    },
    /// From outside, durable at once.
    Unlink {
        folder: u64,
        name: OsString,
    },
    FlipBit {
        inode: u64,
        offset: u64,
        bit: u32,
    },
    SetMode {
        inode: u64,
        mode: u32,
    },
    EvictClean,
}

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) body: NodeBody,
    pub(super) mode: u32,
    /// The number of its live names.
    pub(super) links: u32,
}

#[derive(Debug, Clone)]
pub(super) enum NodeBody {
    File(FileNode),
    Folder(FolderNode),
}

#[derive(Debug, Clone, Default)]
pub(super) struct FolderNode {
    pub(super) live: BTreeMap<OsString, u64>,
    durable: BTreeMap<OsString, u64>,
}

#[derive(Debug, Clone)]
pub(super) struct Tree {
    nodes: BTreeMap<u64, Node>,
    next_inode: u64,
    names: NameJournal,
}

impl Tree {
    pub(super) fn new() -> Self {
        let root = Node { body: NodeBody::Folder(FolderNode::default()), mode: NEW_FOLDER_MODE, links: 1 };
        Self { nodes: BTreeMap::from([(ROOT, root)]), next_inode: ROOT + 1, names: NameJournal::default() }
    }

    pub(super) fn next_inode(&self) -> u64 {
        self.next_inode
    }

    pub(super) fn node(&self, inode: u64) -> io::Result<&Node> {
        self.nodes.get(&inode).ok_or_else(|| error(errno::ENOENT))
    }

    pub(super) fn file(&self, inode: u64) -> io::Result<&FileNode> {
        match &self.node(inode)?.body {
            NodeBody::File(file) => Ok(file),
            NodeBody::Folder(_) => Err(error(errno::EISDIR)),
        }
    }

    pub(super) fn folder(&self, inode: u64) -> io::Result<&FolderNode> {
        match &self.node(inode)?.body {
            NodeBody::Folder(folder) => Ok(folder),
            NodeBody::File(_) => Err(error(errno::ENOTDIR)),
        }
    }

    /// Returns the inode that stands at this path now.
    pub(super) fn find(&self, path: &Path) -> io::Result<u64> {
        let mut way = vec![ROOT];
        for component in path.components() {
            let here = way.last().copied().unwrap_or(ROOT);
            let folder = self.folder(here)?;
            match component {
                Component::Normal(name) => {
                    check_name(name)?;
                    way.push(*folder.live.get(name).ok_or_else(|| error(errno::ENOENT))?);
                }
                Component::ParentDir => drop(way.pop()),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Ok(way.last().copied().unwrap_or(ROOT))
    }

    /// The folder that holds, or would hold, what the path names, and the name in it.
    pub(super) fn place(&self, path: &Path) -> io::Result<(u64, OsString)> {
        let name = path.file_name().ok_or_else(|| error(errno::EINVAL))?;
        check_name(name)?;
        let folder = self.find(path.parent().unwrap_or(Path::new("/")))?;
        self.folder(folder)?;
        Ok((folder, name.to_owned()))
    }

    pub(super) fn at(&self, place: &(u64, OsString)) -> io::Result<Option<u64>> {
        Ok(self.folder(place.0)?.live.get(&place.1).copied())
    }

    /// Every path below the root, sorted; folders too.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        let mut folders = vec![(PathBuf::from("/"), ROOT)];
        while let Some((path, inode)) = folders.pop() {
            let Ok(folder) = self.folder(inode) else { continue };
            for (name, child) in &folder.live {
                paths.push(path.join(name));
                folders.push((path.join(name), *child));
            }
        }
        paths.sort();
        paths
    }

    /// Returns `true` if `inner` is `outer` or lies somewhere in it.
    pub(super) fn is_within(&self, inner: u64, outer: u64) -> bool {
        inner == outer
            || self
                .folder(outer)
                .is_ok_and(|folder| folder.live.values().any(|child| self.is_within(inner, *child)))
    }

    /// Pages that take space: of files that have a name or are held open.
    pub(super) fn pages(&self, is_open: impl Fn(u64) -> bool) -> u64 {
        let takes_space = |(inode, node): &(&u64, &Node)| node.links > 0 || is_open(**inode);
        let pages = |(_, node): (&u64, &Node)| match &node.body {
            NodeBody::File(file) => file.live().pages(),
            NodeBody::Folder(_) => 0,
        };
        self.nodes.iter().filter(takes_space).map(pages).sum()
    }

    /// Takes one step. It has been checked against this tree, or one that came here by the same steps.
    pub(super) fn apply(&mut self, mutation: &Mutation) {
        match mutation {
            Mutation::Nothing => {}
            Mutation::Create { folder, name, inode, is_folder } => {
                let body = match is_folder {
                    true => NodeBody::Folder(FolderNode::default()),
                    false => NodeBody::File(FileNode::default()),
                };
                self.add_node(*inode, body);
                self.rename_here(vec![NameEdit { folder: *folder, name: name.clone(), inode: Some(*inode) }]);
            }
            Mutation::Write { inode, data, offset } => self.file_mut(*inode).write(data, *offset),
            Mutation::SetLen { inode, bytes } => self.file_mut(*inode).set_len(*bytes),
            Mutation::Sync { inode } => self.file_mut(*inode).sync(),
            Mutation::SyncFailing { inode, arriving } => {
                self.file_mut(*inode).sync_failing(arriving.map(SeededRandom::new).as_mut());
            }
            Mutation::SyncFolder { folder } => {
                let edits = self.names.sync_folder(*folder);
                self.make_durable(edits);
            }
            Mutation::SyncFolderFailing { folder } => self.names.lose_folder(*folder),
            Mutation::Rename { from, to } => {
                let inode = self.folder_mut(from.0).live.get(&from.1).copied();
                self.rename_here(vec![
                    NameEdit { folder: from.0, name: from.1.clone(), inode: None },
                    NameEdit { folder: to.0, name: to.1.clone(), inode },
                ]);
            }
            Mutation::Remove { folder, name } => {
                self.rename_here(vec![NameEdit { folder: *folder, name: name.clone(), inode: None }]);
            }
            Mutation::Put { folder, name, inode, data } => {
                let mut content = Content::default();
                content.write(data, 0);
                self.add_node(*inode, NodeBody::File(FileNode::settled(content)));
                self.set_name_for_good(*folder, name, Some(*inode));
            }
            Mutation::PutFolder { folder, name, inode } => {
                self.add_node(*inode, NodeBody::Folder(FolderNode::default()));
                self.set_name_for_good(*folder, name, Some(*inode));
            }
            Mutation::Unlink { folder, name } => self.set_name_for_good(*folder, name, None),
            Mutation::FlipBit { inode, offset, bit } => self.file_mut(*inode).flip_bit(*offset, *bit),
            Mutation::SetMode { inode, mode } => self.node_mut(*inode).mode = *mode,
            Mutation::EvictClean => self.nodes.values_mut().for_each(|node| {
                if let NodeBody::File(file) = &mut node.body {
                    file.evict_clean();
                }
            }),
        }
    }

    /// Returns the tree after a crash: only nodes that can be reached from the root, everything in them durable.
    pub(super) fn crashed(&self, policy: CrashPolicy, seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        let mut survivor = self.clone();
        survivor.make_durable(self.names.survivors(policy, &mut random));
        let mut image = Self { next_inode: self.next_inode, ..Self::new() };
        image.nodes.clear();
        survivor.copy_durable(ROOT, policy, &mut random, &mut image);
        image
    }

    fn copy_durable(&self, inode: u64, policy: CrashPolicy, random: &mut SeededRandom, image: &mut Self) {
        if let Some(node) = image.nodes.get_mut(&inode) {
            node.links += 1;
            return;
        }
        let Some(node) = self.nodes.get(&inode) else { return };
        // Its own choices: another file's history does not change what happens to this one.
        let mut choices = random.split();
        let names = match &node.body {
            NodeBody::File(_) => BTreeMap::new(),
            NodeBody::Folder(folder) => folder.durable.clone(),
        };
        let body = match &node.body {
            NodeBody::File(file) => {
                let shape = policy.shape_of_file(&mut choices);
                NodeBody::File(FileNode::settled(file.crashed(shape, &mut choices)))
            }
            NodeBody::Folder(_) => {
                NodeBody::Folder(FolderNode { live: names.clone(), durable: names.clone() })
            }
        };
        image.nodes.insert(inode, Node { body, mode: node.mode, links: 1 });
        for child in names.into_values() {
            self.copy_durable(child, policy, random, image);
        }
    }

    fn add_node(&mut self, inode: u64, body: NodeBody) {
        let mode = match body {
            NodeBody::File(_) => NEW_FILE_MODE,
            NodeBody::Folder(_) => NEW_FOLDER_MODE,
        };
        self.nodes.insert(inode, Node { body, mode, links: 0 });
        self.next_inode = self.next_inode.max(inode + 1);
    }

    /// Changes names for everybody to see, and remembers that this is not durable.
    fn rename_here(&mut self, edits: Vec<NameEdit>) {
        let mut inodes = Vec::new();
        for edit in &edits {
            inodes.extend(self.set_live_name(edit));
            inodes.extend(edit.inode);
        }
        self.names.add(edits, inodes);
    }

    /// Gives back what had the name before.
    fn set_live_name(&mut self, edit: &NameEdit) -> Option<u64> {
        let names = &mut self.folder_mut(edit.folder).live;
        let before = match edit.inode {
            Some(inode) => names.insert(edit.name.clone(), inode),
            None => names.remove(&edit.name),
        };
        if let Some(inode) = edit.inode {
            self.node_mut(inode).links += 1;
        }
        if let Some(before) = before {
            self.node_mut(before).links -= 1;
        }
        before
    }

    /// Makes durable with it what was under way for this name.
    fn set_name_for_good(&mut self, folder: u64, name: &OsStr, inode: Option<u64>) {
        let edit = NameEdit { folder, name: name.to_owned(), inode };
        self.set_live_name(&edit);
        let mut edits = self.names.settle_name(folder, name);
        edits.push(edit);
        self.make_durable(edits);
    }

    fn make_durable(&mut self, edits: Vec<NameEdit>) {
        for edit in edits {
            let names = &mut self.folder_mut(edit.folder).durable;
            match edit.inode {
                Some(inode) => names.insert(edit.name, inode),
                None => names.remove(&edit.name),
            };
        }
    }

    fn node_mut(&mut self, inode: u64) -> &mut Node {
        self.nodes.get_mut(&inode).expect("a mutation names a node of this tree")
    }

    fn file_mut(&mut self, inode: u64) -> &mut FileNode {
        match &mut self.node_mut(inode).body {
            NodeBody::File(file) => file,
            NodeBody::Folder(_) => panic!("a mutation took folder {inode} for a file"),
        }
    }

    fn folder_mut(&mut self, inode: u64) -> &mut FolderNode {
        match &mut self.node_mut(inode).body {
            NodeBody::Folder(folder) => folder,
            NodeBody::File(_) => panic!("a mutation took file {inode} for a folder"),
        }
    }
}

fn check_name(name: &OsStr) -> io::Result<()> {
    if name.as_bytes().contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(error(errno::ENAMETOOLONG));
    }
    Ok(())
}

pub(super) fn error(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}
