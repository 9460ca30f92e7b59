//! The writer of results to stdout.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal as _, Write};

use bitacora_formats::printable_json;
use serde_json::Value;

use crate::error::CommandFailure;
use crate::exit::Exit;

pub use bitacora_formats::printable;

/// The reason why a result did not reach stdout.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The reader at the other end is gone, as after `| head`, and wants nothing more.
    #[error("stdout was closed")]
    Closed,
    /// Stdout failed.
    #[error("stdout: {0}; the result is not complete")]
    Write(io::Error),
}

impl CommandFailure for OutputError {
    fn exit(&self) -> Exit {
        match self {
            // A reader that closed stdout has seen enough.
            Self::Closed => Exit::Done,
            Self::Write(_) => Exit::Failed,
        }
    }

    fn is_silent(&self) -> bool {
        matches!(self, Self::Closed)
    }
}

impl From<io::Error> for OutputError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Closed } else { Self::Write(error) }
    }
}

/// The writer of results: to stdout, except in tests. Output is certain to be written only after [`Output::flush`].
pub struct Output {
    to: BufWriter<Box<dyn Write>>,
    /// The columns of the terminal; `None` where stdout is none.
    columns: Option<usize>,
    is_wide: bool,
    is_stdout: bool,
}

impl Output {
    /// Returns the writer to stdout; with `is_wide`, tables are not fitted to the terminal.
    pub fn stdout(is_wide: bool) -> Self {
        let columns = if is_wide { None } else { terminal_columns() };
        Self { columns, is_wide, is_stdout: true, ..Self::to(Box::new(io::stdout())) }
    }

    /// Returns the output to this writer.
    pub fn to(writer: Box<dyn Write>) -> Self {
        Self { to: BufWriter::new(writer), columns: None, is_wide: false, is_stdout: false }
    }

    /// Returns the number of columns that tables are fitted to, if they are.
    pub fn columns(&self) -> Option<usize> {
        self.columns
    }

    /// Returns `true` if everything is shown whole.
    pub fn is_wide(&self) -> bool {
        self.is_wide
    }

    /// Returns `true` if a person reads what is written, and no file or program.
    pub fn is_terminal(&self) -> bool {
        self.is_stdout && io::stdout().is_terminal()
    }

    /// Writes a line.
    pub fn line(&mut self, line: impl Display) -> Result<(), OutputError> {
        Ok(writeln!(self.to, "{line}")?)
    }

    /// Writes bytes unchanged, line feeds included.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        Ok(self.to.write_all(bytes)?)
    }

    /// Writes one JSON value on a line of its own. Characters that would control a terminal are escaped as JSON has it,
    /// which keeps the meaning.
    pub fn json(&mut self, value: &Value) -> Result<(), OutputError> {
        self.json_text(&value.to_string())
    }

    /// Writes JSON that is text already, without line breaks between its tokens.
    pub fn json_text(&mut self, text: &str) -> Result<(), OutputError> {
        self.line(printable_json(text))
    }

    /// Writes out what is held back.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        Ok(self.to.flush()?)
    }
}

/// The columns of a terminal that does not tell them.
const USUAL_COLUMNS: usize = 80;

/// Returns the columns of the terminal that stdout is: those in COLUMNS, else those that it tells, else 80.
fn terminal_columns() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let told = || rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
    named.or_else(told).filter(|columns| *columns > 0).or(Some(USUAL_COLUMNS))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FailingWriter(io::ErrorKind);

    impl Write for FailingWriter {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A writer that keeps everything.
    #[derive(Clone, Default)]
    struct MemoryWriter(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

    impl Write for MemoryWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn json_means_the_same_and_steers_no_terminal_either() {
        let value = serde_json::json!({"a\u{9b}": "b\u{202e}c\u{7f}\u{1b}\u{e9}\n"});
        let memory = MemoryWriter::default();
        let mut output = Output::to(Box::new(memory.clone()));
        output.json(&value).unwrap();
        output.flush().unwrap();
        let written = String::from_utf8(memory.0.borrow().clone()).unwrap();
        assert_eq!(printable(written.trim_end()), written.trim_end());
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
        assert!(written.contains('\u{e9}'), "{written}");
    }

    #[test]
    fn a_reader_that_is_gone_is_told_apart_from_a_failure() {
        let end = |kind| {
            let mut output = Output::to(Box::new(FailingWriter(kind)));
            output.line("a line").unwrap();
            output.flush().unwrap_err()
        };
        assert!(matches!(end(io::ErrorKind::BrokenPipe), OutputError::Closed));
        assert!(matches!(end(io::ErrorKind::StorageFull), OutputError::Write(_)));
    }
}
