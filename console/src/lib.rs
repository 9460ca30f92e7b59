//! The console: the ledger in a browser, as pages that are made on the server.
//!
//! It is a client of the public interface, in the same process. It asks with the viewer's own token, so it shows nothing that a program
//! could not ask for, and no right exists twice. It knows no ledger, no socket and no web framework: a request comes in, a response goes out.

mod assets;
mod command_line;
mod components;
mod compressed;
mod console;
mod csv_file;
mod csv_turns;
mod form;
mod head_note;
mod interface;
mod json;
mod layout;
mod limits;
mod live;
mod page;
mod page_error;
mod pages;
mod printed_page;
mod response;
mod routes;
mod sign_in;
mod table;
mod time_span;
mod visit;
mod zone;

pub use console::{Console, FormSender};
pub use interface::{BoxError, InterfaceBody, InterfaceFuture, PublicInterface};
pub use printed_page::{PrintedTable, printed_page};
pub use response::ConsoleBody;
