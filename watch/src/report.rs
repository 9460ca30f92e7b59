//! Reports of a watch to its user: one line each.

use std::fmt;

use serde::Serialize;

/// Something that the watch did or found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum WatchReport {
    /// A connection is watched.
    Watching {
        /// The connection.
        connection: String,
        /// The folder of its transcripts.
        folder: String,
        /// The transcripts that are followed.
        transcripts: usize,
        /// Those of them that hold something new.
        grown: usize,
    },
    /// A call that dodged the gate was recorded.
    Gap {
        /// The connection.
        connection: String,
        /// The session.
        session: String,
        /// The call.
        call: String,
        /// The tool.
        tool: String,
        /// The evidence, as it was recorded.
        evidence: String,
    },
    /// Answers of models were recorded.
    Models {
        /// The connection.
        connection: String,
        /// The number of answers that were new.
        answers: usize,
    },
    /// Spooled inputs of hooks were delivered.
    Delivered {
        /// The connection.
        connection: String,
        /// The number of inputs.
        inputs: usize,
        /// The number of those that the service will never take.
        refused: usize,
    },
    /// A transcript has a fault.
    Transcript {
        /// The connection.
        connection: String,
        /// The transcript.
        path: String,
        /// The kind of fault.
        fault: &'static str,
        /// The fault.
        why: String,
    },
    /// The connection cannot be watched now.
    Failed {
        /// The connection.
        connection: String,
        /// The fault.
        why: String,
    },
    /// The connection is watched again.
    Recovered {
        /// The connection.
        connection: String,
    },
}

impl fmt::Display for WatchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Watching { connection, folder, transcripts, grown } => {
                write!(f, "watching   {connection}: {transcripts} transcripts in {folder}")?;
                match grown {
                    0 => write!(f, ", nothing new"),
                    grown if grown < transcripts => write!(f, ", {grown} of them with something new"),
                    _ => Ok(()),
                }
            }
            Self::Gap { connection, session, call, tool, .. } => {
                write!(
                    f,
                    "gap        {connection}: call {call} of {tool} in session {session} did not pass the gate"
                )
            }
            Self::Models { connection, answers } => {
                write!(f, "models     {connection}: {answers} answers of models recorded")
            }
            Self::Delivered { connection, inputs, refused: 0 } => {
                write!(f, "delivered  {connection}: {inputs} spooled events")
            }
            Self::Delivered { connection, inputs, refused } => {
                write!(
                    f,
                    "delivered  {connection}: {inputs} spooled events, {refused} refused by the service"
                )
            }
            Self::Transcript { connection, path, why, .. } => {
                write!(f, "transcript {connection}: {path}: {why}")
            }
            Self::Failed { connection, why } => write!(f, "waiting    {connection}: {why}"),
            Self::Recovered { connection } => write!(f, "watching   {connection}: again"),
        }
    }
}
