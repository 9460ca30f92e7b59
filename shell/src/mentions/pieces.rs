//! A text in pieces, each perhaps a command: its words without their quotes, and the texts within it.

/// Stands in a word for a text within it.
pub(super) const NESTED: &str = "$()";

/// A piece of text between two operators.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommandPiece {
    pub(super) words: Vec<String>,
    /// `true` if a pipe leads into it.
    pub(super) is_piped: bool,
    /// Files behind redirections; `true` for one that is written.
    pub(super) redirections: Vec<(String, bool)>,
    /// The texts of expansions and substitutions.
    pub(super) nested: Vec<String>,
    /// The texts of here-documents.
    pub(super) documents: Vec<String>,
}

/// Returns the pieces of a text.
pub(super) fn pieces(text: &str) -> Vec<CommandPiece> {
    let mut splitter = Splitter { rest: text, ..Splitter::default() };
    while splitter.step() {}
    splitter.end_piece(false);
    splitter.pieces
}

/// The role of the next word.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum NextWord {
    #[default]
    Argument,
    Read,
    Written,
    Mark,
}

#[derive(Default)]
struct Splitter<'t> {
    rest: &'t str,
    pieces: Vec<CommandPiece>,
    piece: CommandPiece,
    word: String,
    /// Set if the word was quoted: `''` is a word too.
    is_quoted: bool,
    next: NextWord,
    /// The marks of here-documents that begin at the end of the line; `true` for a quoted one, in which nothing is expanded.
    marks: Vec<(String, bool)>,
}

impl<'t> Splitter<'t> {
    /// Takes the next part of the text. `false` at the end.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        match first {
            '\\' => self.backslash(),
            '\'' => self.single_quotes(),
            '"' => self.double_quotes(),
            '`' => self.backquotes(),
            '$' => self.dollar(),
            '<' | '>' => self.redirection(first),
            '&' if self.rest.starts_with("&>") => self.pass(1),
            '\n' => self.end_line(),
            '|' => {
                let is_pipe = !self.rest.starts_with("||");
                self.pass(if is_pipe && !self.rest.starts_with("|&") { 1 } else { 2 });
                self.end_piece(is_pipe);
            }
            ';' | '&' | '(' | ')' => {
                self.pass(1);
                self.end_piece(false);
            }
            '{' | '}' if self.word.is_empty() && self.is_alone() => {
                self.pass(1);
                self.end_piece(false);
            }
            '#' if self.word.is_empty() && !self.is_quoted => {
                self.pass(self.rest.find('\n').unwrap_or(self.rest.len()));
            }
            _ => {
                self.pass(first.len_utf8());
                if first.is_whitespace() { self.end_word() } else { self.word.push(first) }
            }
        }
        true
    }

    fn pass(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// Takes everything before an end, and the end. Without one it takes all.
    fn take_to(&mut self, end: char) -> &'t str {
        let (inner, rest) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        inner
    }

    /// Returns `true` if the first character is a word by itself.
    fn is_alone(&self) -> bool {
        let behind = self.rest.chars().nth(1);
        behind.is_none_or(|behind| behind.is_whitespace() || matches!(behind, ';' | '&' | '|' | ')'))
    }

    fn backslash(&mut self) {
        let next = self.rest.chars().nth(1);
        self.pass(1 + next.map_or(0, char::len_utf8));
        self.word.extend(next.filter(|next| *next != '\n'));
    }

    fn single_quotes(&mut self) {
        self.pass(1);
        let inner = self.take_to('\'');
        self.word.push_str(inner);
        self.is_quoted = true;
    }

    fn double_quotes(&mut self) {
        self.pass(1);
        self.is_quoted = true;
        while let Some(first) = self.rest.chars().next() {
            match first {
                '"' => return self.pass(1),
                '`' => self.backquotes(),
                '$' => self.dollar(),
                '\\' => {
                    let next = self.rest.chars().nth(1);
                    self.pass(1 + next.map_or(0, char::len_utf8));
                    let keeps = next.is_some_and(|next| !matches!(next, '$' | '`' | '"' | '\\' | '\n'));
                    self.word.extend(keeps.then_some('\\'));
                    self.word.extend(next.filter(|next| *next != '\n'));
                }
                _ => {
                    self.pass(first.len_utf8());
                    self.word.push(first);
                }
            }
        }
    }

    fn backquotes(&mut self) {
        self.pass(1);
        let inner = self.take_to('`');
        self.piece.nested.push(inner.to_owned());
        self.word.push_str(NESTED);
    }

    fn dollar(&mut self) {
        self.pass(1);
        if self.rest.starts_with('(') {
            let is_arithmetic = self.rest.starts_with("((");
            let inner = self.parentheses();
            if is_arithmetic {
                self.piece.nested.append(&mut expansions(inner));
            } else {
                self.piece.nested.push(inner.to_owned());
            }
            self.word.push_str(NESTED);
        } else if self.rest.starts_with('{') {
            let inner = self.take_to('}');
            if inner.contains("$(") || inner.contains('`') {
                self.piece
                    .nested
                    .push(inner.trim_start_matches(|first| first != '$' && first != '`').to_owned());
            }
            self.word.push('$');
            self.word.push_str(inner.trim_start_matches('{'));
        } else if !self.rest.starts_with(['\'', '"']) {
            self.word.push('$');
        }
    }

    /// Takes the text in the parentheses that begin here.
    fn parentheses(&mut self) -> &'t str {
        let all = self.rest;
        let end = closing(all).unwrap_or(all.len());
        self.pass(end + 1);
        all.get(1..end).unwrap_or_default()
    }

    fn redirection(&mut self, first: char) {
        let is_descriptor = !self.is_quoted && self.word.bytes().all(|byte| byte.is_ascii_digit());
        if is_descriptor {
            self.word.clear();
        }
        self.end_word();
        if self.rest.starts_with("<(") || self.rest.starts_with(">(") {
            self.pass(1);
            let inner = self.parentheses();
            self.piece.nested.push(inner.to_owned());
            return self.word.push_str(NESTED);
        }
        if self.rest.starts_with("<<<") {
            return self.pass(3);
        }
        if self.rest.starts_with("<<") {
            self.pass(if self.rest.starts_with("<<-") { 3 } else { 2 });
            self.next = NextWord::Mark;
            return;
        }
        let is_written = first == '>' || self.rest.starts_with("<>");
        self.rest = self.rest.trim_start_matches(['<', '>', '|', '!']);
        if let Some(rest) = self.rest.strip_prefix('&') {
            // A descriptor, or a file for both outputs.
            let descriptor = rest.trim_start_matches(|next: char| next.is_ascii_digit() || next == '-');
            let is_file = descriptor.len() == rest.len();
            self.rest = descriptor;
            if !is_file {
                return;
            }
        }
        self.next = if is_written { NextWord::Written } else { NextWord::Read };
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let is_quoted = std::mem::take(&mut self.is_quoted);
        if word.is_empty() && !is_quoted {
            return;
        }
        match std::mem::take(&mut self.next) {
            NextWord::Argument => self.piece.words.push(word),
            NextWord::Read => self.piece.redirections.push((word, false)),
            NextWord::Written => self.piece.redirections.push((word, true)),
            NextWord::Mark => self.marks.push((word, is_quoted)),
        }
    }

    /// Ends a piece. The next one may be piped into.
    fn end_piece(&mut self, is_piped: bool) {
        self.end_word();
        let next = CommandPiece { is_piped, ..CommandPiece::default() };
        let piece = std::mem::replace(&mut self.piece, next);
        if piece != (CommandPiece { is_piped: piece.is_piped, ..CommandPiece::default() }) {
            self.pieces.push(piece);
        }
    }

    /// Ends a line, and takes the here-documents behind it.
    fn end_line(&mut self) {
        self.pass(1);
        self.end_piece(false);
        for (mark, is_quoted) in std::mem::take(&mut self.marks) {
            let (document, rest) = document(self.rest, &mark);
            self.rest = rest;
            // The document belongs to a command of this line. Each of them may be the one that reads it.
            for piece in self.pieces.iter_mut().rev().take(MAX_READERS) {
                piece.documents.push(document.to_owned());
                if !is_quoted {
                    piece.nested.append(&mut expansions(document));
                }
            }
        }
    }
}

