//! The vocabulary as published: a page, and JSON Schemas that agree with the accepted data.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a schema that is not what it must be should fail the test"
)]

mod agreement;
mod page;
mod schemas;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/vocabulary.md");

#[test]
fn the_committed_page_is_the_one_that_is_made() {
    let made = page::page();
    if std::env::var_os("BITACORA_WRITE_VOCABULARY").is_some() {
        std::fs::write(COMMITTED, &made).unwrap();
    }
    assert!(
        std::fs::read_to_string(COMMITTED).unwrap_or_default() == made,
        "docs/vocabulary.md is out of date; run this test with BITACORA_WRITE_VOCABULARY=1 and commit what it writes"
    );
}
