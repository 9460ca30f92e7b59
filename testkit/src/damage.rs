//! Damage done to bytes.

/// Returns every way of cutting the bytes short, and of changing one of them to several other values.
pub fn damaged(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let cut = (0..bytes.len()).map(|length| bytes[..length].to_vec());
    let changes = [0x01, 0x02, 0x10, 0x20, 0x80, 0xFF];
    let changed = (0..bytes.len()).flat_map(move |at| {
        changes.map(|change| {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= change;
            bytes
        })
    });
    let filled = (0..bytes.len()).flat_map(move |at| {
        [0x00, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF].map(|value| {
            let mut bytes = bytes.to_vec();
            bytes[at] = value;
            bytes
        })
    });
    cut.chain(changed).chain(filled)
}
