//! The result of trying a policy, as a self-contained HTML page.

use std::fmt::Write as _;

use bitacora_formats::html_text;
use bitacora_vocabulary::Verdict;

use crate::trial::{Trial, TrialContext, TrialRow};
use crate::trial_text::in_words;
use crate::watched_calls::RejectedCalls;

/// The most bars of one chart.
const MAX_BARS: usize = 20;
/// The most days of the chart over time, the newest ones.
const MAX_DAYS: usize = 92;
/// The width of the widest bar; the height of the chart over time follows.
const WIDTH: u64 = 200;
const HEIGHT: u64 = 80;

const STYLE: &str = "\
:root{color-scheme:light dark;--s:#b3412a;--m:#2f7d4f;--n:#8884}\
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}\
table{border-collapse:collapse;width:100%}td,th{padding:.2rem .6rem;text-align:left;border-bottom:1px solid #8883;vertical-align:top}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code{font-size:.9em;overflow-wrap:anywhere}\
.s{fill:var(--s);color:var(--s)}.m{fill:var(--m);color:var(--m)}.n0{fill:var(--n)}small{opacity:.75}";

/// Returns the result of a trial as a self-contained HTML page.
#[must_use]
pub fn trial_page(context: &TrialContext<'_>, trial: &Trial) -> String {
    let mut html = String::new();
    let (calls, changed) = (trial.calls(), trial.changed());
    let name = escaped(context.name);
    head(&name, &mut html);
    push(
        &mut html,
        format_args!(
            "<h1>Under {name}, {changed} of {calls} calls would be judged otherwise</h1>\n<p>Decided past position {} up to {}. \
         All else is taken as it was recorded: no other outcomes are imagined. Digest <code>{}</code>.</p>\n",
            context.after,
            context.to,
            context.policy.digest()
        ),
    );
    remarks(trial, &mut html);
    verdicts(trial, &mut html);
    if changed > 0 {
        days(trial, &mut html);
        bars("By tool", &trial.by_tool.changed_most(), &mut html);
        bars("By agent", &trial.by_agent.changed_most(), &mut html);
        examples(trial, &mut html);
    }
    html.push_str("</body>\n</html>\n");
    html
}

fn push(html: &mut String, what: std::fmt::Arguments<'_>) {
    // Nothing that is written to memory fails.
    let _infallible = html.write_fmt(what);
}

fn head(name: &str, html: &mut String) {
    push(
        html,
        format_args!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>What if: {name}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        ),
    );
}

fn remarks(trial: &Trial, html: &mut String) {
    let outcomes = &trial.outcomes;
    html.push_str("<ul>\n");
    if outcomes.stricter_ok + outcomes.stricter_failed > 0 {
        push(
            html,
            format_args!(
                "<li>Of the calls that would be judged <b class=\"s\">more strictly</b>, {} ended well and {} failed.</li>\n",
                outcomes.stricter_ok, outcomes.stricter_failed
            ),
        );
    }
    if outcomes.milder_ok + outcomes.milder_failed + outcomes.milder_blocked > 0 {
        push(
            html,
            format_args!(
                "<li>Of those that would be judged <b class=\"m\">more mildly</b>, {} ended well, {} failed, and {} were not let run.</li>\n",
                outcomes.milder_ok, outcomes.milder_failed, outcomes.milder_blocked
            ),
        );
    }
    let rejections = &trial.rejections;
    if rejections.calls() > 0 {
        let part = |verdict: &str, calls: &RejectedCalls| {
            let at = if calls.calls > 0 {
                format!(" <small>({})</small>", positions(&calls.examples))
            } else {
                String::new()
            };
            format!("{verdict} {}{at}", calls.calls)
        };
        push(
            html,
            format_args!(
                "<li>Of the {} calls that people rejected, it would {}, {} and {}.</li>\n",
                rejections.calls(),
                part("deny", &rejections.deny),
                part("review", &rejections.review),
                part("allow", &rejections.allow)
            ),
        );
    }
    if trial.uncertain() > 0 {
        push(
            html,
            format_args!(
                "<li>Of {} calls something is not known that the policy asks for; the strictest is assumed.</li>\n",
                trial.uncertain()
            ),
        );
    }
    if trial.unjudged > 0 {
        push(html, format_args!("<li>{} more calls cannot be judged again.</li>\n", trial.unjudged));
    }
    html.push_str("</ul>\n");
}

fn verdicts(trial: &Trial, html: &mut String) {
    html.push_str("<h2>Verdicts</h2>\n<table>\n<tr><th>was</th><th>would be</th><th class=\"n\">calls</th><th>positions</th></tr>\n");
    for change in &trial.run.changes {
        let class = direction(change.earlier, change.later);
        let positions = if class.is_empty() { String::new() } else { positions(&change.examples) };
        push(
            html,
            format_args!(
                "<tr><td>{}</td><td class=\"{class}\">{}</td><td class=\"n\">{}</td><td><small>{positions}</small></td></tr>\n",
                change.earlier.as_str(),
                change.later.as_str(),
                change.calls
            ),
        );
    }
    html.push_str("</table>\n");
}

