//! The program inside of the oracle's sandbox.
//! Under its own name it runs texts with shells. Under any other name it is that program: it records its arguments and does nothing
//! else.
//!
//! A text is run in one of two ways. As `programs`, a new shell gets it behind `-c`, and everything that it starts is this program.
//! As `functions`, one shell runs many texts, each with `eval` in a subshell. Functions record the names that texts use most,
//! builtins among them; everything else that it starts is this program. The second way is ten times as fast.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// The folder that texts run in.
const SCRATCH: &str = "/scratch";
/// The folder of programs, by each name that texts use.
const PROGRAMS: &str = "/programs";
/// This program.
const INSIDE: &str = "/oracle/inside";
/// The script of one shell for many texts.
const SCRIPT: &str = "/oracle/work/script";
/// The file of the records.
const RECORDS: &str = "/oracle/work/records";
/// Stands between the fields of a record.
const FIELD: char = '\u{1f}';
/// Stands behind a record.
const END: char = '\u{1e}';
/// Variables that shells set by themselves.
const VARIABLES: [&str; 8] = ["LC_ALL", "HOME", "LOGNAME", "ORACLE_ID", "OLDPWD", "PWD", "SHLVL", "_"];
/// Files that are there when a text begins, each with one byte. Some are named like options or expansions.
const FILES: [&str; 12] =
    ["a", "a.txt", "b.rs", "-x", "--y", "a b", "=cmd", "~", "$(cmd)", "sub/a.txt", "sub/-z", "sub/deep/b.rs"];

fn main() -> ExitCode {
    let own = std::env::args_os().next().unwrap_or_default();
    let result = if own == *INSIDE { serve() } else { record_arguments() };
    let fails = matches!(Path::new(&own).file_name(), Some(name) if name == "fail" || name == "false");
    if fails || result.is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Records how this program was called, and every variable that a text set for it.
fn record_arguments() -> io::Result<()> {
    let id = std::env::var_os("ORACLE_ID").unwrap_or_default();
    let mut record = [id.as_bytes(), b"\x1fran"].concat();
    for argument in std::env::args_os() {
        record.push(FIELD as u8);
        record.extend_from_slice(argument.as_bytes());
    }
    let is_set_by_text = |name: &OsString, value: &OsString| {
        if name == "PATH" { value != PROGRAMS } else { VARIABLES.iter().all(|known| name != known) }
    };
    for (name, value) in std::env::vars_os().filter(|(name, value)| is_set_by_text(name, value)) {
        record.extend_from_slice(&[b"\x1fvariable ", name.as_bytes(), b"=", value.as_bytes()].concat());
    }
    record.push(END as u8);
    OpenOptions::new().append(true).create(true).open(RECORDS)?.write_all(&record)
}

/// Answers each request with the records since the last one, until there are no more.
fn serve() -> io::Result<()> {
    let mut requests = io::stdin().lock();
    let mut answers = io::stdout().lock();
    while let Some(request) = next_request(&mut requests)? {
        let fields: Vec<&str> = request.split('\0').collect();
        let [way, locale, names, texts @ ..] = fields.as_slice() else {
            return Err(io::Error::other("a request without its fields"));
        };
        for name in names.split(FIELD).filter(|name| !name.is_empty()) {
            let path = Path::new(PROGRAMS).join(name);
            if fs::symlink_metadata(&path).is_err() {
                symlink(INSIDE, path)?;
            }
        }
        let texts: Vec<(&str, &str)> = texts.iter().filter_map(|text| text.split_once(FIELD)).collect();
        let session = ShellSession { locale, texts: &texts };
        for shell in &SHELLS {
            if *way == "programs" { session.run_each(shell)? } else { session.run_together(shell)? }
        }
        let records = fs::read(RECORDS).unwrap_or_default();
        File::create(RECORDS)?;
        writeln!(answers, "{}", records.len())?;
        answers.write_all(&records)?;
        answers.flush()?;
    }
    Ok(())
}

fn next_request(requests: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut length = String::new();
    if requests.read_line(&mut length)? == 0 {
        return Ok(None);
    }
    let mut request = vec![0; length.trim().parse().map_err(io::Error::other)?];
    requests.read_exact(&mut request)?;
    String::from_utf8(request).map(Some).map_err(io::Error::other)
}

/// A shell, and how a function of it prints a record without any other program.
struct Shell {
    name: &'static str,
    command: &'static [&'static str],
    /// The first action of the function on each word, so that the record is printed in one piece. In a pipe two functions print at
    /// once.
    prepare: &'static str,
    print: &'static str,
    /// The functions that it must not have, because it reads their names as something else.
    without: &'static [&'static str],
}

