//! The real program, started as a process of its own, as an operator would.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Where a service keeps its things, and the program that serves them.
#[derive(Debug, Clone)]
pub struct ServiceFolder {
    program: PathBuf,
    folder: PathBuf,
}

/// A running service. Dropping it kills it.
#[derive(Debug)]
pub struct Service {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl ServiceFolder {
    /// `program` is the built `bitacora`; `folder` an empty folder of the test's own.
    #[must_use]
    pub fn new(program: &str, folder: &Path) -> Self {
        Self { program: program.into(), folder: folder.to_owned() }
    }

    /// The data folder.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The keyring's file.
    #[must_use]
    pub fn keyring(&self) -> PathBuf {
        self.folder.join("keyring")
    }

    /// The Unix socket that it listens on too: it stays the same over restarts.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// The program with a command and where its things are.
    #[must_use]
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(name).arg("--data").arg(self.data());
        command
    }

    /// Starts the service with the ledger `main`, making it the first time, and waits until it listens.
    pub fn start(&self) -> io::Result<Service> {
        self.start_with(|_| ())
    }

    /// The same, with what else the command is told.
    pub fn start_with(&self, tell: impl FnOnce(&mut Command)) -> io::Result<Service> {
        let mut command = self.command("serve");
        command.args(["--listen", "127.0.0.1:0", "--create", "main", "--keyring"]).arg(self.keyring());
        command.arg("--unix").arg(self.socket());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        tell(&mut command);
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        for line in BufReader::new(stdout).lines() {
            if let Some(address) = address_in(&line?) {
                return Ok(Service { child, address });
            }
        }
        let status = child.wait()?;
        Err(io::Error::other(format!("the service ended early: {status}")))
    }
}

fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("127.0.0.1:")?;
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(SocketAddr::from(([127, 0, 0, 1], port.parse().ok()?)))
}

impl Service {
    /// Ends it with SIGKILL.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// Ends it with SIGTERM, and waits until it has ended.
    pub fn terminate(&mut self) -> io::Result<ExitStatus> {
        Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status()?;
        self.child.wait()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}
