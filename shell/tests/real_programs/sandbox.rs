//! A sandbox without a network, in which programs run in a project of their own, under strace.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::project::{HOME, ROOTS};

/// The longest time that a line may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Folders that programs are looked for in.
pub(crate) const FOLDERS: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// Programs that the sandbox needs, and the Debian packages that bring them.
const NEEDED: [(&str, &str); 3] = [("bwrap", "bubblewrap"), ("strace", "strace"), ("git", "git")];
/// Parts of the system that programs read their own settings in.
const SETTINGS: [&str; 6] =
    ["/etc/alternatives", "/etc/passwd", "/etc/group", "/etc/localtime", "/etc/magic", "/etc/ld.so.cache"];

/// A line to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'r> {
    pub(crate) cwd: &'r str,
    /// `stale`, `configured` or nothing.
    pub(crate) prepared: &'r str,
    pub(crate) line: &'r str,
}

/// The events of a line.
pub(crate) struct Outcome {
    /// Files that are there anew, otherwise, or no more.
    pub(crate) changed: Vec<String>,
    pub(crate) output: String,
    pub(crate) trace: String,
}

/// A running sandbox.
pub(crate) struct Sandbox {
    process: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<(String, Vec<u8>)>,
}

impl Sandbox {
    /// Starts a sandbox, or says what is missing.
    pub(crate) fn start() -> Self {
        for (program, package) in NEEDED {
            assert!(find(program).is_some(), "{program} is missing: apt-get install {package}");
        }
        let mut command = Command::new(find("bwrap").unwrap());
        command.args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]);
        command.args(["--ro-bind", "/usr", "/usr"]);
        for folder in ["/bin", "/sbin", "/lib", "/lib64"] {
            command.args(["--ro-bind-try", folder, folder]);
        }
        for path in SETTINGS {
            command.args(["--ro-bind-try", path, path]);
        }
        command.args(["--ro-bind", env!("CARGO_BIN_EXE_program-oracle-inside"), "/oracle/inside"]);
        command.args(["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/oracle/work"]);
        for root in ROOTS {
            command.args(["--tmpfs", root]);
        }
        command
            .args(["--setenv", "HOME", HOME, "--setenv", "LC_ALL", "C.UTF-8", "--setenv", "TERM", "xterm"]);
        command.args(["--setenv", "PATH", &FOLDERS.join(":")]);
        command.args(["--remount-ro", "/", "--chdir", "/", "/oracle/inside"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = command.spawn().unwrap();
        let requests = process.stdin.take();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut head = String::new();
            while output.read_line(&mut head).is_ok_and(|read| read > 0) {
                let length = head.split_whitespace().map(|length| length.parse::<usize>().unwrap()).sum();
                let mut answer = vec![0; length];
                let head = std::mem::take(&mut head);
                if output.read_exact(&mut answer).is_err() || sender.send((head, answer)).is_err() {
                    break;
                }
            }
        });
        let mut sandbox = Self { process, requests, answers };
        let outcome = sandbox.run(Request { cwd: "/", prepared: "", line: "/bin/echo ready" });
        let is_traced = outcome.trace.contains("/bin/echo") && outcome.output == "ready\n";
        assert!(is_traced, "strace says nothing in the sandbox; it needs ptrace: {}", outcome.output);
        sandbox
    }

    /// Runs a line in a new project.
    pub(crate) fn run(&mut self, request: Request<'_>) -> Outcome {
        let text = [request.cwd, request.prepared, request.line].join("\0");
        let requests = self.requests.as_mut().unwrap();
        let sent = write!(requests, "{}\n{text}", text.len()).and_then(|()| requests.flush());
        let (head, answer) = match self.answers.recv_timeout(PATIENCE) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => panic!("a line does not end: {request:?}"),
            Err(RecvTimeoutError::Disconnected) => {
                let ended = self.process.wait();
                panic!(
                    "the sandbox ended ({ended:?}, {sent:?}); bwrap needs user namespaces, or root: {request:?}"
                )
            }
        };
        let lengths: Vec<usize> = head.split_whitespace().map(|length| length.parse().unwrap()).collect();
        let (changed, rest) = answer.split_at(lengths[0]);
        let (output, trace) = rest.split_at(lengths[1]);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Outcome {
            changed: text(changed).lines().map(str::to_owned).collect(),
            output: text(output),
            trace: text(trace),
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
    FOLDERS.iter().map(|folder| format!("{folder}/{program}")).find(|path| Path::new(path).exists())
}
