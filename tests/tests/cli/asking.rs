//! Tests of commands that only ask a folder: nothing is appended or signed, and no anchor moves.
//! So a copy that is asked with the same keyring locks nobody out.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bitacora_tests::folders::copy_folder;

use crate::learning::imported;
use crate::sample::{Sample, code, command, why};

/// One for each kind of answer: of the state that decides, of read models, of the log, of what is tried.
const QUESTIONS: [&[&str]; 13] = [
    &["budgets", "list"],
    &["policy"],
    &["policy", "dry-run", "--starter"],
    &["tools", "list"],
    &["trust", "top"],
    &["imports"],
    &["costs"],
    &["tools", "usage"],
    &["calls"],
    &["projections"],
    &["trust", "suggest"],
    &["report", "learned"],
    &["tail", "--last", "3"],
];

/// Every file below but what is derived of the log and locks, with what it holds.
fn evidence(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_left_out = ["projections", "lock"].map(OsStr::new).contains(&path.file_name().unwrap());
            if path.is_dir() && !is_left_out {
                folders.push(path);
            } else if !is_left_out {
                files.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Runs the program on a folder with the sample's keyring.
fn asked(sample: &Sample, data: &Path, arguments: &[&str]) -> Command {
    let mut command = command(arguments);
    command.arg("--data").arg(data).arg("--keyring").arg(sample.keyring_file());
    command
}

fn good(output: &Output, what: &[&str]) -> String {
    assert_eq!(code(output), 0, "{what:?}: {}", why(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn asking_a_copy_changes_nothing_and_locks_nobody_out() {
    let sample = imported();
    let copy = sample.folder.path().join("copy");
    copy_folder(&sample.data(), &copy).unwrap();
    let anchors = sample.folder.path().join("keyring.anchors");
    let before = (evidence(&copy), evidence(&anchors));
    assert!(!before.1.is_empty());
    for question in QUESTIONS {
        good(&asked(&sample, &copy, question).output().unwrap(), question);
        assert!((evidence(&copy), evidence(&anchors)) == before, "{question:?} changed something");
    }
    // Commands that act still act, on the ledger that the copy is of.
    let act = ["mode", "observe"];
    good(&asked(&sample, &sample.data(), &act).output().unwrap(), &act);
    assert!(evidence(&anchors) != before.1);

    let older = asked(&sample, &copy, &["costs"]).output().unwrap();
    assert_eq!(code(&older), 30, "{}", why(&older));
    assert!(why(&older).contains("a copy that was written to with the same keyring"), "{}", why(&older));
}

#[test]
fn a_folder_that_cannot_be_written_answers_as_one_that_can() {
    const OTHER_USER: u32 = 65534;
    let sample = imported();
    let (data, temporary) = (sample.data(), tempfile::tempdir().unwrap());
    let questions = &QUESTIONS[..QUESTIONS.len() - 1];
    let ask = |question: &[&str]| asked(&sample, &data, question).arg("--json").output().unwrap();
    let writable: Vec<_> = questions.iter().map(|question| good(&ask(question), question)).collect();
    let is_root = fs::metadata(&data).unwrap().uid() == 0;
    for path in everything(sample.folder.path()).iter().chain([&temporary.path().to_owned()]) {
        let is_data = path.starts_with(&data);
        let mode = fs::metadata(path).unwrap().permissions().mode();
        let mode = if is_data { (mode | (mode & 0o500) >> 3 | (mode & 0o500) >> 6) & !0o222 } else { mode };
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        if is_root {
            chown(path, (!is_data).then_some(OTHER_USER), None).unwrap();
        }
    }
    for (question, writable) in questions.iter().zip(&writable) {
        let mut asked = asked(&sample, &data, question);
        asked.arg("--json").env("TMPDIR", temporary.path());
        if is_root {
            asked.uid(OTHER_USER);
        }
        let Ok(output) = asked.output() else {
            eprintln!("not run: another user does not reach the program");
            return;
        };
        if question[0] != "projections" {
            assert_eq!(&good(&output, question), writable, "{question:?}");
        }
        assert!(fs::read_dir(temporary.path()).unwrap().next().is_none(), "{question:?} left something");
    }
    let data_folders = everything(&data).into_iter().filter(|path| path.is_dir());
    data_folders.for_each(|path| fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap());
}

/// This folder and all below it.
fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    let mut next = 0;
    while next < all.len() {
        if all[next].is_dir() {
            all.extend(fs::read_dir(&all[next]).unwrap().map(|entry| entry.unwrap().path()));
        }
        next += 1;
    }
    all
}

/// The answer names a ledger that a variable chose. A place on the command line beats the variable, and two are none.
#[test]
fn the_ledger_that_a_variable_names_is_told_and_a_named_one_beats_it() {
    let sample = Sample::new(0);
    let data = sample.data();
    let run = |arguments: &[&str], variable: &str, value: &OsStr| {
        let mut command = command(arguments);
        command.env("BITACORA_KEYRING", sample.keyring_file()).env(variable, value).output().unwrap()
    };
    let asked = run(&["calls"], "BITACORA_DATA", data.as_os_str());
    assert_eq!(code(&asked), 0, "{}", why(&asked));
    let named = format!("bitacora: asked ledger main in {} (BITACORA_DATA)\n", data.display());
    assert_eq!(String::from_utf8_lossy(&asked.stderr), named);

    let here = ["calls", "--data", data.to_str().unwrap()];
    let nobody = OsStr::new("http://127.0.0.1:1");
    let asked = run(&here, "BITACORA_URL", nobody);
    assert_eq!((code(&asked), asked.stderr.len()), (0, 0), "{}", String::from_utf8_lossy(&asked.stderr));
    let elsewhere = run(&["calls", "--url", "http://127.0.0.1:1"], "BITACORA_DATA", data.as_os_str());
    assert_eq!(code(&elsewhere), 1, "the folder of the variable does not answer for the service");
    for both in [&["calls"][..], &["verify"], &["append"], &["read"]] {
        let both = [both, &here[1..], &["--url", "http://127.0.0.1:1"]].concat();
        assert_eq!(code(&run(&both, "BITACORA_LEDGER", OsStr::new("main"))), 2, "{both:?}");
    }
}
