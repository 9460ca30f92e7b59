//! A report as an HTML page: one file of escaped text, without scripts.

use bitacora_formats::{html_text, printable};

use crate::section::Section;

const BEGINNING: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>\n\
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:78rem;padding:0 1rem;color:#1b1b1b;background:#fff}\n\
table{border-collapse:collapse;width:100%}\nth,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #ddd}\n\
td{font-variant-numeric:tabular-nums;overflow-wrap:anywhere}\np{color:#555;margin:.25rem 0 .75rem}\n\
</style>\n";

/// Returns the whole page.
#[must_use]
pub fn report_page(title: &str, sections: &[Section]) -> String {
    let mut page = format!("{BEGINNING}<title>{0}</title>\n</head>\n<body>\n<h1>{0}</h1>\n", text(title));
    for section in sections {
        page.push_str(&format!("<h2>{}</h2>\n<p>{}</p>\n", text(&section.title), text(&section.note)));
        let (shown, more) = section.shown();
        if shown.is_empty() {
            page.push_str(&format!("<p>{}</p>\n", text(&section.empty)));
            continue;
        }
        page.push_str("<table>\n<tr>");
        section.heading.iter().for_each(|cell| page.push_str(&format!("<th>{}</th>", text(cell))));
        page.push_str("</tr>\n");
        for row in shown {
            page.push_str("<tr>");
            row.iter().for_each(|cell| page.push_str(&format!("<td>{}</td>", text(cell))));
            page.push_str("</tr>\n");
        }
        page.push_str("</table>\n");
        if more > 0 {
            page.push_str(&format!("<p>and {more} more</p>\n"));
        }
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn text(text: &str) -> String {
    html_text(&printable(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_agents_named_is_text_on_the_page() {
        let section = Section {
            title: "<b>".to_owned(),
            note: "a & b".to_owned(),
            heading: vec!["what"],
            rows: vec![vec!["<script>alert('x')</script>\u{1b}[2J\"".to_owned()]],
            empty: "none".to_owned(),
        };
        let page = report_page("</title>", &[section]);
        assert!(!page.contains("<script") && !page.contains('\u{1b}') && !page.contains("<b>"), "{page}");
        assert!(
            page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;") && page.contains("a &amp; b")
        );
        assert_eq!(page.matches("</title>").count(), 1);
    }
}
