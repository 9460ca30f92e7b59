//! Files that commands write where they are told to: none that is there is written over.

use std::fs;

use crate::sample::{Sample, code, why};

#[test]
fn no_command_writes_over_a_file_that_is_there() {
    let sample = Sample::new(1);
    let file = sample.folder.path().join("file");
    let name = file.to_str().unwrap();
    fs::write(&file, "precious").unwrap();
    for command in [
        &["report", "learned", "--html", name][..],
        &["replay", "--what-if", "--policy", "v1", "--html", name],
        &["prove", "1", "--out", name],
        &["archive", "fetch", "1", "--to", name],
        &["bench", "--from", "missing", "--plot", name],
    ] {
        let refused = sample.run(command);
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
    fs::remove_file(&file).unwrap();
    assert_eq!(code(&sample.run(&["report", "learned", "--html", name])), 0);
}
