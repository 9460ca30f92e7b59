//! Tests of the command line: outputs and exit codes on real folders, with the real program.

#![expect(clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on must fail")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod answering;
mod appending;
mod archiving;
mod asking;
mod benching;
mod bundling;
mod configuring;
mod connecting;
mod consoling;
mod documented;
mod ends;
mod erasing;
mod expiring;
mod exporting;
mod first_starts;
mod forging;
mod governing;
mod guide_openings;
mod heads;
mod histories;
mod holding;
mod importing;
mod interrupting;
mod keyring;
mod learning;
mod leaves;
mod level;
mod live;
mod mcp;
mod operating;
mod proving;
mod quickstarting;
mod recovering;
mod replaying;
mod reporting;
mod reports;
mod retiring;
mod rolling_back;
mod sample;
mod securing;
mod seen_tools;
mod starters;
mod status;
mod tailing;
mod tampering;
mod tiers;
mod tokens;
mod verifying;
mod watching;
mod witnessing;
mod writing;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_bitacora-under-test");
/// The server of MCP that its proxy is tried with.
const MCP_SERVER: &str = env!("CARGO_BIN_EXE_scripted-mcp-server");
