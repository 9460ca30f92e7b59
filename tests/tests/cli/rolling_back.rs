//! Tests of an older copy, another history and a new ledger: exit code 30, and nothing written.
//! A loss that the owner declares goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bitacora_ledger::{Disk, RealDisk};
use bitacora_tests::folders::copy_folder;
use bitacora_tests::http_client::HttpClient;
use bitacora_tests::service::ServiceFolder;

use crate::sample::{code, told, why};

const EVENT: &str = r#"{"specversion":"1.0","id":"ID","source":"urn:test","type":"x.noted","subject":"s"}"#;

struct RollbackFixture {
    folder: tempfile::TempDir,
    service: ServiceFolder,
}

impl RollbackFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service = ServiceFolder::new(crate::PROGRAM, folder.path());
        service.start().unwrap().terminate().unwrap();
        Self { folder, service }
    }

    fn run(&self, arguments: &[&str]) -> std::process::Output {
        let (name, more) = arguments.split_first().unwrap();
        let mut command = self.service.command(name);
        command.arg("--keyring").arg(self.service.keyring()).args(more).output().unwrap()
    }

    /// Appends one event in the folder.
    fn append(&self, id: &str) -> std::process::Output {
        let file = self.folder.path().join("event");
        fs::write(&file, EVENT.replace("ID", id)).unwrap();
        self.run(&["append", "--json", file.to_str().unwrap()])
    }

    fn data(&self) -> PathBuf {
        self.service.data()
    }

    fn copy(&self, name: &str) -> PathBuf {
        let copy = self.folder.path().join(name);
        copy_folder(&self.data(), &copy).unwrap();
        copy
    }

    fn put_back(&self, copy: &Path) {
        fs::remove_dir_all(self.data()).unwrap();
        copy_folder(copy, &self.data()).unwrap();
    }
}

/// Every file below, with what it holds.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn an_older_copy_is_not_opened_until_its_owner_declares_the_loss() {
    let fixture = RollbackFixture::new();
    assert_eq!(code(&fixture.append("a")), 0);
    let copy = fixture.copy("older");
    assert_eq!(code(&fixture.append("b")), 0);
    let anchor = fixture.folder.path().join("keyring.anchors");
    let verify = |what: &str| {
        let verified = fixture.run(&["verify", "--anchor", anchor.to_str().unwrap()]);
        (code(&verified), format!("{what}: {}", String::from_utf8_lossy(&verified.stdout)))
    };
    let (whole, shown) = verify("whole");
    assert_eq!(whole, 10, "{shown}");
    fixture.put_back(&copy);
    let (older, shown) = verify("older");
    assert_eq!(older, 30, "{shown}");
    let before = contents(&fixture.data());

    let refused = fixture.append("c");
    assert_eq!(code(&refused), 30, "{}", String::from_utf8_lossy(&refused.stderr));
    assert!(why(&refused).contains("an older copy"), "{}", why(&refused));
    let served = fixture.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(code(&served), 30, "{}", String::from_utf8_lossy(&served.stderr));
    assert_eq!(contents(&fixture.data()), before, "nothing was written");

    assert_eq!(code(&fixture.run(&["recover"])), 2, "a loss is declared by its name");
    let declared = fixture.run(&["recover", "--declare-loss", "--json"]);
    assert_eq!(code(&declared), 0, "{}", String::from_utf8_lossy(&declared.stderr));
    assert_eq!((&told(&declared)["generation"], &told(&declared)["lostEvents"]), (&2.into(), &3.into()));
    assert_eq!(told(&fixture.append("b"))["created"], 1, "what was lost is taken again");
    for keys in [&["verify"][..], &["verify", "--with-keys"]] {
        let verified = fixture.run(keys);
        assert_eq!(code(&verified), 10, "{}", String::from_utf8_lossy(&verified.stdout));
    }
    let shown = told(&fixture.run(&["verify", "--json"]));
    assert_eq!((&shown["generation"], shown["generations"].as_array().unwrap().len()), (&2.into(), 2));
    assert_eq!(shown["generations"][1]["generation"], 2);
    let shown = String::from_utf8(fixture.run(&["verify"]).stdout).unwrap();
    assert!(shown.contains("generation 2 begins at position"), "{shown}");
    assert!(shown.contains("not read, the event that says it is encrypted; --with-keys opens it"), "{shown}");
    what_was_lost_is_shown(&fixture);
    let again = fixture.run(&["recover", "--declare-loss"]);
    assert_eq!(code(&again), 1);
    assert!(why(&again).contains("nothing is lost"), "{}", why(&again));
    fixture.put_back(&copy);
    assert_eq!(code(&fixture.append("c")), 30, "the copy is older than the declaration");
}

