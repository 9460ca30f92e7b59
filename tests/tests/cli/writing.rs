//! Tests of output files of commands: no existing file is overwritten but an import's earlier report.

use std::fs;

use crate::sample::{Sample, code, command, why};

#[test]
fn no_command_writes_over_a_file_that_is_there() {
    let sample = Sample::new(1);
    let file = sample.folder.path().join("file");
    let name = file.to_str().unwrap();
    fs::write(&file, "precious").unwrap();
    for command in [
        &["prove", "1", "--out", name][..],
        &["archive", "fetch", "1", "--to", name],
        &["bench", "--from", "missing", "--plot", name],
    ] {
        // A benchmark has no data folder to be given.
        let refused = if command[0] == "bench" {
            crate::sample::command(command).output().unwrap()
        } else {
            sample.run(command)
        };
        assert_eq!(code(&refused), 1, "{command:?}");
        let said = why(&refused);
        assert!(
            said.contains("exists already, and is not written over; name another file"),
            "{command:?}: {said}"
        );
        assert!(
            said.contains("was not written") || said.contains("nothing was written"),
            "{command:?}: {said}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious", "{command:?}");
    }
}

/// An import that does not begin, for any reason, leaves an existing report as it was.
#[test]
fn an_import_that_does_not_begin_leaves_every_file_as_it_is() {
    let sample = Sample::new(0);
    let at = |name: &str| sample.folder.path().join(name).to_str().unwrap().to_owned();
    let (source, report) = (at("source.jsonl"), at("report"));
    let earlier = "{\"file\":\"a\",\"line\":1,\"reason\":\"why\"}\n";
    let before = "{\"a\":\n{\"a\":1}\n";
    fs::write(&source, before).unwrap();
    fs::write(&report, earlier).unwrap();
    std::os::unix::fs::symlink(&source, at("link")).unwrap();
    let keyring = at("keyring");
    let import = |reported: &str, more: &[&str]| {
        let flags = ["import", &source, "--type", "x.noted", "--stream", "s", "--report", reported];
        let mut command = command(&flags);
        command.args(more);
        let output = command.output().unwrap();
        (code(&output), why(&output))
    };
    let (data, other) = (at("data"), at("no-data"));
    let here = ["--data", data.as_str(), "--keyring", keyring.as_str()];
    for (reported, more, exit) in [
        (source.as_str(), &here[..], 2),
        (&at("link"), &here, 2),
        (&keyring, &here, 1),
        (&at("data/FORMAT"), &here, 1),
        (&report, &["--data", &other, "--keyring", &keyring], 1),
        (&report, &["--data", &data, "--keyring", &other], 1),
        (&report, &["--url", "http://127.0.0.1:1"], 1),
        (&at("new"), &["--data", &other, "--keyring", &keyring], 1),
    ] {
        let files = || [&source, &report, &keyring, &at("data/FORMAT")].map(|file| fs::read(file).unwrap());
        let kept = files();
        let (ended, said) = import(reported, more);
        assert_eq!(ended, exit, "{reported} {more:?}: {said}");
        assert_eq!(files(), kept, "{reported} {more:?}: {said}");
        let left = fs::read_dir(sample.folder.path()).unwrap().count();
        assert_eq!(left, 5, "{reported} {more:?}: {said}");
    }
    // And one that comes to its end replaces it.
    let imported =
        sample.run(&["import", &source, "--type", "x.noted", "--stream", "s", "--report", &report]);
    assert_eq!(code(&imported), 0);
    assert!(
        fs::read_to_string(&report).unwrap().contains("source.jsonl"),
        "the line that is no JSON is listed"
    );
}
