//! The worked examples in `docs/formats/`, which are the vectors the tests decode.

/// Returns the bytes of the `number`th fenced block marked `hex` of a document, from 0; `#` begins a comment.
#[must_use]
pub fn hex_block(document: &str, number: usize) -> Vec<u8> {
    let block = document.split("```hex\n").nth(number + 1).and_then(|rest| rest.split("```").next());
    let lines = block.expect("the document has that block").lines();
    let digits: String = lines.map(|line| line.split('#').next().unwrap_or_default()).collect();
    hex::decode(digits.replace(' ', "")).expect("the block is hexadecimal")
}

/// Returns the `number`th fenced block marked `text` of a document, from 0.
#[must_use]
pub fn text_block(document: &str, number: usize) -> &str {
    let block = document.split("```text\n").nth(number + 1).and_then(|rest| rest.split("```").next());
    block.expect("the document has that block")
}
