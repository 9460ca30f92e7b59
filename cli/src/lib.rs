//! The room of the command line.
