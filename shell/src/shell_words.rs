//! Words that a shell does not look for on the disk: its keywords, aliases and builtins.

use crate::line::{ShellWord, SimpleCommand};
use crate::unreadable::{Construct, UnreadableCommand};

/// The keywords, predefined aliases and builtins of bash, dash, zsh, busybox and mksh, sorted, except for those in
/// [`BuiltinArguments::of`]. Some run their arguments or texts in files, some change the meaning of later words, and some only stop the
/// shell. None is told from the others: a text with any of them is unreadable.
const SHELL_WORDS: [&str; 141] = [
    ".",
    "alias",
    "autoload",
    "bg",
    "bind",
    "bindkey",
    "break",
    "builtin",
    "bye",
    "caller",
    "cap",
    "case",
    "chdir",
    "clone",
    "compadd",
    "comparguments",
    "compcall",
    "compctl",
    "compdescribe",
    "compfiles",
    "compgen",
    "compgroups",
    "complete",
    "compopt",
    "compquote",
    "compset",
    "comptags",
    "comptry",
    "compvalues",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disable",
    "disown",
    "do",
    "done",
    "echotc",
    "echoti",
    "elif",
    "else",
    "emulate",
    "enable",
    "end",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "fc",
    "fg",
    "fi",
    "float",
    "for",
    "foreach",
    "function",
    "functions",
    "getcap",
    "getln",
    "getopts",
    "global",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "integer",
    "jobs",
    "let",
    "limit",
    "local",
    "log",
    "login",
    "logout",
    "mapfile",
    "mknod",
    "nameref",
    "namespace",
    "nocorrect",
    "noglob",
    "nohup",
    "popd",
    "print",
    "private",
    "pushd",
    "pushln",
    "r",
    "read",
    "readarray",
    "readonly",
    "rehash",
    "repeat",
    "return",
    "run-help",
    "sched",
    "select",
    "set",
    "setcap",
    "setopt",
    "shift",
    "shopt",
    "source",
    "stop",
    "suspend",
    "then",
    "time",
    "times",
    "trap",
    "ttyctl",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unfunction",
    "unhash",
    "unlimit",
    "unset",
    "unsetopt",
    "until",
    "vared",
    "wait",
    "whence",
    "where",
    "which-command",
    "while",
    "zcompile",
    "zcurses",
    "zformat",
    "zftp",
    "zle",
    "zmodload",
    "zparseopts",
    "zprof",
    "zpty",
    "zregexparse",
    "zselect",
    "zsocket",
    "zstat",
    "zstyle",
    "zsystem",
    "ztcp",
];

/// Returns `true` if a name is a keyword, an alias or a builtin that the grammar does not have.
pub(crate) fn is_shell_word(name: &str) -> bool {
    SHELL_WORDS.binary_search(&name).is_ok()
}

/// Arguments with which a builtin does nothing but print, end well or badly, look at a file, or change the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BuiltinArguments {
    /// Any.
    Any,
    /// `-v` or `-V`, then names.
    NamesLookedUp,
    /// A format without numbers, then any.
    TextFormat,
    /// A test of one file or text, or a comparison of two texts or numbers.
    Comparison,
    /// Numbers and names of signals.
    SignalsAndNumbers,
}

impl BuiltinArguments {
    /// Returns the arguments of a builtin that the grammar has. Some shells have a program in its place.
    fn of(name: &str) -> Option<Self> {
        match name {
            "cat" | "cd" | "echo" | "false" | "pwd" | "realpath" | "rename" | "sleep" | "true" | "type"
            | "which" => Some(Self::Any),
            "command" => Some(Self::NamesLookedUp),
            "kill" => Some(Self::SignalsAndNumbers),
            "printf" => Some(Self::TextFormat),
            "test" => Some(Self::Comparison),
            _ => None,
        }
    }

    /// Returns the first argument that a shell may evaluate as a number, as the name of a variable or as a program.
    fn evaluated(self, arguments: &[ShellWord]) -> Option<&ShellWord> {
        match self {
            Self::Any => None,
            Self::NamesLookedUp => {
                let is_option = |word: &ShellWord| matches!(word.text.as_str(), "-v" | "-V");
                let (first, names) = arguments.split_first()?;
                if is_option(first) { names.iter().find(|word| !is_name(word)) } else { Some(first) }
            }
            Self::TextFormat => arguments.first().filter(|format| !is_text_format(format)),
            Self::Comparison => {
                if is_comparison(arguments) {
                    None
                } else {
                    arguments.first()
                }
            }
            Self::SignalsAndNumbers => arguments.iter().find(|word| !is_signal_or_number(word)),
        }
    }
}

/// Refuses a builtin with arguments that a shell may evaluate.
///
/// Shells do so with every argument that they take for a number: `printf %d 'a[$(cmd)]'` runs a command in zsh.
pub(crate) fn check_builtin(command: &SimpleCommand) -> Result<(), UnreadableCommand> {
    let Some((program, arguments)) = command.words.split_first() else { return Ok(()) };
    let evaluated = BuiltinArguments::of(&program.text).and_then(|builtin| builtin.evaluated(arguments));
    evaluated.map_or(Ok(()), |word| {
        Err(UnreadableCommand { construct: Construct::EvaluatedArgument, offset: word.offset })
    })
}

/// Returns `true` for a name of a program, without a folder or with one.
fn is_name(word: &ShellWord) -> bool {
    !word.is_glob && !word.text.starts_with('-') && word.text.chars().all(crate::characters::is_of_program)
}

/// Returns `true` for a format of which `%s`, `%b` and `%%` are the only conversions, with digits for widths.
fn is_text_format(word: &ShellWord) -> bool {
    if word.is_glob || word.text.starts_with('-') {
        return false;
    }
    let mut pieces = word.text.split('%');
    pieces.next();
    while let Some(piece) = pieces.next() {
        if piece.is_empty() {
            // `%%`: the piece behind it is text. At the end of the format there is a lone `%`.
            if pieces.next().is_none() {
                return false;
            }
            continue;
        }
        let conversion =
            piece.trim_start_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, '-' | '.'));
        if !conversion.starts_with(['s', 'b']) {
            return false;
        }
    }
    true
}

/// Returns `true` for a comparison that every shell makes with nothing but texts, whole numbers and properties of a file.
fn is_comparison(arguments: &[ShellWord]) -> bool {
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    if arguments.iter().any(|word| word.is_glob) {
        return false;
    }
    match texts.as_slice() {
        ["-d" | "-e" | "-f" | "-h" | "-L" | "-n" | "-r" | "-s" | "-w" | "-x" | "-z", operand] => {
            is_operand(operand)
        }
        [left, "=" | "!=", right] => is_operand(left) && is_operand(right),
        [left, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge", right] => is_number(left) && is_number(right),
        _ => false,
    }
}

/// Returns `true` for a text that no shell takes for an operator of `test`.
fn is_operand(text: &str) -> bool {
    let is_plain = |letter: char| {
        letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/' | ' ' | ',' | '@' | '+')
    };
    text.chars().all(is_plain) && !text.starts_with('-')
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_signal_or_number(word: &ShellWord) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    !word.is_glob && word.text.chars().all(is_plain)
}
