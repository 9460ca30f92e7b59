//! Filters in the language of jq: a check that they only compute with their input.

/// The names that a filter may call: keywords, and functions that only compute. `env`, `$ENV`, `input_filename`, `import`,
/// `include`, `modulemeta`, `get_search_list`, definitions and all others are refused.
const NAMES: &str = "\
    and as break catch elif else empty end error false foreach if label not null or reduce then true try \
    IN INDEX abs add all any arrays ascii ascii_downcase ascii_upcase booleans capture ceil combinations contains debug del \
    delpaths endswith explode fabs finites first flatten floor from_entries fromdate fromdateiso8601 fromjson fromstream \
    getpath gmtime group_by gsub has implode in index indices infinite input inputs inside isempty isinfinite isnan \
    isnormal isvalid iterables join keys keys_unsorted last leaf_paths length limit log log10 log2 ltrim ltrimstr map \
    map_values match max max_by min min_by mktime nan normals now nth nulls numbers objects path paths pick pow range \
    recurse recurse_down reverse rindex round rtrim rtrimstr scalars scan select setpath sort sort_by split splits sqrt \
    startswith strftime strings strptime sub test to_entries toarray todate todateiso8601 tojson tonumber tostream \
    tostring transpose trim truncate_stream type unique unique_by until values walk while with_entries";
/// Marks that stand for themselves.
const MARKS: &str = "|,:;.[]{}()=!<>+-*/%?";
/// The most levels of texts with filters within one another.
const MAX_DEPTH: usize = 8;

/// Returns `true` if a filter only computes with its input.
pub(super) fn is_listed(filter: &str) -> bool {
    let mut reader = FilterReader { rest: filter };
    reader.tokens(0) && reader.rest.is_empty()
}

/// The construct around a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenContext {
    Parenthesis,
    Bracket,
    Object,
    If,
}

struct FilterReader<'t> {
    rest: &'t str,
}

impl<'t> FilterReader<'t> {
    /// Reads tokens to the end, or in a text to the `)` that ends a filter in it.
    fn tokens(&mut self, depth: usize) -> bool {
        let mut inside: Vec<TokenContext> = Vec::new();
        // Set if a name that comes next is the key of an object.
        let mut is_at_key = false;
        while let Some(next) = self.rest.chars().next() {
            let was_at_key = is_at_key && inside.last() == Some(&TokenContext::Object);
            is_at_key = false;
            let is_listed = match next {
                ' ' | '\t' | '\n' => {
                    self.skip(1);
                    is_at_key = was_at_key;
                    true
                }
                '"' => self.text(depth),
                '#' => {
                    is_at_key = was_at_key;
                    self.comment()
                }
                '$' => self.variable(),
                '@' => {
                    self.skip(1);
                    !self.name().is_empty()
                }
                _ if next.is_ascii_digit() => {
                    self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
                    true
                }
                _ if next.is_ascii_alphabetic() || next == '_' => self.named(&mut inside, was_at_key),
                ')' if inside.is_empty() && depth > 0 => return true,
                _ if MARKS.contains(next) => {
                    is_at_key = matches!(next, '{' | ',');
                    self.mark(next, &mut inside)
                }
                _ => false,
            };
            if !is_listed {
                return false;
            }
        }
        inside.is_empty() && depth == 0
    }

    fn mark(&mut self, mark: char, inside: &mut Vec<TokenContext>) -> bool {
        self.skip(1);
        match mark {
            '(' => inside.push(TokenContext::Parenthesis),
            '[' => inside.push(TokenContext::Bracket),
            '{' => inside.push(TokenContext::Object),
            ')' => return inside.pop() == Some(TokenContext::Parenthesis),
            ']' => return inside.pop() == Some(TokenContext::Bracket),
            '}' => return inside.pop() == Some(TokenContext::Object),
            // A name right behind one dot is a field. Two dots are a filter of their own.
            '.' if !self.rest.starts_with('.') => {
                self.name();
            }
            '.' => self.skip(1),
            // `::` stands behind the name of a module.
            ':' => return !self.rest.starts_with(':'),
            _ => {}
        }
        true
    }

    /// Takes a keyword, a function or the key of an object; `false` if it is not listed.
    fn named(&mut self, inside: &mut Vec<TokenContext>, is_at_key: bool) -> bool {
        let name = self.name();
        let behind = self.rest.trim_start_matches([' ', '\t', '\n']);
        if is_at_key && behind.starts_with([':', ',', '}']) {
            return true;
        }
        match name {
            "if" => inside.push(TokenContext::If),
            "end" => return inside.pop() == Some(TokenContext::If),
            _ => {}
        }
        NAMES.split_whitespace().any(|listed| listed == name)
    }

    /// Takes a comment up to the end of its line. Versions differ in whether a backslash goes on behind that.
    fn comment(&mut self) -> bool {
        let line = self.rest.split('\n').next().unwrap_or_default();
        self.skip(line.len());
        !line.contains(['\\', '\r'])
    }

    /// Takes a variable that the filter or the command line names. Those that jq makes begin with another letter.
    fn variable(&mut self) -> bool {
        self.skip(1);
        self.name().starts_with(|c: char| c.is_ascii_lowercase())
    }

    /// Takes a text in quotes, with the filters in it.
    fn text(&mut self, depth: usize) -> bool {
        self.skip(1);
        loop {
            let Some(at) = self.rest.find(['"', '\\']) else { return false };
            self.skip(at);
            if self.rest.starts_with('"') {
                self.skip(1);
                return true;
            }
            if self.rest.starts_with("\\(") {
                self.skip(2);
                if depth >= MAX_DEPTH || !self.tokens(depth + 1) || !self.rest.starts_with(')') {
                    return false;
                }
                self.skip(1);
            } else {
                let escaped = self.rest.chars().nth(1).map_or(0, char::len_utf8);
                self.skip(1 + escaped);
            }
        }
    }

    /// Takes the letters of a name that stand here.
    fn name(&mut self) -> &'t str {
        let is_first = self.rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let behind =
            self.rest.trim_start_matches(|c: char| is_first && (c.is_ascii_alphanumeric() || c == '_'));
        let name = self.rest.get(..self.rest.len() - behind.len()).unwrap_or_default();
        self.rest = behind;
        name
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }
}