/// The head that is not reached any more and the positions behind what is left, to whom has the keys.
fn what_was_lost_is_shown(fixture: &RollbackFixture) {
    let keyless = told(&fixture.run(&["verify", "--json"]));
    assert!(keyless["generations"][1]["declaredLoss"].is_null(), "{keyless}");
    let shown = told(&fixture.run(&["verify", "--json", "--with-keys"]));
    let [first, second] = [0, 1].map(|at| &shown["generations"][at]);
    assert!(first["declaredLoss"].is_null(), "{first}");
    let loss = &second["declaredLoss"];
    let number = |value: &serde_json::Value| value.as_str().unwrap().parse::<u64>().unwrap();
    let (lost, retained) = (number(&loss["lostHead"]["size"]), number(&loss["retained"]["size"]));
    assert_eq!((number(&loss["firstLost"]), number(&loss["lastLost"])), (retained + 1, lost));
    assert_eq!((lost - retained, number(&second["firstPosition"])), (3, retained + 1));
    assert_eq!((&loss["lostHead"]["signedBy"], &loss["lostHead"]["generation"]), (&1.into(), &1.into()));
    assert!(loss["lostHead"]["note"].as_str().unwrap().contains("/g1\n"), "{loss}");
    let explained = String::from_utf8(fixture.run(&["verify", "--with-keys", "--explain"]).stdout).unwrap();
    let positions =
        format!("lost before it: positions {} to {lost}, by the tree head of size {lost}", retained + 1);
    for line in [&positions, "losses        1 passed", "losses: the first event of the generation names"] {
        assert!(explained.contains(line), "{line}: {explained}");
    }
}

