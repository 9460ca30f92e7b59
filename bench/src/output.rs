//! Results for people: lines for a terminal, tables for a document, and a plot.

mod plot;
mod tables;
mod text;

pub use self::plot::svg;
pub use self::tables::lines as markdown_lines;
pub use self::text::lines as text_lines;
