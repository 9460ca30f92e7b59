//! Stores that are processes: started with a folder and a port of their own, ended by their id.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::PeerError;

/// The time that one may take to listen, and to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);
/// Signals by name, as `kill` takes them.
const END: &str = "-INT";

/// A running store.
pub struct Daemon {
    process: Child,
    pub address: SocketAddr,
}

impl Daemon {
    /// Starts the program and waits until it listens; what it says goes to a file in its folder.
    pub fn start(mut command: Command, address: SocketAddr, folder: &Path) -> Result<Self, PeerError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let said = folder.join("said");
        let file = File::create(&said)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let process = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        let mut daemon = Self { process, address };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            if daemon.process.try_wait()?.is_some() || began.elapsed() > PATIENCE {
                let said = fs::read_to_string(&said).unwrap_or_default();
                let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
                return Err(format!("{program} did not start: {last}").into());
            }
            thread::sleep(PAUSE);
        }
        Ok(daemon)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(Some(_))) {
            return;
        }
        let asked = Command::new("kill").arg(END).arg(self.process.id().to_string()).status();
        let began = Instant::now();
        while asked.is_ok() && began.elapsed() < PATIENCE {
            if matches!(self.process.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            thread::sleep(PAUSE);
        }
        let _already_gone = self.process.kill().is_err();
        let _already_waited = self.process.wait().is_err();
    }
}

/// A port that nobody has now.
pub fn free_address() -> Result<SocketAddr, PeerError> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

/// Returns the first line that a program prints of its version.
pub fn version(program: &str) -> Result<String, PeerError> {
    let output =
        Command::new(program).arg("--version").output().map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.lines().next().unwrap_or_default().trim().to_owned())
}

/// A command that does not run as root, for programs that refuse to: as the user of this name, who is given the folder.
pub fn as_user(mut command: Command, user: &str, folder: &Path) -> Result<Command, PeerError> {
    let ids = |line: &str| {
        let mut fields = line.split(':');
        let found = fields.next()? == user;
        let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        found.then_some((uid, gid))
    };
    let is_root = fs::read_to_string("/proc/self/status")?.lines().any(|line| line.starts_with("Uid:\t0\t"));
    if is_root {
        let users = fs::read_to_string("/etc/passwd")?;
        let (uid, gid) = users.lines().find_map(ids).ok_or_else(|| format!("there is no user {user}"))?;
        chown(folder, Some(uid), Some(gid))?;
        command.uid(uid).gid(gid).current_dir(folder);
    }
    Ok(command)
}
