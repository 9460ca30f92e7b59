//! Programs that search files for texts, and folders for names.

use crate::action::Access::{self, Lists, Reads, ReadsTree};
use crate::action::FileUse;
use crate::programs::arguments::{CommandArguments, Operand, here, unlisted};
use crate::programs::entry::Check::{Any, By, Number, Of, Prose, Word};
use crate::programs::entry::OptionValue::{File, Perhaps, Text};
use crate::programs::entry::{
    LOOKS, OperandMeaning, Operands, OptionValue, Program, ProgramUse, Style, program,
};
use crate::programs::globs::{as_glob, of_grep, of_ripgrep};
use crate::unreadable::UnreadableCommand;

/// Without `-R`, which follows links out of the folder, and without `-z`, which opens packed files under BSD.
const GREP: &str = "-# -E -F -G -H -I -L -P -T -a -b -c -h -i -l -n -o -q -r -s -v -w -x -y --basic-regexp \
    --byte-offset --count --extended-regexp --files-with-matches --files-without-match --fixed-strings \
    --ignore-case --initial-tab --invert-match --line-buffered --line-number --line-regexp --no-filename \
    --no-ignore-case --no-messages --null --only-matching --perl-regexp --quiet --recursive --silent --text \
    --with-filename --word-regexp";
const GREP_VALUES: &[(&str, OptionValue)] = &[
    ("-A -B -C -m --after-context --before-context --context --max-count", Text(Number)),
    ("-e --regexp", Text(Prose)),
    ("-f --file", File(Reads)),
    ("--include", Text(By(|glob| of_grep(glob).is_some()))),
    ("--exclude --exclude-dir", Text(Any)),
    ("--color --colour", Perhaps(Of("always auto never"))),
    ("--binary-files", Text(Of("binary text without-match"))),
];
/// Without `-L`, which follows links, `-z` and `--pre`, which run programs.
const RG: &str = "-. -0 -F -H -I -N -P -S -U -a -c -h -i -l -n -o -p -q -s -u -v -w -x -uu -uuu \
    --case-sensitive --column --count --count-matches --crlf --files-with-matches --files-without-match \
    --fixed-strings --heading --hidden --ignore-case --invert-match --json --line-number --line-regexp \
    --multiline --multiline-dotall --no-config --no-filename --no-heading --no-ignore --no-ignore-vcs \
    --no-line-number --no-messages --null --only-matching --passthru --pcre2 --pretty --quiet --smart-case \
    --stats --text --trim --unrestricted --vimgrep --with-filename --word-regexp";
const RG_VALUES: &[(&str, OptionValue)] = &[
    (
        "-A -B -C -M -d -j -m --after-context --before-context --context --max-columns --max-count",
        Text(Number),
    ),
    ("--max-depth --threads", Text(Number)),
    ("--color", Text(Of("always ansi auto never"))),
    ("-e --regexp", Text(Prose)),
    ("-f --file", File(Reads)),
    ("-g --glob --iglob", Text(By(is_glob_of_ripgrep))),
    ("-r --replace", Text(Any)),
    ("--sort --sortr", Text(Of("none path modified accessed created"))),
    ("-t --type", Text(Of(TYPES_OF_RG))),
    ("-T --type-not", Text(Word)),
];
/// The types of files that every version of ripgrep knows, of those whose patterns stand below.
const TYPES_OF_RG: &str =
    "c cpp css go html java js json kotlin markdown md py python ruby rust sh sql swift toml ts yaml";
