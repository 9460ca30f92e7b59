//! The real program, started as a process of its own, as an operator would.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::variables::remove_variables;

/// The longest a test waits until a service listens, or has ended after it was asked to.
const PATIENCE: Duration = Duration::from_secs(120);

/// The folder of a service, and the program that serves it.
#[derive(Debug, Clone)]
pub struct ServiceFolder {
    program: PathBuf,
    folder: PathBuf,
}

/// A running service. Dropping it kills it.
#[derive(Debug)]
pub struct ServiceProcess {
    child: Child,
    /// The address at which it listens.
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
        remove_variables(&mut command);
        command.arg(name).arg("--data").arg(self.data());
        command
    }

    /// The file with the admin token that a closed service makes.
    #[must_use]
    pub fn admin_token(&self) -> PathBuf {
        self.folder.join("keyring.admin-token")
    }

    /// Starts the service with the ledger `main`, making it the first time, and waits until it listens. It is open to this machine:
    /// most tests are about other things than who asks.
    pub fn start(&self) -> io::Result<ServiceProcess> {
        self.start_with(|_| ())
    }

    /// The same, with what else the command is told.
    pub fn start_with(&self, tell: impl FnOnce(&mut Command)) -> io::Result<ServiceProcess> {
        self.start_closed_with(|command| {
            command.arg("--open");
            tell(command);
        })
    }

    /// Starts it as an operator does: closed, with an admin token beside the keyring.
    pub fn start_closed(&self) -> io::Result<ServiceProcess> {
        self.start_closed_with(|_| ())
    }

    /// The same, with what else the command is told.
    pub fn start_closed_with(&self, tell: impl FnOnce(&mut Command)) -> io::Result<ServiceProcess> {
        let mut command = self.command("serve");
        command.args(["--listen", "127.0.0.1:0", "--create", "main", "--keyring"]).arg(self.keyring());
        command.arg("--unix").arg(self.socket());
        let log = self.folder.join("log");
        command.stdout(Stdio::piped()).stderr(fs::File::create(&log)?);
        tell(&mut command);
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        match listening(stdout) {
            Some(address) => Ok(ServiceProcess { child, address }),
            None => {
                let _ = child.kill();
                let (status, log) = (child.wait()?, fs::read_to_string(&log)?);
                Err(io::Error::other(format!("the service does not listen: {status}\n{log}")))
            }
        }
    }
}

/// The address that a service says it listens on; none if it ends before, or takes too long.
fn listening(stdout: ChildStdout) -> Option<SocketAddr> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        tell.send(lines.filter_map(|line| address_in(&line)).next())
    });
    told.recv_timeout(PATIENCE).ok().flatten()
}

fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("127.0.0.1:")?;
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(SocketAddr::from(([127, 0, 0, 1], port.parse().ok()?)))
}

impl ServiceProcess {
    /// Ends it with SIGKILL.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// Sends SIGHUP.
    pub fn hang_up(&self) -> io::Result<()> {
        Command::new("kill").arg("-HUP").arg(self.child.id().to_string()).status().map(drop)
    }

    /// Ends it with SIGTERM, and waits until it has ended; an error if it takes too long.
    pub fn terminate(&mut self) -> io::Result<ExitStatus> {
        Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status()?;
        self.wait()
    }

    /// Waits until it has ended; an error if it takes too long.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(2));
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "the service does not end"))
    }
}

impl Drop for ServiceProcess {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}
