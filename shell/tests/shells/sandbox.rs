//! A sandbox without a network and without the machine's files, in which shells run texts.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The shells, and the Debian packages that bring them.
const SHELLS: [&str; 5] = ["bash", "dash", "zsh", "busybox", "mksh"];
/// The longest time that a batch may take. A text that waits for something ends the run.
const PATIENCE: Duration = Duration::from_secs(300);

/// Something that ran, or a file that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// The text.
    pub(crate) number: usize,
    pub(crate) shell: String,
    pub(crate) is_file: bool,
    /// The program and its arguments, or the files that were made.
    pub(crate) fields: Vec<String>,
}

/// Texts that run after one another.
pub(crate) struct TextBatch<'t> {
    /// `programs` or `functions`.
    pub(crate) way: &'static str,
    pub(crate) locale: &'static str,
    /// The names that programs are looked for by.
    pub(crate) names: Vec<String>,
    /// Each with its number.
    pub(crate) texts: Vec<(usize, &'t str)>,
}

/// A running sandbox.
pub(crate) struct Sandbox {
    process: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<Vec<u8>>,
}

impl Sandbox {
    /// Starts a sandbox, or says what is missing.
    pub(crate) fn start() -> Self {
        let missing: Vec<&str> = SHELLS.into_iter().filter(|shell| find(shell).is_none()).collect();
        assert!(missing.is_empty(), "shells are missing: apt-get install {}", missing.join(" "));
        let Some(bubblewrap) = find("bwrap") else { panic!("no sandbox: apt-get install bubblewrap") };
        let mut command = Command::new(bubblewrap);
        command.args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]);
        for libraries in ["/usr/lib", "/usr/lib64", "/lib", "/lib64"] {
            command.args(["--ro-bind-try", libraries, libraries]);
        }
        for shell in SHELLS {
            let path = find(shell).unwrap();
            command.arg("--ro-bind").arg(path).arg(format!("/shells/{shell}"));
        }
        command.args(["--ro-bind", env!("CARGO_BIN_EXE_shell-oracle-inside"), "/oracle/inside"]);
        command.args([
            "--dev",
            "/dev",
            "--tmpfs",
            "/oracle/work",
            "--tmpfs",
            "/scratch",
            "--tmpfs",
            "/programs",
        ]);
        for folder in ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"] {
            command.args(["--symlink", "/programs", folder]);
        }
        command.args(["--remount-ro", "/", "--chdir", "/scratch", "/oracle/inside"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = command.spawn().unwrap();
        let requests = process.stdin.take();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut length = String::new();
            while output.read_line(&mut length).is_ok_and(|read| read > 0) {
                let mut answer = vec![0; length.trim().parse().unwrap()];
                if output.read_exact(&mut answer).is_err() || sender.send(answer).is_err() {
                    break;
                }
                length.clear();
            }
        });
        let mut sandbox = Self { process, requests, answers };
        let nothing = TextBatch { way: "programs", locale: "C", names: Vec::new(), texts: Vec::new() };
        sandbox.run(&nothing);
        sandbox
    }

    /// Runs a batch with every shell.
    pub(crate) fn run(&mut self, batch: &TextBatch<'_>) -> Vec<Record> {
        let names = batch.names.join("\u{1f}");
        let head = [batch.way, batch.locale, &names].map(str::to_owned);
        let texts = batch.texts.iter().map(|(number, text)| format!("{number}\u{1f}{text}"));
        let request = head.into_iter().chain(texts).collect::<Vec<_>>().join("\0");
        let requests = self.requests.as_mut().unwrap();
        let sent = write!(requests, "{}\n{request}", request.len()).and_then(|()| requests.flush());
        match self.answers.recv_timeout(PATIENCE) {
            Ok(answer) => records(&answer),
            Err(RecvTimeoutError::Timeout) => panic!("a text does not end; one of {:?}", batch.texts),
            Err(RecvTimeoutError::Disconnected) => {
                let ended = self.process.wait();
                panic!(
                    "the sandbox ended ({ended:?}, {sent:?}); bwrap needs user namespaces, or root; texts: {:?}",
                    batch.texts
                )
            }
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.requests.take());
        drop(self.process.wait());
    }
}

/// Returns the path of a program of this machine.
pub(crate) fn find(program: &str) -> Option<String> {
    let folders = ["/usr/bin", "/bin"].into_iter();
    folders.map(|folder| format!("{folder}/{program}")).find(|path| Path::new(path).exists())
}

fn records(answer: &[u8]) -> Vec<Record> {
    let answer = String::from_utf8_lossy(answer);
    let (records, rest) = answer.rsplit_once('\u{1e}').unwrap_or_default();
    assert!(
        rest.is_empty() && (records.is_empty() == answer.is_empty()),
        "a record without its end: {rest:?}"
    );
    records.split('\u{1e}').filter(|record| !record.is_empty()).map(record).collect()
}

fn record(record: &str) -> Record {
    // Functions of bash write a line end so.
    let mut fields = record.split('\u{1f}').map(|field| field.replace('\u{1d}', "\n"));
    let (Some(id), Some(kind)) = (fields.next(), fields.next()) else { panic!("no record: {record:?}") };
    let Some((number, shell)) = id.split_once(':') else { panic!("no record of a text: {record:?}") };
    Record {
        number: number.parse().unwrap(),
        shell: shell.to_owned(),
        is_file: kind == "made",
        fields: fields.collect(),
    }
}
