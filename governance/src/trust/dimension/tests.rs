use super::*;

fn dimension(tool: &str, context: &str, model: &str, task_type: &str) -> Dimension {
    Dimension::new(tool, context, model, task_type).unwrap()
}

fn filter([tool, context, model, task_type]: [&str; 4], workspace: &str) -> DimensionFilter {
    let part = |text| DimensionFilter::part(text).unwrap();
    let workspace = WorkspaceFilter::read(workspace).unwrap();
    DimensionFilter {
        tool: part(tool),
        context: part(context),
        model: part(model),
        task_type: part(task_type),
        workspace,
    }
}

#[test]
fn a_filter_means_what_agrees_with_every_part_it_names() {
    let found = dimension("fs.write", "src/a", "m", "-");
    assert!(DimensionFilter::default().matches(&found));
    for meant in [["*"; 4], ["fs.write", "*", "*", "*"], ["*", "src/a", "m", "-"], ["*", "*", "*", "-"]] {
        assert!(filter(meant, "").matches(&found), "{meant:?}");
        assert_eq!(filter(meant, "").exact(), None, "{meant:?}");
    }
    let others =
        [["fs", "*", "*", "*"], ["*", "src", "*", "*"], ["*", "*", "-", "*"], ["*", "*", "*", "fix"]];
    for other in others {
        assert!(!filter(other, "*").matches(&found), "{other:?}");
    }
    assert_eq!(filter(["fs.write", "src/a", "m", "-"], "").exact(), Some(found));
    assert!(DimensionFilter::part("").is_err());
}

#[test]
fn a_filter_means_one_workspace_every_one_or_what_is_kept_for_all_together() {
    let together = dimension("fs.write", "src", "m", "-");
    let within = |name| together.in_workspace(Some(&DimensionPart::new(name).unwrap()));
    let all = [together.clone(), within("-"), within("/a"), within("/b")];
    let parts = ["fs.write", "src", "m", "-"];
    let meant = |workspace| all.clone().map(|one| filter(parts, workspace).matches(&one));
    assert_eq!(meant("*"), [true; 4]);
    assert_eq!(meant(""), [true, false, false, false]);
    assert_eq!(meant("-"), [false, true, false, false]);
    assert_eq!(meant("/b"), [false, false, false, true]);
    assert_eq!(filter(parts, "/b").exact(), Some(within("/b")));
    assert_eq!(filter(parts, "*").exact(), None);
    assert!(WorkspaceFilter::read("a\0b").is_err());
}

#[test]
fn a_sum_counts_and_has_the_latest_time() {
    let record = |approvals, last: Option<u64>| TrustRecord {
        approvals,
        auto_approvals: 1,
        rejections: 2,
        failures: 3,
        last_updated: last.map(Micros),
        ..TrustRecord::default()
    };
    let records = [record(5, Some(9)), record(7, Some(11)), record(1, None)];
    let expected = TrustSum {
        dimensions: 3,
        approvals: 13,
        auto_approvals: 3,
        rejections: 6,
        failures: 9,
        last_updated: Some(Micros(11)),
    };
    assert_eq!(records.iter().collect::<TrustSum>(), expected);
}