const SHELLS: [Shell; 5] = [
    Shell {
        name: "bash",
        command: &["/shells/bash"],
        // It writes each line by itself.
        prepare: "case $word in *$'\n'*) word=${word//$'\n'/\u{1d}} ;; esac;",
        print: "builtin printf %s",
        without: &[],
    },
    Shell {
        name: "dash",
        command: &["/shells/dash"],
        prepare: "",
        print: "command printf %s",
        without: &["command", "printf"],
    },
    Shell { name: "zsh", command: &["/shells/zsh"], prepare: "", print: "builtin printf %s", without: &[] },
    Shell {
        name: "busybox",
        command: &["/shells/busybox", "sh"],
        prepare: "",
        print: "command printf %s",
        without: &["command", "printf"],
    },
    Shell {
        name: "mksh",
        command: &["/shells/mksh"],
        prepare: "",
        print: "builtin print -nr --",
        without: &["type"],
    },
];

/// The functions of the second way.
const FUNCTIONS: [&str; 30] = [
    "cat", "cd", "cmd", "command", "cut", "echo", "false", "fail", "find", "gh", "git", "go", "grep", "head",
    "jq", "kill", "ls", "mise", "printf", "pwd", "rm", "sed", "sort", "tail", "test", "true", "type", "wc",
    "which", "x",
];

/// Texts that run after one another in one way.
struct ShellSession<'r> {
    locale: &'r str,
    /// Each with its number.
    texts: &'r [(&'r str, &'r str)],
}

impl ShellSession<'_> {
    fn command(&self, shell: &Shell, id: &str) -> Command {
        let (program, arguments) = shell.command.split_first().unwrap_or((&"", &[]));
        let mut command = Command::new(program);
        command.args(arguments).env_clear().current_dir(SCRATCH);
        command
            .env("PATH", PROGRAMS)
            .env("LC_ALL", self.locale)
            .env("HOME", "/home/ana")
            .env("ORACLE_ID", id);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Gives each text to a shell of its own.
    fn run_each(&self, shell: &Shell) -> io::Result<()> {
        for (number, text) in self.texts {
            make_scratch()?;
            let id = format!("{number}:{}", shell.name);
            self.command(shell, &id).arg("-c").arg(text).status()?;
            record_made(&id)?;
        }
        Ok(())
    }

    /// Gives all texts to one shell.
    fn run_together(&self, shell: &Shell) -> io::Result<()> {
        make_scratch()?;
        let mut script = format!(
            "recorded() {{ record=\"$ORACLE_ID{FIELD}ran\"; for word in \"$@\"; do {} record=\"$record{FIELD}$word\"; done; \
             {} \"$record{END}\" >>{RECORDS}; }}\n",
            shell.prepare, shell.print
        );
        for name in FUNCTIONS.iter().filter(|name| !shell.without.contains(*name)) {
            let code = i32::from(matches!(*name, "fail" | "false"));
            script.push_str(&format!("{name}() {{ recorded {name} \"$@\"; return {code}; }}\n"));
        }
        for (number, text) in self.texts {
            let id = format!("{number}:{}", shell.name);
            script.push_str(&format!("ORACLE_ID={id}\n(eval '{}')\n", text.replace('\'', r"'\''")));
        }
        fs::write(SCRIPT, script)?;
        self.command(shell, "0:none").arg(SCRIPT).status()?;
        let first = self.texts.first().map_or("0", |(number, _)| number);
        record_made(&format!("{first}:{}", shell.name))
    }
}

/// Makes the folder that texts run in as it is at the beginning.
fn make_scratch() -> io::Result<()> {
    if files(Path::new(SCRATCH))? == beginning() {
        return Ok(());
    }
    for entry in fs::read_dir(SCRATCH)? {
        let path = entry?.path();
        let is_folder = fs::symlink_metadata(&path)?.is_dir();
        if is_folder { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    fs::create_dir_all(Path::new(SCRATCH).join("sub/deep"))?;
    for file in FILES {
        fs::write(Path::new(SCRATCH).join(file), "x")?;
    }
    symlink(INSIDE, Path::new(SCRATCH).join("run"))
}

/// The files of a folder at the beginning, with their lengths.
fn beginning() -> BTreeMap<OsString, u64> {
    let files = FILES.iter().map(|file| (Path::new(SCRATCH).join(file).into_os_string(), 1));
    files.chain([(Path::new(SCRATCH).join("run").into_os_string(), INSIDE.len() as u64)]).collect()
}

fn files(folder: &Path) -> io::Result<BTreeMap<OsString, u64>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_dir() {
            found.append(&mut files(&path)?);
        } else {
            found.insert(path.into_os_string(), metadata.len());
        }
    }
    Ok(found)
}

/// Records every file that was made, changed or removed.
fn record_made(id: &str) -> io::Result<()> {
    let before = beginning();
    let now = files(Path::new(SCRATCH))?;
    let changed = now.iter().filter(|(path, length)| before.get(*path) != Some(length)).map(|(path, _)| path);
    let removed = before.keys().filter(|path| !now.contains_key(*path));
    let mut record = Vec::new();
    for path in changed.chain(removed) {
        record.extend_from_slice(&[b"\x1f", path.as_bytes()].concat());
    }
    if record.is_empty() {
        return Ok(());
    }
    let record = [id.as_bytes(), b"\x1fmade", &record, b"\x1e"].concat();
    OpenOptions::new().append(true).create(true).open(RECORDS)?.write_all(&record)
}
