//! The fields of a fixed little-endian layout, read in their order.

/// The bytes ended within a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortField {
    /// Bytes up to the end of that field.
    pub needed: u64,
    /// Bytes there are.
    pub found: u64,
}

/// A place in the bytes of a layout.
pub struct Fields<'a> {
    rest: &'a [u8],
    read: usize,
}

impl<'a> Fields<'a> {
    /// Starts at the first byte.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, read: 0 }
    }

    /// Takes the next `N` bytes.
    ///
    /// # Errors
    ///
    /// There are fewer.
    pub fn bytes<const N: usize>(&mut self) -> Result<[u8; N], ShortField> {
        let ended =
            ShortField { needed: (self.read + N) as u64, found: (self.read + self.rest.len()) as u64 };
        let (field, rest) = self.rest.split_first_chunk().ok_or(ended)?;
        self.rest = rest;
        self.read += N;
        Ok(*field)
    }

    /// As many bytes as a field before them said.
    ///
    /// # Errors
    ///
    /// There are fewer.
    pub fn take(&mut self, bytes: u32) -> Result<&'a [u8], ShortField> {
        let bytes = bytes as usize;
        let (needed, found) = (self.read.saturating_add(bytes) as u64, (self.read + self.rest.len()) as u64);
        let (field, rest) = self.rest.split_at_checked(bytes).ok_or(ShortField { needed, found })?;
        self.rest = rest;
        self.read += bytes;
        Ok(field)
    }

    /// Returns `true` behind the last byte.
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes a number of 8 bits.
    ///
    /// # Errors
    ///
    /// There are fewer bytes.
    pub fn u8(&mut self) -> Result<u8, ShortField> {
        self.bytes().map(u8::from_le_bytes)
    }

    /// Takes a number of 16 bits.
    ///
    /// # Errors
    ///
    /// There are fewer bytes.
    pub fn u16(&mut self) -> Result<u16, ShortField> {
        self.bytes().map(u16::from_le_bytes)
    }

    /// Takes a number of 32 bits.
    ///
    /// # Errors
    ///
    /// There are fewer bytes.
    pub fn u32(&mut self) -> Result<u32, ShortField> {
        self.bytes().map(u32::from_le_bytes)
    }

    /// Takes a number of 64 bits.
    ///
    /// # Errors
    ///
    /// There are fewer bytes.
    pub fn u64(&mut self) -> Result<u64, ShortField> {
        self.bytes().map(u64::from_le_bytes)
    }
}
