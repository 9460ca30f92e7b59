//! Columns that were decoded, for those that refer to them.

/// The rows that the entries of a column belong to.
#[derive(Debug, Clone, Default)]
pub(super) struct Domain {
    /// In order; a row may have several entries of a column, or none.
    pub(super) rows: Vec<u16>,
    /// `true` if each row has exactly one entry.
    pub(super) is_dense: bool,
}

impl Domain {
    /// The first entry of a row.
    pub(super) fn entry_at(&self, row: u16) -> Option<usize> {
        if self.is_dense {
            return Some(usize::from(row)).filter(|entry| *entry < self.rows.len());
        }
        let entry = self.rows.partition_point(|other| *other < row);
        self.rows.get(entry).is_some_and(|found| *found == row).then_some(entry)
    }
}

/// The class of each row: that of its first entry in a column of few different values. Rows without an entry have a
/// class of their own, the last.
#[derive(Debug, Clone)]
pub(super) struct Classes {
    /// The column's number.
    pub(super) column: usize,
    pub(super) of_row: Vec<u16>,
    /// The number of classes, that of rows without an entry among them.
    pub(super) count: usize,
}

impl Classes {
    /// The classes of a column's entries, as rows have them.
    pub(super) fn new(column: usize, rows: usize, domain: &Domain, of_entry: &[u16], count: usize) -> Self {
        let none = u16::try_from(count).unwrap_or(u16::MAX);
        let mut of_row = vec![none; rows];
        for (row, class) in domain.rows.iter().zip(of_entry).rev() {
            if let Some(place) = of_row.get_mut(usize::from(*row)) {
                *place = *class;
            }
        }
        Self { column, of_row, count: count + 1 }
    }

    pub(super) fn at(&self, row: u16) -> u16 {
        self.of_row.get(usize::from(row)).copied().unwrap_or_default()
    }

    /// Bytes of memory that [`Classes::part`] of so many rows takes.
    pub(super) fn part_bytes(&self, rows: usize) -> usize {
        2 * size_of::<u16>() * rows + (size_of::<Vec<u16>>() + size_of::<u64>()) * self.count
    }

    /// The rows of each class, and which entries they are; classes without any are left out.
    pub(super) fn part(&self, rows: &[u16]) -> ClassPartition {
        let mut sizes = vec![0_u32; self.count];
        for row in rows {
            if let Some(size) = sizes.get_mut(usize::from(self.at(*row))) {
                *size += 1;
            }
        }
        let mut numbers = vec![u16::MAX; self.count];
        let mut parts = Vec::new();
        for (number, size) in numbers.iter_mut().zip(&sizes) {
            if *size > 0 {
                *number = u16::try_from(parts.len()).unwrap_or(u16::MAX);
                parts.push(Vec::with_capacity(*size as usize));
            }
        }
        let mut of_entry = Vec::with_capacity(rows.len());
        for row in rows {
            let number = numbers.get(usize::from(self.at(*row))).copied().unwrap_or_default();
            of_entry.push(number);
            if let Some(part) = parts.get_mut(usize::from(number)) {
                part.push(*row);
            }
        }
        ClassPartition { of_entry, rows: parts }
    }
}

/// Entries divided by class, the classes in ascending order.
pub(super) struct ClassPartition {
    /// The part that each entry belongs to.
    pub(super) of_entry: Vec<u16>,
    /// The rows of each part's entries.
    pub(super) rows: Vec<Vec<u16>>,
}
