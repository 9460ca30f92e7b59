//! Words for dimensions, suggestions, positions and gaps.

use bitacora_api::{DimensionAnswer, SuggestionAnswer};

/// The mark of an unknown part of a dimension.
const UNKNOWN: &str = "-";
/// The numbers of positions that are shown from the beginning and from the end.
const SHOWN_POSITIONS: [usize; 2] = [2, 3];

/// Describes a dimension: `fs.write on src, by m1, for review`.
#[must_use]
pub fn dimension_words(dimension: &DimensionAnswer) -> String {
    let DimensionAnswer { tool, context, model, task_type, workspace } = dimension;
    let mut words = tool.clone();
    for (joint, part) in [(" on ", context), (", by ", model), (", for ", task_type)] {
        if part != UNKNOWN {
            words.push_str(joint);
            words.push_str(part);
        }
    }
    match workspace.as_deref() {
        None => words.push_str(", in all projects"),
        Some(UNKNOWN) => {}
        Some(workspace) => {
            words.push_str(", in ");
            words.push_str(workspace);
        }
    }
    words
}

/// Describes the subject of a suggestion, with the tags that people gave it.
#[must_use]
pub fn suggestion_subject(suggestion: &SuggestionAnswer) -> String {
    let mut words = suggestion.dimension.as_ref().map_or("-".to_owned(), dimension_words);
    if !suggestion.tags.is_empty() {
        words.push_str(&format!(" [{}]", suggestion.tags.join(", ")));
    }
    words
}

/// Shortens positions: the first and the last ones, and their number.
#[must_use]
pub fn position_words(all: &[String]) -> String {
    let [first, last] = SHOWN_POSITIONS;
    if all.len() <= first + last {
        return all.join(", ");
    }
    let beginning = all.get(..first).unwrap_or_default().join(", ");
    let end = all.get(all.len() - last..).unwrap_or_default().join(", ");
    format!("{beginning} … {end} ({})", all.len())
}

/// Returns the text for an empty list of gaps, of all calls or of one session's.
#[must_use]
pub fn gapless_words(is_of_session: bool, open: usize) -> String {
    match open {
        0 if is_of_session => "no gap was recorded of this session".to_owned(),
        0 => "of every call that is known, both halves are recorded".to_owned(),
        1 => "no gap was recorded; 1 call has no outcome yet".to_owned(),
        open => format!("no gap was recorded; {open} calls have no outcome yet"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_of_a_dimension_is_not_said() {
        let dimension = |parts: [&str; 4], workspace: Option<&str>| {
            let [tool, context, model, task_type] = parts.map(str::to_owned);
            let workspace = workspace.map(str::to_owned);
            dimension_words(&DimensionAnswer { tool, context, model, task_type, workspace })
        };
        let named = ["fs.write", "src", "m1", "review"];
        assert_eq!(dimension(["fs.write", "-", "-", "-"], None), "fs.write, in all projects");
        assert_eq!(dimension(named, Some("-")), "fs.write on src, by m1, for review");
        assert_eq!(dimension(named, Some("/a")), "fs.write on src, by m1, for review, in /a");
        assert_eq!(dimension(["fs.write", "-", "-", "-"], Some("-")), "fs.write");
    }

    #[test]
    fn of_many_positions_the_first_and_the_last_are_shown() {
        let all =
            |count: usize| position_words(&(1..=count).map(|number| number.to_string()).collect::<Vec<_>>());
        assert_eq!(all(0), "");
        assert_eq!(all(5), "1, 2, 3, 4, 5");
        assert_eq!(all(6), "1, 2 … 4, 5, 6 (6)");
    }
}
