//! The room of HTTP.
