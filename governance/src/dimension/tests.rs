use super::*;
use crate::seeded::Seeded;

fn dimension(tool: &str, context: &str, model: &str, task_type: &str) -> Dimension {
    Dimension::new(tool, context, model, task_type).unwrap()
}

#[test]
fn a_key_is_each_part_and_a_zero_byte() {
    let key = dimension_key(&dimension("fs.write", "src/a b|c", "-", "édit"));
    assert_eq!(key, "fs.write\0src/a b|c\0-\0édit\0".as_bytes());
    assert_eq!(dimension_key(&Dimension::default()), b"-\0-\0-\0-\0");
}

#[test]
fn keys_are_read_back_and_ordered_as_their_dimensions_are() {
    const PARTS: [&str; 12] =
        ["-", "a", "ab", "a b", "a|b", "a/b", "a\tb", "a\n", "b", "é", "\u{10fffd}", "**"];
    let mut seeded = Seeded(11);
    let mut before = (Dimension::default(), dimension_key(&Dimension::default()));
    for _ in 0..20_000 {
        let mut part = || seeded.one_of(&PARTS);
        let dimension = dimension(part(), part(), part(), part());
        let key = dimension_key(&dimension);
        assert_eq!(dimension_of_key(&key).as_ref(), Some(&dimension));
        assert_eq!(key.cmp(&before.1), dimension.cmp(&before.0), "{dimension:?} and {:?}", before.0);
        before = (dimension, key);
    }
}

#[test]
fn bytes_that_no_dimension_has_are_no_key() {
    let keys: [&[u8]; 11] = [
        b"",
        b"\0",
        b"\0\0\0\0",
        b"a\0b\0c\0d",
        b"a\0b\0c\0",
        b"a\0b\0c\0d\0e\0",
        b"a\0b\0c\0d\0\0",
        b"a\0b\0\0d\0",
        b"a\0*\0c\0d\0",
        b"a\0b\0c\0\xFF\0",
        b"a\0b\x01\0c\0d\0",
    ];
    for key in keys {
        assert_eq!(dimension_of_key(key), None, "{}", key.escape_ascii());
    }
    assert_eq!(dimension_of_key(format!("{}\0b\0c\0d\0", "a".repeat(1_025)).as_bytes()), None);
    assert!(dimension_of_key(format!("{}\0b\0c\0d\0", "a".repeat(1_024)).as_bytes()).is_some());
}

#[test]
fn a_filter_means_what_agrees_with_every_part_it_names() {
    let found = dimension("fs.write", "src/a", "m", "-");
    let filter = |parts: [&str; 4]| {
        let [tool, context, model, task_type] = parts.map(|part| DimensionFilter::part(part).unwrap());
        DimensionFilter { tool, context, model, task_type }
    };
    assert!(DimensionFilter::default().matches(&found));
    for meant in [["*"; 4], ["fs.write", "*", "*", "*"], ["*", "src/a", "m", "-"], ["*", "*", "*", "-"]] {
        assert!(filter(meant).matches(&found), "{meant:?}");
        assert_eq!(filter(meant).exact(), None, "{meant:?}");
    }
    let others =
        [["fs", "*", "*", "*"], ["*", "src", "*", "*"], ["*", "*", "-", "*"], ["*", "*", "*", "fix"]];
    for other in others {
        assert!(!filter(other).matches(&found), "{other:?}");
    }
    assert_eq!(filter(["fs.write", "src/a", "m", "-"]).exact(), Some(found));
    assert!(DimensionFilter::part("").is_err());
}
