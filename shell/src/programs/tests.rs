//! What is said of programs.