const PATTERNS_OF_TYPES: [(&str, &str); 21] = [
    ("c", "*.[chH] *.[chH].in *.cats"),
    ("cpp", "*.[ChH] *.[ChH].in *.[ch]pp *.[ch]xx *.[ch]++ *.cc *.hh *.inl"),
    ("css", "*.css *.scss"),
    ("go", "*.go"),
    ("html", "*.htm *.html *.ejs"),
    ("java", "*.java *.jsp *.jspx *.properties"),
    ("js", "*.js *.jsx *.vue *.cjs *.mjs"),
    ("json", "*.json composer.lock *.sarif"),
    ("kotlin", "*.kt *.kts"),
    ("markdown", "*.markdown *.md *.mdown *.mdwn *.mkd *.mkdn *.mdx"),
    ("md", "*.markdown *.md *.mdown *.mdwn *.mkd *.mkdn *.mdx"),
    ("py", "*.py *.pyi"),
    ("python", "*.py *.pyi"),
    ("ruby", "*.gemspec *.rb *.rbw .irbrc Gemfile Rakefile config.ru"),
    ("rust", "*.rs"),
    (
        "sh",
        "*.bash *.bashrc *.csh *.cshrc *.ksh *.kshrc *.sh *.tcsh *.zsh .bash_login .bash_logout \
        .bash_profile .bashrc .cshrc .kshrc .login .logout .profile .tcshrc .zlogin .zlogout .zprofile .zshenv \
        .zshrc bash_login bash_logout bash_profile bashrc profile zlogin zlogout zprofile zshenv zshrc",
    ),
    ("sql", "*.psql *.sql"),
    ("swift", "*.swift"),
    ("toml", "*.toml Cargo.lock"),
    ("ts", "*.ts *.tsx *.cts *.mts"),
    ("yaml", "*.yaml *.yml"),
];
/// Without `-l`, `-x` and `-X`, which run programs, and `-L`, which follows links.
const FD: &str = "-0 -1 -F -H -I -a -g -i -p -q -s -u --absolute-path --case-sensitive --fixed-strings \
    --full-path --glob --hidden --ignore-case --no-ignore --no-ignore-vcs --print0 --quiet --unrestricted";
const FD_VALUES: &[(&str, OptionValue)] = &[
    ("-E -e --exclude --extension --changed-before --changed-within", Text(Any)),
    ("-d --max-depth --min-depth --max-results", Text(Number)),
    ("-t --type", Text(Of("f d l e x s p file directory symlink executable empty socket pipe"))),
    ("-c --color", Text(Of("always auto never"))),
];

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["grep", "egrep", "fgrep"],
        &[ProgramUse {
            flags: &[GREP],
            values: &[GREP_VALUES],
            operands: Operands::By(grep, "a regular expression, then files"),
            ..LOOKS
        }],
    ),
    program(
        &["rg"],
        &[
            ProgramUse {
                words: "--files",
                part: Some(""),
                style: Style::Mixed,
                flags: &[RG],
                values: &[RG_VALUES],
                operands: Operands::By(listed_by_ripgrep, "files or folders"),
                ..LOOKS
            },
            ProgramUse {
                style: Style::Mixed,
                flags: &[RG],
                values: &[RG_VALUES],
                operands: Operands::By(ripgrep, "a regular expression, then files or folders"),
                ..LOOKS
            },
        ],
    ),
    program(
        &["fd", "fdfind"],
        &[ProgramUse {
            style: Style::Mixed,
            flags: &[FD],
            values: &[FD_VALUES],
            operands: Operands::By(found_by_fd, "a regular expression, then folders"),
            ..LOOKS
        }],
    ),
];

/// Returns the operands behind the text to search for, which is the first one unless an option gives it.
fn behind_text<'g, 'w>(
    args: &'g CommandArguments<'w>,
    options: &[&str],
) -> Result<&'g [Operand<'w>], UnreadableCommand> {
    if args.has(options) {
        return Ok(&args.operands);
    }
    match args.operands.split_first() {
        Some((text, files)) => args.text(*text, Any).map(|_| files),
        None => Ok(&[]),
    }
}

fn grep(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let operands = behind_text(args, &["-e", "--regexp", "-f", "--file"])?;
    let included = args.options.iter().filter(|option| option.name == "--include");
    let patterns = included.filter_map(|option| of_grep(option.value.as_deref()?));
    let mut files: Vec<FileUse> =
        patterns.map(|path| FileUse { path, access: Reads, is_pattern: true }).collect();
    if !args.has(&["-r", "--recursive"]) {
        files.append(&mut args.files(operands, Reads)?);
        return Ok(OperandMeaning::of(files));
    }
    // Once a folder is left out by name, what no pattern says is searched.
    let bounds = ["--include", "--exclude", "--exclude-dir"];
    let first = args.options.iter().find(|option| bounds.contains(&option.name));
    let is_bounded = first.is_some_and(|option| option.name == "--include");
    files.append(&mut args.files(operands, if is_bounded { Reads } else { ReadsTree })?);
    if operands.is_empty() && !is_bounded {
        files.push(here(ReadsTree));
    }
    Ok(OperandMeaning::of(files))
}