fn direction(before: Verdict, after: Verdict) -> &'static str {
    match after.cmp(&before) {
        std::cmp::Ordering::Greater => "s",
        std::cmp::Ordering::Less => "m",
        std::cmp::Ordering::Equal => "",
    }
}

fn positions(positions: &[u64]) -> String {
    positions.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

/// Draws the calls of each day, with the changed ones at the bottom.
fn days(trial: &Trial, html: &mut String) {
    let days: Vec<(&String, &TrialRow)> = trial.by_day.0.iter().rev().take(MAX_DAYS).collect();
    let most = days.iter().map(|(_, line)| line.calls).max().unwrap_or(0).max(1);
    let width = 10 * days.len() as u64;
    push(
        html,
        format_args!(
            "<h2>By day</h2>\n<svg width=\"{width}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"Calls by day\">\n"
        ),
    );
    for (number, (day, line)) in (0_u64..).zip(days.iter().rev()) {
        let TrialRow { calls, stricter, milder, .. } = line;
        let title = format!("{}: {calls} calls, {stricter} stricter, {milder} milder", escaped(day));
        let mut bottom = HEIGHT;
        for (class, count) in [("s", *stricter), ("m", *milder), ("n0", calls - line.changed())] {
            let height = part(count, most, HEIGHT);
            bottom = bottom.saturating_sub(height);
            push(
                html,
                format_args!(
                    "<rect class=\"{class}\" x=\"{}\" y=\"{bottom}\" width=\"8\" height=\"{height}\"><title>{title}</title></rect>\n",
                    number * 10
                ),
            );
        }
    }
    html.push_str("</svg>\n");
    if let (Some((last, _)), Some((first, _))) = (days.first(), days.last()) {
        push(html, format_args!("<p><small>{} to {}</small></p>\n", escaped(first), escaped(last)));
    }
}

/// Scales a count to `whole`; a count above 0 gives at least 1.
fn part(count: u64, most: u64, whole: u64) -> u64 {
    let exact = u128::from(count) * u128::from(whole) / u128::from(most.max(1));
    u64::try_from(exact).unwrap_or(whole).max(u64::from(count > 0))
}

fn bars(title: &str, lines: &[(&str, &TrialRow)], html: &mut String) {
    let most = lines.iter().map(|(_, line)| line.changed()).max().unwrap_or(0);
    push(
        html,
        format_args!(
            "<h2>{title}</h2>\n<table>\n<tr><th></th><th></th><th class=\"n\">stricter</th><th class=\"n\">milder</th>\
         <th class=\"n\">of</th><th>positions</th></tr>\n"
        ),
    );
    for (name, line) in lines.iter().take(MAX_BARS) {
        let TrialRow { calls, stricter, milder, examples } = line;
        let (strict, mild) = (part(*stricter, most, WIDTH), part(*milder, most, WIDTH));
        push(
            html,
            format_args!(
                "<tr><td><code>{}</code></td><td><svg width=\"{WIDTH}\" height=\"12\"><rect class=\"s\" width=\"{strict}\" \
             height=\"12\"/><rect class=\"m\" x=\"{strict}\" width=\"{mild}\" height=\"12\"/></svg></td>\
             <td class=\"n\">{stricter}</td><td class=\"n\">{milder}</td><td class=\"n\">{calls}</td>\
             <td><small>{}</small></td></tr>\n",
                escaped(name),
                positions(examples)
            ),
        );
    }
    html.push_str("</table>\n");
    if lines.len() > MAX_BARS {
        push(html, format_args!("<p><small>and {} more</small></p>\n", lines.len() - MAX_BARS));
    }
}

fn examples(trial: &Trial, html: &mut String) {
    html.push_str(
        "<h2>The newest of them</h2>\n<table>\n<tr><th class=\"n\">position</th><th>call</th><th>tool</th>\
         <th>agent</th><th>was</th><th>would be</th></tr>\n",
    );
    for example in &trial.examples {
        let found = &example.found;
        let class = direction(found.recorded.verdict, found.otherwise.verdict);
        let assumed = if found.certain { "" } else { ", assumed" };
        push(
            html,
            format_args!(
                "<tr><td class=\"n\">{}</td><td><code>{}</code></td><td><code>{}</code></td><td>{}</td><td>{}</td>\
             <td class=\"{class}\">{}{assumed}</td></tr>\n",
                example.position,
                escaped(&example.call),
                escaped(&found.tool),
                escaped(example.agent.as_deref().unwrap_or("-")),
                escaped(&in_words(&found.recorded)),
                escaped(&in_words(&found.otherwise))
            ),
        );
    }
    html.push_str("</table>\n");
}

/// Escapes text for HTML. Control characters, which HTML cannot hold, are replaced.
fn escaped(text: &str) -> String {
    html_text(&text.replace(char::is_control, "\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_agents_is_never_markup() {
        assert_eq!(escaped("<b a='1' c=\"2\">&\n"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\u{fffd}");
    }

    #[test]
    fn bars_are_parts_of_the_widest_and_something_of_anything() {
        assert_eq!([part(0, 9, 90), part(1, 1_000, 90), part(3, 9, 90), part(9, 9, 90)], [0, 1, 30, 90]);
        assert_eq!(part(u64::MAX, u64::MAX, 90), 90);
    }
}
