use super::*;

fn dimension(tool: &str, context: &str, model: &str, task_type: &str) -> Dimension {
    Dimension::new(tool, context, model, task_type).unwrap()
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