/// Returns `true` for a glob, or `!` and one that leaves files out.
fn is_glob_of_ripgrep(text: &str) -> bool {
    let glob = text.strip_prefix('!').unwrap_or(text);
    of_ripgrep(glob.trim_start_matches('/')).is_some() && of_ripgrep(glob).is_some()
}

fn ripgrep(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let operands = behind_text(args, &["-e", "--regexp", "-f", "--file"])?;
    let mut files = patterns_of_ripgrep(args, Reads)?;
    let is_bounded = !files.is_empty();
    let mut searched = args.files(operands, if is_bounded { Reads } else { ReadsTree })?;
    if searched.is_empty() && !is_bounded && !args.is_piped {
        searched.push(here(ReadsTree));
    }
    files.append(&mut searched);
    Ok(OperandMeaning::of(files))
}

/// Returns the names that ripgrep searches in folders, where options say which: globs first, types only without globs.
fn patterns_of_ripgrep(
    args: &CommandArguments<'_>,
    access: Access,
) -> Result<Vec<FileUse>, UnreadableCommand> {
    let values = |names: &'static [&'static str]| {
        args.options
            .iter()
            .filter(|option| names.contains(&option.name))
            .filter_map(|option| option.value.as_deref())
    };
    let globs: Vec<&str> =
        values(&["-g", "--glob", "--iglob"]).filter(|glob| !glob.starts_with('!')).collect();
    let types = values(&["-t", "--type"])
        .filter_map(|name| PATTERNS_OF_TYPES.iter().find(|(known, _)| *known == name));
    let patterns: Vec<&str> = if globs.is_empty() {
        types.flat_map(|(_, patterns)| patterns.split_whitespace()).collect()
    } else {
        globs
    };
    let named = |pattern: &str| {
        // A slash before a glob stands for the working folder.
        let path = of_ripgrep(pattern.trim_start_matches('/')).ok_or_else(|| unlisted(args.offset))?;
        Ok(FileUse { path, access, is_pattern: true })
    };
    patterns.into_iter().map(named).collect()
}

/// `rg --files`: folders, and the names that options say.
fn listed_by_ripgrep(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let mut files = patterns_of_ripgrep(args, Lists)?;
    let folders = args.files(&args.operands, Lists)?;
    files.extend(if folders.is_empty() { vec![here(Lists)] } else { folders });
    Ok(OperandMeaning::of(files))
}

fn found_by_fd(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let folders = behind_text(args, &[])?;
    let mut files = args.files(folders, Lists)?;
    if files.is_empty() {
        files.push(here(Lists));
    }
    if let Some(text) = args.operands.first() {
        let glob = if args.has(&["-g", "--glob"]) {
            Some(of_ripgrep(&text.word.text).ok_or_else(|| unlisted(text.word.offset))?)
        } else {
            names_of_expression(&text.word.text)
        };
        files.extend(glob.map(listed));
    }
    let extensions = args.options.iter().filter(|option| matches!(option.name, "-e" | "--extension"));
    let names = extensions.filter_map(|option| as_glob(&format!("*.{}", option.value.as_deref()?)));
    files.extend(names.map(listed));
    Ok(OperandMeaning::of(files))
}

fn listed(path: String) -> FileUse {
    FileUse { path, access: Lists, is_pattern: true }
}

/// Returns the glob for the names that a plain regular expression is found in. As for `find -regex`, there is none for other
/// expressions.
fn names_of_expression(expression: &str) -> Option<String> {
    let unanchored = expression.strip_prefix('^').unwrap_or(expression);
    let before = if unanchored.len() == expression.len() { "*" } else { "" };
    let (plain, after) = unanchored.strip_suffix('$').map_or((unanchored, "*"), |plain| (plain, ""));
    let plain = plain.replace("\\.", "\0");
    let is_plain = |c: char| c.is_alphanumeric() || "_-./ ,@%=~#:\0".contains(c);
    plain.chars().all(is_plain).then(|| {
        let glob: String = plain.replace('.', "?").replace('\0', ".");
        format!("{before}{glob}{after}")
    })
}