/// The commands of a line that may read its here-document.
const MAX_READERS: usize = 4;

/// Returns the texts that are run to make a text of a here-document.
fn expansions(document: &str) -> Vec<String> {
    let mut splitter = Splitter { rest: document, ..Splitter::default() };
    while let Some(first) = splitter.rest.chars().next() {
        match first {
            '`' => splitter.backquotes(),
            '$' => splitter.dollar(),
            _ => splitter.pass(first.len_utf8()),
        }
    }
    splitter.piece.nested
}

/// Returns the place at which the parenthesis closes that a text begins with. Here-documents within it count as they stand.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut marks = Vec::new();
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let letter = rest.chars().next()?;
        at += letter.len_utf8();
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None | Some('"'), '\\') => at += text.get(at..)?.chars().next()?.len_utf8(),
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(') => depth += 1,
            (None, ')') if depth > 1 => depth -= 1,
            (None, ')') => return Some(at - 1),
            (None, '<') if rest.starts_with("<<<") => at += 2,
            (None, '<') if rest.starts_with("<<") => {
                let blank = rest.len() - rest.trim_start_matches(['<', '-', ' ']).len();
                let mark = rest.get(blank..)?;
                let end = mark.find(|next: char| next.is_whitespace() || ";|&)".contains(next));
                let mark = mark.get(..end.unwrap_or(mark.len()))?;
                at += blank + mark.len() - 1;
                marks.push(mark.trim_matches(['\'', '"', '\\']));
            }
            (None, '\n') => {
                for mark in marks.drain(..) {
                    at = text.len() - document(text.get(at..)?, mark).1.len();
                }
            }
            _ => {}
        }
    }
}

/// Splits a text at the line that is a mark: the text before that line, and the text behind it.
fn document<'t>(text: &'t str, mark: &str) -> (&'t str, &'t str) {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end_matches('\n').trim_start_matches('\t') == mark {
            return (text.get(..end).unwrap_or_default(), text.get(end + line.len()..).unwrap_or_default());
        }
        end += line.len();
    }
    (text, "")
}
