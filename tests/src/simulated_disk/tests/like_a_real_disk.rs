//! The same calls on a simulated and on a real disk give the same answers.

use std::path::PathBuf;

use bitacora_ledger::{FolderEntry, RealDisk};

use super::*;
use crate::seeded::SeededRandom;

/// A disk and the folder in it that stands for `/`.
struct Side {
    disk: Box<dyn Disk>,
    root: PathBuf,
    files: Vec<Arc<dyn DiskFile>>,
}

/// An answer that can be compared: errors by the system's number, or by kind where they have none.
type ComparableResult = Result<String, (Option<i32>, io::ErrorKind)>;

fn answer<T>(result: io::Result<T>, show: impl FnOnce(T) -> String) -> ComparableResult {
    result.map(show).map_err(|error| (error.raw_os_error(), error.kind()))
}

impl Side {
    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn open(&mut self, name: &str, mode: OpenMode) -> ComparableResult {
        let opened = self.disk.open(&self.at(name), mode);
        answer(opened, |file| {
            self.files.push(file);
            "opened".into()
        })
    }

    /// Takes the step that `random` says; both sides are given equal generators.
    fn step(&mut self, random: &mut SeededRandom) -> (String, ComparableResult) {
        const NAMES: [&str; 10] = ["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "a/x", "d/../b", "none/x"];
        let name = NAMES[random.index(NAMES.len())];
        let other = NAMES[random.index(NAMES.len())];
        let offset = random.below(9_000);
        let mut bytes = vec![0; random.index(5_000)];
        random.fill(&mut bytes);
        let choice = random.below(22);
        let file = self.files.get(random.index(self.files.len())).cloned();
        let shown = |()| String::new();
        let done = match (choice, file) {
            (0 | 1, _) => self.open(name, OpenMode::CreateNew),
            (2, _) => self.open(name, OpenMode::Write),
            (3, _) => self.open(name, OpenMode::Read),
            (4, _) => answer(self.disk.create_folder(&self.at(name)), shown),
            (5 | 6, _) => answer(self.disk.rename(&self.at(name), &self.at(other)), shown),
            (7, _) => answer(self.disk.remove_file(&self.at(name)), shown),
            (8, _) => answer(self.disk.remove_folder(&self.at(name)), shown),
            (9, _) => answer(self.disk.exists(&self.at(name)), |exists| exists.to_string()),
            (10, _) => answer(self.disk.list(&self.at(name)), |entries| format!("{entries:?}")),
            (11, _) => Ok(format!("{:?}", self.disk.mode(&self.at(name)))),
            (12, Some(file)) => {
                let found = self.disk.identity(&self.at(name));
                let same = found.and_then(|found| Ok(found.is_same_file(&file.identity()?)));
                answer(same, |same| same.to_string())
            }
            (13, Some(_)) => {
                self.files.remove(random.index(self.files.len()));
                Ok("closed".into())
            }
            (14, Some(file)) => answer(file.set_len(offset), shown),
            (15, Some(file)) => answer(file.sync_data().and_then(|()| file.sync_all()), shown),
            (16 | 17, Some(file)) => answer(file.write_all_at(&bytes, offset), shown),
            (18 | 19, Some(file)) => answer(file.read_exact_at(&mut bytes, offset), |()| String::new())
                .map(|_| format!("{bytes:?}")),
            (_, Some(file)) => {
                let read = file.read_at(&mut bytes, offset);
                answer(read, |read| format!("{:?} of {:?}", Bytes(bytes[..read].to_vec()), file.len()))
            }
            (_, None) => Ok("nothing open".into()),
        };
        (format!("choice {choice} {name} {other} {offset} {}", bytes.len()), done)
    }

    /// Everything under a folder, read anew.
    fn everything(&self, folder: &Path) -> Vec<(FolderEntry, Bytes)> {
        let mut found = Vec::new();
        for entry in self.disk.list(folder).unwrap() {
            let path = folder.join(&entry.name);
            let mut bytes = Vec::new();
            if !entry.is_folder {
                let file = self.disk.open(&path, OpenMode::Read).unwrap();
                bytes = vec![0; file.len().unwrap() as usize];
                file.read_exact_at(&mut bytes, 0).unwrap();
            }
            let is_folder = entry.is_folder;
            found.push((entry, Bytes(bytes)));
            if is_folder {
                found.extend(self.everything(&path));
            }
        }
        found
    }
}

#[test]
fn random_calls_give_the_same_answers() {
    for seed in 0..60 {
        let folder = tempfile::tempdir().unwrap();
        let mut real = Side { disk: Box::new(RealDisk), root: folder.path().to_owned(), files: Vec::new() };
        let simulated = SimulatedDisk::new(seed);
        simulated.make_folders(path("/root")).unwrap();
        let mut simulated = Side { disk: Box::new(simulated), root: "/root".into(), files: Vec::new() };
        let (mut one, mut other) = (SeededRandom::new(seed), SeededRandom::new(seed));
        for number in 0..150 {
            let (step, expected) = real.step(&mut one);
            let (_, given) = simulated.step(&mut other);
            assert_eq!(given, expected, "seed {seed} step {number}: {step}");
        }
        let (real, simulated) = (real.everything(&real.root), simulated.everything(&simulated.root));
        assert_eq!(simulated, real, "seed {seed}");
    }
}

/// The two disks, for promises that are spelled out.
fn with_both(check: impl Fn(&dyn Disk, &Path)) {
    let folder = tempfile::tempdir().unwrap();
    check(&RealDisk, folder.path());
    check(&SimulatedDisk::new(1), path("/"));
}

#[test]
fn new_files_and_folders_are_their_owners_alone() {
    with_both(|disk, root| {
        let file = disk.open(&root.join("f"), OpenMode::CreateNew).unwrap();
        assert!(file.is_empty().unwrap());
        disk.create_folder(&root.join("d")).unwrap();
        assert_eq!(disk.mode(&root.join("f")), Some(0o600));
        assert_eq!(disk.mode(&root.join("d")), Some(0o700));
        assert_eq!(disk.mode(&root.join("none")), None);
        drop(disk.lock(&root.join("lock")).unwrap());
        assert_eq!(disk.mode(&root.join("lock")), Some(0o600));
    });
}

#[test]
fn a_lock_excludes_others_until_it_is_dropped() {
    with_both(|disk, root| {
        let file = root.join("lock");
        let lock = disk.lock(&file).unwrap();
        assert_eq!(disk.lock(&file).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        disk.lock(&root.join("other")).unwrap();
        drop(lock);
        let lock = disk.lock(&file).unwrap();
        assert_eq!(disk.lock(&file).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(lock);
        assert_eq!(disk.lock(&root.join("none/lock")).unwrap_err().kind(), io::ErrorKind::NotFound);
    });
}

#[test]
fn lists_are_sorted() {
    with_both(|disk, root| {
        for name in ["b", "a", "10", "9"] {
            disk.open(&root.join(name), OpenMode::CreateNew).unwrap();
        }
        disk.create_folder(&root.join("aa")).unwrap();
        let names: Vec<_> = disk.list(root).unwrap().into_iter().map(|e| (e.name, e.is_folder)).collect();
        let expected = [("10", false), ("9", false), ("a", false), ("aa", true), ("b", false)];
        assert_eq!(names, expected.map(|(name, is_folder)| (name.to_owned(), is_folder)));
    });
}

#[test]
fn reading_past_the_end_gives_nothing_or_says_so() {
    with_both(|disk, root| {
        let file = disk.open(&root.join("f"), OpenMode::CreateNew).unwrap();
        file.write_all_at(b"abc", 0).unwrap();
        assert_eq!(file.read_at(&mut [0; 4], 3).unwrap(), 0);
        assert_eq!(file.read_at(&mut [0; 4], 1).unwrap(), 2);
        file.read_exact_at(&mut [0; 3], 0).unwrap();
        file.read_exact_at(&mut [], 99).unwrap();
        let error = file.read_exact_at(&mut [0; 4], 0).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    });
}

#[test]
fn hopeless_names_and_places_are_refused_alike() {
    with_both(|disk, root| {
        let long = root.join("n".repeat(256));
        assert_eq!(disk.create_folder(&long).unwrap_err().kind(), io::ErrorKind::InvalidFilename);
        let nul = root.join("a\0b");
        let refused = disk.open(&nul, OpenMode::CreateNew).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        let file = disk.open(&root.join("f"), OpenMode::CreateNew).unwrap();
        assert_eq!(file.write_all_at(b"x", u64::MAX).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(file.set_len(u64::MAX).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(file.len().unwrap(), 0);
        let inside = disk.rename(root, &root.join("inside")).unwrap_err().kind();
        assert!(matches!(inside, io::ErrorKind::InvalidInput | io::ErrorKind::ResourceBusy), "{inside:?}");
    });
}

#[test]
fn an_open_file_can_be_told_from_what_has_its_name_now() {
    with_both(|disk, root| {
        let name = root.join("f");
        let file = disk.open(&name, OpenMode::CreateNew).unwrap();
        file.write_all_at(b"abc", 0).unwrap();
        let identity = disk.identity(&name).unwrap();
        assert!(file.identity().unwrap().is_same_file(&identity));
        assert_eq!(identity.bytes, 3);

        disk.rename(&name, &root.join("g")).unwrap();
        assert_eq!(disk.identity(&name).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(file.identity().unwrap().is_same_file(&disk.identity(&root.join("g")).unwrap()));

        drop(disk.open(&name, OpenMode::CreateNew).unwrap());
        disk.rename(&name, &root.join("g")).unwrap();
        assert!(!file.identity().unwrap().is_same_file(&disk.identity(&root.join("g")).unwrap()));
        assert_eq!(file.len().unwrap(), 3, "it lives on without a name");
    });
}
