//! As much of Markdown as the checks need: fences, headings, links and code spans.

/// One fenced block: its language and the lines within.
pub(crate) struct Fence<'a> {
    pub(crate) language: &'a str,
    pub(crate) lines: Vec<&'a str>,
}

/// A page, read once.
#[derive(Default)]
pub(crate) struct MarkdownPage<'a> {
    /// Headings as written, without their marks.
    pub(crate) headings: Vec<&'a str>,
    /// Fenced blocks, each with the heading above it.
    pub(crate) fences: Vec<(Option<&'a str>, Fence<'a>)>,
    /// The targets of links, with the line number.
    pub(crate) links: Vec<(usize, &'a str)>,
    /// Code spans outside fences, with the line number.
    pub(crate) spans: Vec<(usize, &'a str)>,
}

impl<'a> MarkdownPage<'a> {
    pub(crate) fn read(text: &'a str) -> Self {
        let mut page = Self::default();
        let mut open = false;
        for (index, line) in text.lines().enumerate() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                if !open {
                    let fence = Fence { language: language.trim(), lines: Vec::new() };
                    page.fences.push((page.headings.last().copied(), fence));
                }
                open = !open;
            } else if open {
                if let Some((_, fence)) = page.fences.last_mut() {
                    fence.lines.push(line);
                }
            } else if let Some(heading) = line.strip_prefix('#') {
                page.headings.push(heading.trim_start_matches('#').trim());
            } else {
                page.read_line(index + 1, line);
            }
        }
        page
    }

    fn read_line(&mut self, number: usize, line: &'a str) {
        self.spans.extend(line.split('`').skip(1).step_by(2).map(|span| (number, span)));
        for after in line.split("](").skip(1) {
            if let Some((target, _)) = after.split_once(')') {
                self.links.push((number, target));
            }
        }
    }

    /// The names by which links point at this page's headings.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let slug = |heading: &&str| {
            let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
            heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
        };
        self.headings.iter().map(slug).collect()
    }
}

#[test]
fn a_page_is_read() {
    let text =
        "# A page\nsee `a/b.rs` and [it](c.md#d-e), `x`\n## D, e\n```hex\n00 [no](link) `no`\n```\nend `y`";
    let page = MarkdownPage::read(text);
    assert_eq!(page.headings, ["A page", "D, e"]);
    assert_eq!(page.anchors(), ["a-page", "d-e"]);
    assert_eq!(page.links, [(2, "c.md#d-e")]);
    assert_eq!(page.spans, [(2, "a/b.rs"), (2, "x"), (7, "y")]);
    let fences: Vec<_> =
        page.fences.iter().map(|(under, fence)| (*under, fence.language, fence.lines.len())).collect();
    assert_eq!(fences, [(Some("D, e"), "hex", 1)]);
}
