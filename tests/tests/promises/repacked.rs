//! Archives made again by somebody who has the keys: right in all but one thing.

use std::ops::Range;

use bitacora_archive_format::{
    ARCHIVE_HEADER_BYTES, ARCHIVE_TRAILER_BYTES, ArchiveKey, ArchiveLayout, ArchivePlan, ArchiveSecrets,
    ArchiveTrailer, ArchiveWriter, ArchivedState, Facts, GroupCollector, check_roots, open_group, open_part,
    seal_group,
};
use bitacora_formats::{Compressor, Decompressor, Position};

use crate::workload::keyring;

/// The same archive under new keys, with another state where one is given.
pub(crate) fn repacked(archive: &[u8], state: Option<Vec<u8>>) -> Vec<u8> {
    let bytes_of = |range: Range<u64>| {
        &archive[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()]
    };
    let length = archive.len() as u64;
    let trailer =
        ArchiveTrailer::parse(archive.last_chunk::<ARCHIVE_TRAILER_BYTES>().unwrap(), length).unwrap();
    let behind = bytes_of(trailer.table().start..length);
    let (keyring, mut zstd) = (keyring(), Decompressor::new().unwrap());
    let outline = ArchiveLayout::parse(&archive[..ARCHIVE_HEADER_BYTES], behind, length, None).unwrap();
    let (manifest, table) = (outline.manifest().manifest().clone(), outline.table());
    let key = ArchiveKey::unwrap(&manifest, &keyring).unwrap();
    let own_state = table
        .state()
        .flat_map(|entry| open_part(&key, entry, bytes_of(entry.range()), &mut zstd).unwrap().to_vec());
    let own_state: Vec<u8> = own_state.collect();
    let facts = Facts {
        made: manifest.made,
        reactor: manifest.reactor,
        chain_before: manifest.chain_before,
        chain_after: manifest.chain_after,
        segments: manifest.segments.clone(),
        tree_before: manifest.tree_before.clone(),
        group_roots: check_roots(&manifest, bytes_of(table.roots().unwrap().range())).unwrap(),
        tree_head: manifest.tree_head.clone(),
        state: manifest
            .state
            .map(|line| ArchivedState { position: line.position, bytes: state.unwrap_or(own_state) }),
    };
    let plan =
        ArchivePlan { origin: manifest.origin.clone(), range: manifest.range, revision: manifest.revision() };
    let (mut writer, header) = ArchiveWriter::new(plan, ArchiveSecrets::generate(&mut |bytes| bytes.fill(9)));
    let mut made = header.to_vec();
    for entry in table.groups() {
        let rows = open_group(&key, entry, bytes_of(entry.range()), &mut zstd).unwrap();
        let mut collector = GroupCollector::new(Position::new(entry.position).unwrap());
        let full: Vec<_> = rows.iter().filter_map(|row| collector.push(row)).collect();
        for group in full.into_iter().chain(collector.take()) {
            let sealed = seal_group(writer.key(), &group, 3).unwrap();
            made.extend(writer.add(sealed).unwrap());
        }
    }
    made.extend(writer.finish(facts, &keyring, &mut Compressor::new(3).unwrap()).unwrap().pieces.concat());
    made
}
