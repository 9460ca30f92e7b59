//! The test kit of all crates: random values from a seed, damage, certificates, and the examples of documents.

mod certificates;
mod damage;
mod random_event;
mod seeded_rng;
mod worked_example;

pub use certificates::{CertificateLife, TestCa, TestCertificate};
pub use damage::damaged;
pub use random_event::random_event;
pub use seeded_rng::SeededRng;
pub use worked_example::{hex_block, text_block};
