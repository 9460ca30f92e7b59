//! The names of tools, as harnesses name the tools of MCP servers: `mcp__SERVER__TOOL`.
//!
//! A policy is then the same for a harness's hooks and for this proxy. The name of the server is an operator's choice and never what
//! the server calls itself, since rules that allow are about it.

use crate::error::McpError;
use crate::limits::MAX_SERVER_NAME_BYTES;

/// Programs that run another one, which the name is taken from.
const RUNNERS: [&str; 11] =
    ["npx", "bunx", "pnpx", "uvx", "node", "bun", "deno", "python", "python3", "uv", "env"];
/// Words of such programs that are no name.
const RUNNER_WORDS: [&str; 5] = ["run", "x", "exec", "tool", "dlx"];

/// The name of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerName(String);

impl ServerName {
    /// Takes a name that divides the names of tools in one way only.
    ///
    /// # Errors
    /// [`McpError::ServerName`].
    pub fn new(name: &str) -> Result<Self, McpError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let divides = !name.contains("__") && !name.starts_with('_') && !name.ends_with('_');
        if name.is_empty() || name.len() > MAX_SERVER_NAME_BYTES || !name.bytes().all(is_plain) || !divides {
            return Err(McpError::ServerName(name.chars().take(MAX_SERVER_NAME_BYTES).collect()));
        }
        Ok(Self(name.to_owned()))
    }

    /// Makes a name of a server's command: of the first word that names no runner and no option.
    ///
    /// # Errors
    /// [`McpError::ServerName`] where no word gives a name.
    pub fn of_command(command: &[String]) -> Result<Self, McpError> {
        let is_own = |word: &&String| {
            let word = base(word);
            !RUNNERS.contains(&word) && !RUNNER_WORDS.contains(&word) && !word.contains('=')
        };
        let own = command.iter().filter(|word| !word.starts_with('-')).find(is_own);
        let word = own.or(command.first()).map(|word| base(word)).unwrap_or_default();
        let name: String = word
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '-' })
            .collect();
        Self::new(name.trim_matches('-'))
    }

    /// Makes a name of an upstream's host.
    ///
    /// # Errors
    /// [`McpError::ServerName`] where it gives none.
    pub fn of_host(host: &str) -> Result<Self, McpError> {
        let name: String =
            host.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
        Self::new(name.trim_matches('-'))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the stream in which the definitions of its tools are recorded.
    pub(crate) fn stream(&self) -> String {
        format!("mcp/{}", self.0)
    }

    /// Returns the name under which a tool is called.
    pub(crate) fn tool(&self, tool: &str) -> String {
        format!("mcp__{}__{tool}", self.0)
    }
}

/// Returns the stream in which the definitions of a tool's server are recorded; `None` for a tool of no MCP server.
#[must_use]
pub fn stream_of_tool(tool: &str) -> Option<String> {
    let (server, _) = tool.strip_prefix("mcp__")?.split_once("__")?;
    ServerName::new(server).ok().map(|server| server.stream())
}

/// Returns the last part of a path or a package's name, without version and extension.
fn base(word: &str) -> &str {
    let last = word.rsplit('/').next().unwrap_or(word);
    let last = last.split_once('@').map_or(last, |(name, _)| name);
    [".js", ".mjs", ".cjs", ".ts", ".py"].iter().find_map(|end| last.strip_suffix(end)).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_after_its_program() {
        for (command, name) in [
            ("npx -y @modelcontextprotocol/server-everything@2026.8.31", "server-everything"),
            ("uvx mcp-server-git --repository .", "mcp-server-git"),
            ("uv run server.py", "server"),
            ("/usr/bin/python3 -u /opt/my_server.py", "my-server"),
            ("env A=b ./tools/files", "files"),
            ("node", "node"),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(ServerName::of_command(&words).unwrap().as_str(), name, "{command}");
        }
        assert_eq!(
            ServerName::of_host("mcp.example.org").unwrap().tool("a__b"),
            "mcp__mcp.example.org__a__b"
        );
    }

    #[test]
    fn a_name_that_could_be_another_servers_is_refused() {
        for bad in ["", "a__b", "_a", "a_", "a b", "ä", "a/b", &"a".repeat(65)] {
            assert!(ServerName::new(bad).is_err(), "{bad}");
        }
        assert!(ServerName::new("my_server-1.2").is_ok());
        assert_eq!(stream_of_tool("mcp__a_b___c__d").as_deref(), Some("mcp/a_b"));
        assert_eq!((stream_of_tool("mcp____x"), stream_of_tool("Bash")), (None, None));
    }
}
