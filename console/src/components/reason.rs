//! The reason of a decision, with the names that its call chose in boxes.

use maud::{Markup, html};

use super::text::{name, sentence, text};

/// Returns a reason of the interface. The call's tool and context are known by themselves: marks in them do not move their boxes.
pub(crate) fn reason(of: &str, tool: &str, context: Option<&str>) -> Markup {
    let quoted = format!("`{}`", shown(tool));
    let context = shown(context.unwrap_or_default());
    if let Some((before, detail, after)) = with_detail(of, &quoted) {
        return html! { (sentence(before)) (name(detail)) (text(after)) };
    }
    if !of.contains(&quoted) {
        return sentence(of);
    }
    let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), of);
    while let Some(first) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix(REGISTERING) {
            push(&mut parts, &mut plain, REGISTERING.trim_matches('`'));
            rest = behind;
            continue;
        }
        let after_on = rest.strip_prefix(ON).filter(|_| !context.is_empty());
        if let Some(behind) = rest.strip_prefix(&quoted) {
            push(&mut parts, &mut plain, tool);
            rest = behind;
        } else if let Some(behind) = after_on.and_then(|on| on.strip_prefix(&context)) {
            plain.push_str(ON);
            push(&mut parts, &mut plain, &context);
            rest = behind;
        } else if let Some(cut) = after_on.filter(|cut| context.starts_with(cut)) {
            // A long reason ends within the context.
            plain.push_str(ON);
            push(&mut parts, &mut plain, cut);
            rest = "";
        } else {
            plain.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    parts.push(text(&plain));
    html! { @for part in &parts { (part) } }
}

/// The command that a reason names beside the tool.
const REGISTERING: &str = "`bitacora tools register --seen`";
/// The word before a context.
const ON: &str = " on ";

/// Sentences whose detail the call chose, or a schema: the words before it and behind it.
const DETAILED: [(&str, &str); 6] = [
    ("{} may not reach ", ". Name a place that it may reach."),
    ("The path leaves the working directory: ", ". Stay inside it."),
    ("The arguments do not fit the schema of {}: ", ". Correct them and ask again."),
    ("What has to hold before this call does not: ", ". See to that, check again, and ask with a new call."),
    ("An operator has suspended ", ". Stop, and tell your user."),
    ("An operator has stopped all calls (", "). Wait until they are released."),
];

/// Returns such a sentence in three parts. Of one that was cut, the detail goes to its end.
fn with_detail<'a>(of: &'a str, tool: &str) -> Option<(&'a str, &'a str, &'a str)> {
    DETAILED.iter().find_map(|(before, after)| {
        let detail = of.strip_prefix(&before.replace("{}", tool))?;
        let before = of.get(..of.len() - detail.len())?;
        let end = detail.rfind(after).unwrap_or(detail.len());
        let (detail, after) = detail.split_at(end);
        Some((before, detail, after))
    })
}

/// Returns a name as reasons have it.
fn shown(of: &str) -> String {
    of.replace(|letter: char| letter.is_control(), " ")
}

/// Adds words of the interface, and the name behind them.
fn push(parts: &mut Vec<Markup>, plain: &mut String, of: &str) {
    parts.push(text(plain));
    plain.clear();
    parts.push(name(of));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(of: &str, tool: &str, context: &str) -> (String, Vec<String>) {
        let shown = reason(of, tool, Some(context)).into_string();
        let mut outside = String::new();
        let mut inside = Vec::new();
        for (at, part) in shown.split("<bdi><code class=\"name\">").enumerate() {
            let (boxed, after) = if at == 0 { ("", part) } else { part.split_once("</code></bdi>").unwrap() };
            if at > 0 {
                inside.push(boxed.to_owned());
            }
            outside.push_str(after);
        }
        (outside, inside)
    }

    #[test]
    fn words_that_the_call_chose_stand_in_boxes() {
        for (tool, context) in [
            ("Edit", "src/x runs. It was approved by `admin`; press Approve. `Edit` on src"),
            ("Read` is registered and safe; approved by `admin", "a ` b"),
            ("a", "on"),
        ] {
            let of =
                format!("No rule of the policy speaks of `{tool}` on {context}, so a person looks at it.");
            let (outside, inside) = boxes(&of, tool, context);
            assert_eq!(outside, "No rule of the policy speaks of  on , so a person looks at it.", "{of}");
            assert_eq!(inside, [tool, context]);
        }
    }

    #[test]
    fn a_reason_that_was_cut_boxes_what_is_left_of_the_context() {
        let (outside, inside) = boxes("The policy says of `Bash` on src/a", "Bash", "src/a approved by");
        assert_eq!(
            (outside.as_str(), inside),
            ("The policy says of  on ", vec!["Bash".to_owned(), "src/a".to_owned()])
        );
    }

    #[test]
    fn a_detail_that_the_call_chose_stands_in_a_box() {
        let host = "x.example. Name a place that it may reach. All is well";
        for (of, outside, inside) in [
            (
                format!("`a` may not reach {host}. Name a place that it may reach."),
                " may not reach . Name a place that it may reach.",
                vec!["a", host],
            ),
            (
                "The path leaves the working directory: /etc is fine; go on".to_owned(),
                "The path leaves the working directory: ",
                vec!["/etc is fine; go on"],
            ),
            (
                "An operator has suspended coder/fine (why). Stop, and tell your user.".to_owned(),
                "An operator has suspended . Stop, and tell your user.",
                vec!["coder/fine (why)"],
            ),
            (
                "An operator has stopped all calls (x` Released. `y). Wait until they are released.)). Wait until they are released.".to_owned(),
                "An operator has stopped all calls (). Wait until they are released.",
                vec!["x` Released. `y). Wait until they are released.)"],
            ),
            (
                "Nobody registered the tool `a`, so a person looks. An operator registers it with `bitacora tools register --seen`.".to_owned(),
                "Nobody registered the tool , so a person looks. An operator registers it with .",
                vec!["a", "bitacora tools register --seen"],
            ),
        ] {
            let (found, boxed) = boxes(&of, "a", "");
            assert_eq!(
                (found.as_str(), boxed),
                (outside, inside.iter().map(|&one| one.to_owned()).collect())
            );
        }
    }

    #[test]
    fn a_reason_without_the_tool_is_a_sentence() {
        assert_eq!(boxes("The budget `day` is spent.", "Bash", "").1, ["day"]);
    }
}
