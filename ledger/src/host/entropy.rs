//! The ledger's only source of random bytes, behind a trait so that one seed replays a run.

#![expect(clippy::disallowed_methods, reason = "this is the one place that draws random bytes")]

use std::fmt;
use std::io;

/// Gives random bytes, fit for keys.
pub trait Entropy: fmt::Debug + Send + Sync {
    /// Fills all of `bytes`, or fails and leaves them unspecified: then nothing may be made of them.
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()>;
}

/// The operating system's generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    /// Syscalls: `getrandom`, which waits once after boot until the kernel has been seeded.
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom::fill(bytes).map_err(|error| {
            error
                .raw_os_error()
                .map_or_else(|| io::Error::other(error.to_string()), io::Error::from_raw_os_error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_fills_every_byte_and_never_alike() {
        let (mut one, mut other) = ([0; 64], [0; 64]);
        SystemEntropy.fill(&mut one).unwrap();
        SystemEntropy.fill(&mut other).unwrap();
        assert_ne!(one, other);
        assert!(one.chunks(16).all(|chunk| chunk.iter().any(|byte| *byte != 0)), "{one:?}");
    }
}
