//! The command line that makes a connection again, with all its flags.

use bitacora_harness::Dialect;

use crate::connection::Connection;
use crate::install::quoted_word;

/// The time for which a call is held where no flag and no earlier connection says another, seconds.
pub const USUAL_WAIT_S: u64 = 300;

impl Connection {
    /// Returns the command that connects again as this connection does. `usual` are the service and the ledger that are asked
    /// without flags.
    #[must_use]
    pub fn connect_command(&self, usual: (&str, &str)) -> String {
        let mut command = self.command_of("connect", usual);
        let dialect: Result<Dialect, _> = self.harness.parse();
        if dialect.map_or(true, |dialect| dialect.harness() != self.agent) {
            command.push_str(&format!(" --agent {}", quoted_word(&self.agent)));
        }
        if self.wait_s != USUAL_WAIT_S {
            command.push_str(&format!(" --wait {}s", self.wait_s));
        }
        if self.enforce {
            command.push_str(" --enforce");
        }
        command
    }

    /// Returns the command that disconnects this connection.
    #[must_use]
    pub fn disconnect_command(&self, usual: (&str, &str)) -> String {
        self.command_of("disconnect", usual)
    }

    /// Returns the command that examines this connection.
    #[must_use]
    pub fn doctor_command(&self) -> String {
        let own = (self.url.as_str(), self.ledger.as_str());
        self.command_of("doctor", own)
    }

    /// Returns the command that revokes this connection's token.
    #[must_use]
    pub fn revoke_command(&self, usual: (&str, &str)) -> String {
        format!("{} token revoke {}", self.program_of(usual), quoted_word(&self.principal))
    }

    /// Returns how the service is started: where the data folder lies, only its owner knows.
    #[must_use]
    pub fn serve_advice(&self) -> String {
        match self.url.strip_prefix("http://") {
            Some(address) => format!(
                "start the service: bitacora serve --data FOLDER --keyring FILE --listen {}, with the folder and the file of before",
                quoted_word(address)
            ),
            None => format!("start the service that listens at {}", quoted_word(&self.url)),
        }
    }

    fn command_of(&self, name: &str, usual: (&str, &str)) -> String {
        let mut command = format!("{} {name} {}", self.program_of(usual), self.harness);
        if let Some(project) = self.project() {
            command.push_str(&format!(" --project {}", quoted_word(&project.to_string_lossy())));
        }
        command
    }

    fn program_of(&self, usual: (&str, &str)) -> String {
        program_of((&self.url, &self.ledger), usual)
    }
}

/// Returns the program with the flags by which it asks a service for a ledger.
fn program_of((url, ledger): (&str, &str), usual: (&str, &str)) -> String {
    let mut command = "bitacora".to_owned();
    if url != usual.0 {
        command.push_str(&format!(" --url {}", quoted_word(url)));
    }
    if ledger != usual.1 {
        command.push_str(&format!(" --ledger {}", quoted_word(ledger)));
    }
    command
}
