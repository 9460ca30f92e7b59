//! Seeds of the fuzz targets in `formats/fuzz`: valid values of every layout, small and repeatable.
//!
//! `cargo run -p bitacora-formats --example fuzz-seeds -- FOLDER` writes them to FOLDER, one folder for each target.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a tool that is run by hand and stops where it fails"
)]

mod archives;
mod columns;
mod derived;
mod notes;
mod segments;
mod texts;
mod values;
mod witnesses;

use std::fs;
use std::path::Path;

/// The inputs of one target to begin with.
struct Seeds {
    target: &'static str,
    inputs: Vec<Vec<u8>>,
}

fn main() {
    let folder = std::env::args_os().nth(1).expect("usage: fuzz-seeds FOLDER");
    let all = [
        texts::all(),
        values::all(),
        segments::all(),
        notes::all(),
        witnesses::all(),
        derived::all(),
        columns::all(),
        archives::all(),
    ];
    for Seeds { target, inputs } in all.into_iter().flatten() {
        let folder = Path::new(&folder).join(target);
        fs::create_dir_all(&folder).unwrap();
        for (number, input) in (1..).zip(inputs) {
            fs::write(folder.join(format!("seed-{number:02}")), input).unwrap();
        }
    }
}

/// Bytes that count up: not random at all, but the same at every run.
fn counting_from(first: u8) -> impl FnMut(&mut [u8]) {
    let mut next = first;
    move |bytes| {
        for byte in bytes {
            *byte = next;
            next = next.wrapping_add(1);
        }
    }
}
