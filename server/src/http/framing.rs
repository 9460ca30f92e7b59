//! The guard between a connection and hyper: framed requests alone, and a peer that keeps moving.
//!
//! `bitacora-http-guard` decides which bytes are whole, plain requests. Here it is held before hyper, with every wait for the peer.

mod guarded_stream;
mod patience;
mod refusal;
#[cfg(test)]
mod tests;

pub(crate) use guarded_stream::{GuardedStream, LongBodies, LongBody, Verdict};
pub(crate) use refusal::Refusal;
