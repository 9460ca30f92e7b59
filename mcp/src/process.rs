//! A server that is a process: its messages are lines of its standard streams.

use std::io;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use crate::error::McpError;
use crate::limits::{MAX_WAITING_MESSAGES, SERVER_END_PATIENCE};
use crate::lines::{Line, next_line};
use crate::proxy::UpstreamEvent;

/// The beginning of the variables that the server does not get: one of them is the agent's token.
const OWN_VARIABLES: &str = "BITACORA_";

/// The command of a server.
#[derive(Debug, Clone)]
pub struct ServerCommand {
    /// The program and its arguments.
    pub words: Vec<String>,
}

/// A running server.
pub(crate) struct ServerProcess {
    child: Mutex<Child>,
    stdin: Mutex<Option<ChildStdin>>,
    /// The process group, which a server's own children belong to.
    group: Option<Pid>,
}

impl ServerProcess {
    /// Starts a server. Its messages come to the receiver; its stderr is this process's own.
    pub(crate) fn start(command: &ServerCommand) -> Result<(Self, mpsc::Receiver<UpstreamEvent>), McpError> {
        let (program, arguments) = command.words.split_first().ok_or(McpError::NoCommand)?;
        let mut starting = Command::new(program);
        starting
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with(OWN_VARIABLES) {
                starting.env_remove(name);
            }
        }
        let failed = |source| McpError::Start { program: program.clone(), source };
        let mut child = starting.spawn().map_err(failed)?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let (tell, told) = mpsc::channel(MAX_WAITING_MESSAGES);
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout);
            loop {
                let event = match next_line(&mut lines).await {
                    Ok(Line::Whole(line)) => UpstreamEvent::Message(line),
                    Ok(Line::TooLong) => UpstreamEvent::TooLong,
                    Ok(Line::End) => UpstreamEvent::Ended("it closed its output".to_owned()),
                    Err(error) => UpstreamEvent::Ended(error.to_string()),
                };
                let is_end = matches!(event, UpstreamEvent::Ended(_));
                if tell.send(event).await.is_err() || is_end {
                    return;
                }
            }
        });
        Ok((Self { child: Mutex::new(child), stdin: Mutex::new(stdin), group }, told))
    }

    /// Sends a message as one line.
    pub(crate) async fn send(&self, message: &str) -> io::Result<()> {
        let mut stdin = self.stdin.lock().await;
        let stdin = stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(format!("{message}\n").as_bytes()).await?;
        stdin.flush().await
    }

    /// Closes the server's input, waits for its end, and kills what is left of it.
    pub(crate) async fn end(&self) {
        if let Ok(mut stdin) = timeout(SERVER_END_PATIENCE, self.stdin.lock()).await {
            stdin.take();
        }
        let mut child = self.child.lock().await;
        let ended = timeout(SERVER_END_PATIENCE, child.wait()).await;
        if ended.is_err() {
            // It is not reaped yet, so its group is still its own.
            let _killed = self.group.map(|group| kill_process_group(group, Signal::KILL));
            let _reaped = child.wait().await;
        }
    }
}