#[test]
fn damage_is_given_up_by_whoever_declares_it_lost() {
    let fixture = RollbackFixture::new();
    ["a", "b", "c"].iter().for_each(|id| assert_eq!(code(&fixture.append(id)), 0));
    let segment = fixture.data().join("ledgers/main/segments/0000000004.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).unwrap();
    assert_eq!(code(&fixture.run(&["verify"])), 40);
    let declared = fixture.run(&["recover", "--declare-loss"]);
    assert_eq!(code(&declared), 0, "{}", String::from_utf8_lossy(&declared.stderr));
    assert_eq!(told(&fixture.append("c"))["created"], 1);
    for keys in [&["verify"][..], &["verify", "--with-keys"]] {
        let verified = fixture.run(keys);
        assert_eq!(code(&verified), 10, "{}", String::from_utf8_lossy(&verified.stdout));
    }
}

#[test]
fn a_segment_that_is_missing_takes_what_is_behind_it_along_and_nothing_before_it() {
    let fixture = RollbackFixture::new();
    ["a", "b", "c"].iter().for_each(|id| assert_eq!(code(&fixture.append(id)), 0));
    let segments = fixture.data().join("ledgers/main/segments");
    fs::remove_file(segments.join("0000000004.seg")).unwrap();
    let read = |client: &mut HttpClient, path: &str| {
        client.get(&format!("/v1/ledgers/main/{path}"), "application/json").unwrap()
    };
    let mut service = fixture.service.start().unwrap();
    let mut client = HttpClient::connect(service.address).unwrap();
    assert_eq!(read(&mut client, "events?limit=100").status, 200, "what is before it is served");
    let event = EVENT.replace("ID", "d");
    let posted = client.post("/v1/ledgers/main/events", "application/cloudevents+json", event.as_bytes());
    assert_eq!(posted.unwrap().status, 503);
    let ready = client.get("/readyz", "application/json").unwrap();
    let why = String::from_utf8_lossy(&ready.body).into_owned();
    assert!(ready.status == 503 && why.contains("0000000004.seg") && why.contains("0000000005.seg"), "{why}");
    service.terminate().unwrap();
    assert_eq!(code(&fixture.run(&["verify"])), 40);

    let declared = fixture.run(&["recover", "--declare-loss", "--json"]);
    assert_eq!(code(&declared), 0, "{}", String::from_utf8_lossy(&declared.stderr));
    assert!(told(&declared)["lostEvents"].as_u64().unwrap() > 0, "{}", told(&declared));
    assert_eq!(told(&fixture.append("a"))["duplicates"], 1, "what was before it is there");
    assert_eq!(told(&fixture.append("c"))["created"], 1, "what was behind it is taken again");
    for keys in [&["verify"][..], &["verify", "--with-keys"]] {
        let verified = fixture.run(keys);
        assert_eq!(code(&verified), 10, "{}", String::from_utf8_lossy(&verified.stdout));
    }
    let mut service = fixture.service.start().unwrap();
    let mut client = HttpClient::connect(service.address).unwrap();
    assert_eq!(client.get("/readyz", "application/json").unwrap().status, 200);
    assert_eq!(read(&mut client, "treehead").status, 200);
    service.terminate().unwrap();
}

#[test]
fn a_new_ledger_in_its_place_is_neither_made_nor_opened() {
    let fixture = RollbackFixture::new();
    fs::remove_dir_all(fixture.data()).unwrap();
    let made = fixture.run(&["serve", "--create", "main", "--listen", "127.0.0.1:0"]);
    assert_eq!(code(&made), 30, "{}", String::from_utf8_lossy(&made.stderr));
    assert!(why(&made).contains("is remembered"), "{}", why(&made));

    // Made where nobody remembered anything, and put there.
    let other = fixture.folder.path().join("other");
    let elsewhere = ServiceFolder::new(crate::PROGRAM, &other);
    fs::create_dir(&other).unwrap();
    fs::copy(fixture.service.keyring(), elsewhere.keyring()).unwrap();
    elsewhere.start().unwrap().terminate().unwrap();
    copy_folder(&elsewhere.data(), &fixture.data()).unwrap();
    let refused = fixture.append("a");
    assert_eq!(code(&refused), 30, "{}", String::from_utf8_lossy(&refused.stderr));
    assert!(why(&refused).contains("this is ledger"), "{}", why(&refused));
}

#[test]
fn who_wants_no_anchor_or_another_one_says_so() {
    let fixture = RollbackFixture::new();
    let copy = fixture.copy("older");
    assert_eq!(code(&fixture.append("a")), 0);
    fixture.put_back(&copy);
    assert_eq!(code(&fixture.append("b")), 30);
    let file = fixture.folder.path().join("event");
    let file = file.to_str().unwrap();
    assert_eq!(code(&fixture.run(&["append", "--anchor", "none", file])), 0);
    let other = fixture.folder.path().join("elsewhere");
    let to_other = ["append", "--anchor", other.to_str().unwrap(), file];
    let refused = fixture.run(&to_other);
    assert_eq!(code(&refused), 30, "{}", why(&refused));
    assert!(why(&refused).contains("the anchor remembers nothing of it"), "{}", why(&refused));
    assert!(!other.exists());
    assert_eq!(code(&fixture.run(&[&to_other[..], &["--new-anchor"]].concat())), 0);
    assert!(other.join("main.head").exists());
    assert_eq!(code(&fixture.run(&to_other)), 0);
}

#[test]
fn ledgers_that_took_each_others_places_are_not_served() {
    let fixture = RollbackFixture::new();
    let ledgers = fixture.data().join("ledgers");
    // As one who has the disk alone would: another ledger of the same folder, which knows the same keys.
    let (service, folder) = (&fixture.service, fixture.folder.path());
    let more = |serve: &mut Command| {
        serve.args(["--create", "other"]);
    };
    service.start_with(more).unwrap().terminate().unwrap();
    fs::rename(ledgers.join("main"), folder.join("main")).unwrap();
    fs::rename(ledgers.join("other"), ledgers.join("main")).unwrap();
    fs::rename(folder.join("main"), ledgers.join("other")).unwrap();
    let served = fixture.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(code(&served), 30, "{}", String::from_utf8_lossy(&served.stderr));
    assert!(why(&served).contains("made under the name"), "{}", why(&served));
    let read = fixture.run(&["read"]);
    assert_eq!(code(&read), 30, "{}", why(&read));
}

#[test]
fn a_declaration_that_the_anchor_does_not_learn_of_is_not_called_done() {
    let fixture = RollbackFixture::new();
    assert_eq!(code(&fixture.append("a")), 0);
    let copy = fixture.copy("older");
    assert_eq!(code(&fixture.append("b")), 0);
    fixture.put_back(&copy);
    let anchors = fixture.folder.path().join("keyring.anchors");
    let held = RealDisk.lock(&anchors.join("main.lock")).unwrap();
    let declared = fixture.run(&["recover", "--declare-loss"]);
    let said = String::from_utf8_lossy(&declared.stderr);
    assert_eq!(code(&declared), 1, "{said}");
    assert!(said.contains("the anchor could not be moved to it"), "{said}");
    drop(held);
    assert_eq!(code(&fixture.append("c")), 0, "the next opening moves it");
    fixture.put_back(&copy);
    assert_eq!(code(&fixture.append("c")), 30);
}

#[test]
fn an_anchor_in_the_data_folder_is_refused_under_whatever_name() {
    let fixture = RollbackFixture::new();
    let (data, folder) = (fixture.data(), fixture.folder.path());
    std::os::unix::fs::symlink(&data, folder.join("link")).unwrap();
    std::os::unix::fs::symlink(folder.join("elsewhere"), data.join("leads-out")).unwrap();
    fs::write(folder.join("event"), EVENT.replace("ID", "a")).unwrap();
    let event = folder.join("event");
    let before = contents(&data.join("ledgers"));
    let inside = ["data", "data/anchors", "data/ledgers/../anchors", "link/anchors", "data/leads-out"];
    for anchor in inside.map(|name| folder.join(name)) {
        let commands = [
            &["append", event.to_str().unwrap()][..],
            &["recover", "--declare-loss"],
            &["verify"],
            &["serve", "--listen", "127.0.0.1:0"],
        ];
        for command in commands {
            let refused = fixture.run(&[command, &["--anchor", anchor.to_str().unwrap()]].concat());
            assert_eq!(code(&refused), 2, "{command:?} {}", anchor.display());
            assert!(why(&refused).contains("lies in the data folder"), "{}", why(&refused));
        }
    }
    assert_eq!(contents(&data.join("ledgers")), before, "nothing was written");
}

#[test]
fn an_anchor_may_be_named_from_where_one_stands() {
    let fixture = RollbackFixture::new();
    let file = fixture.folder.path().join("event");
    fs::write(&file, EVENT.replace("ID", "a")).unwrap();
    let mut append = fixture.service.command("append");
    append
        .arg("--keyring")
        .arg(fixture.service.keyring())
        .args(["--new-anchor", "--anchor", "anc"])
        .arg(&file);
    let appended = append.current_dir(fixture.folder.path()).output().unwrap();
    assert_eq!(code(&appended), 0, "{}", String::from_utf8_lossy(&appended.stderr));
    assert!(
        fixture.folder.path().join("anc/main.head").exists(),
        "{}",
        String::from_utf8_lossy(&appended.stderr)
    );
}

#[test]
fn once_an_anchor_was_used_no_command_writes_without_it() {
    let fixture = RollbackFixture::new();
    assert_eq!(code(&fixture.append("a")), 0);
    fixture.service.start().unwrap().terminate().unwrap();
    let marker = format!("{}.anchored", fixture.service.keyring().display());
    assert!(Path::new(&marker).exists(), "a service has noted that an anchor is used");
    // A file in the place of its folder is no anchor that answers.
    let away = fixture.folder.path().join("away");
    fs::write(&away, "").unwrap();
    let away = away.to_str().unwrap();
    let names = || {
        let segments = fs::read_dir(fixture.service.data().join("ledgers/main/segments")).unwrap();
        let mut names: Vec<_> = segments.map(|entry| entry.unwrap().file_name()).collect();
        names.sort_unstable();
        names
    };
    let before = names();
    let event = fixture.folder.path().join("event");
    let append = ["append", "--json", event.to_str().unwrap()];
    for writes in [&append[..], &["mode", "enforce"]] {
        let refused = fixture.run(&[writes, &["--anchor", away]].concat());
        assert_ne!(code(&refused), 0, "{writes:?}: {}", told(&refused));
        assert_eq!(names(), before, "{writes:?}");
    }
    let refused = fixture.run(&[&append[..], &["--anchor", away]].concat());
    assert_eq!(code(&refused), 1);
    assert!(why(&refused).contains("away"), "{}", why(&refused));
    for looks in [&["read"][..], &["mode"]] {
        let looked = fixture.run(&[looks, &["--anchor", away]].concat());
        assert_eq!(code(&looked), 0, "{looks:?}: {}", told(&looked));
    }
    let said = fixture.run(&[&append[..], &["--anchor", away, "--anchor-optional"]].concat());
    assert_eq!(code(&said), 0, "{}", told(&said));
    assert_ne!(names(), before);
}
