//! The output of strace for a line, as events of processes.

use std::collections::BTreeMap;

/// Something that a process asked of the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProcessEvent {
    /// It became this program.
    Became { path: String, argv: Vec<String> },
    /// It made another process, which is no thread of it.
    Forked,
    /// It opened a file to read it. `given` is the path that it used, `real` where that led.
    Read { given: String, real: String },
    /// It read the names in a folder.
    Listed { folder: String },
    /// It made, changed or removed something by its path, or tried to.
    Changed { call: String, path: String },
    /// It changed a file that it has open, wherever that is by now.
    ChangedOpen { call: String, real: String },
    /// It did something that no entry claims: a connection, a mount.
    Odd(String),
}

/// An event with its process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfProcess {
    pub(crate) process: u32,
    /// The process that made it, or itself for the first one.
    pub(crate) parent: u32,
    pub(crate) event: ProcessEvent,
}

/// A call of the system.
struct SystemCall {
    process: u32,
    name: String,
    args: Vec<String>,
    result: String,
}

/// Reads the output of strace for a line that began in this folder.
pub(crate) fn events(trace: &str, cwd: &str) -> Vec<OfProcess> {
    let calls: Vec<SystemCall> = calls(trace);
    let Some(first) = calls.first().map(|call| call.process) else { return Vec::new() };
    let mut parents: BTreeMap<u32, u32> = BTreeMap::new();
    let mut threads: BTreeMap<u32, u32> = BTreeMap::new();
    for call in calls.iter().filter(|call| is_fork(&call.name)) {
        if let Some(child) = call.result.split_whitespace().next().and_then(|child| child.parse().ok()) {
            let list = if is_thread(call) { &mut threads } else { &mut parents };
            list.insert(child, call.process);
        }
    }
    let mut folders: BTreeMap<u32, String> = BTreeMap::from([(first, cwd.to_owned())]);
    let mut found = Vec::new();
    for call in &calls {
        let mut process = call.process;
        while let Some(owner) = threads.get(&process) {
            process = *owner;
        }
        let parent = parents.get(&process).copied().unwrap_or(process);
        let parent = threads.get(&parent).copied().unwrap_or(parent);
        let inherited = folders.get(&parent).cloned().unwrap_or_else(|| cwd.to_owned());
        let folder = folders.entry(process).or_insert(inherited);
        if matches!(call.name.as_str(), "chdir" | "fchdir") {
            if call.result.starts_with('0') {
                let named = if call.name == "chdir" { call.text(0) } else { call.folder(0) };
                *folder = absolute(folder, &named.unwrap_or_default());
            }
            continue;
        }
        let add = |event| found.push(OfProcess { process, parent, event });
        call.events(folder).into_iter().for_each(add);
    }
    found
}

/// Joins calls that are told in two lines.
fn calls(trace: &str) -> Vec<SystemCall> {
    let mut open: BTreeMap<u32, String> = BTreeMap::new();
    let mut found = Vec::new();
    for line in trace.lines() {
        let Some((process, rest)) = line.split_once(' ') else { continue };
        let Ok(process) = process.parse::<u32>() else { continue };
        let rest = rest.trim_start();
        if rest.starts_with("+++") || rest.starts_with("---") {
            continue;
        }
        if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
            open.insert(process, begun.to_owned());
            continue;
        }
        let joined = match rest.strip_prefix("<... ") {
            Some(resumed) => {
                let (_, behind) = resumed.split_once(" resumed>").unwrap_or_default();
                format!("{}{behind}", open.remove(&process).unwrap_or_default())
            }
            None => rest.to_owned(),
        };
        found.push(call(process, &joined));
    }
    // A process that ended in the middle of a call.
    found.extend(open.iter().map(|(process, begun)| call(*process, &format!("{begun}) = ?"))));
    found
}

fn call(process: u32, line: &str) -> SystemCall {
    let (name, rest) = line.split_once('(').unwrap_or((line, ""));
    let (args, result) = rest.rsplit_once(" = ").unwrap_or((rest, "?"));
    let args = args.trim_end().strip_suffix(')').unwrap_or(args);
    SystemCall { process, name: name.to_owned(), args: fields(args), result: result.to_owned() }
}

/// The arguments of a call, split at the commas that stand in nothing else.
fn fields(args: &str) -> Vec<String> {
    let (mut fields, mut field) = (Vec::new(), String::new());
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for letter in args.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '[' | '{' | '<' if !is_quoted => depth += 1,
            ']' | '}' | '>' if !is_quoted => depth = depth.saturating_sub(1),
            ',' if !is_quoted && depth == 0 => {
                fields.push(std::mem::take(&mut field).trim().to_owned());
                continue;
            }
            _ => {}
        }
        field.push(letter);
    }
    fields.push(field.trim().to_owned());
    fields
}

fn is_fork(name: &str) -> bool {
    matches!(name, "fork" | "vfork" | "clone" | "clone3")
}

fn is_thread(call: &SystemCall) -> bool {
    call.args.iter().any(|field| field.contains("CLONE_THREAD"))
}

impl SystemCall {
    /// The text of an argument in quotes.
    fn text(&self, at: usize) -> Option<String> {
        texts(self.args.get(at)?).into_iter().next()
    }

    /// The path of a descriptor: `5</folder>`.
    fn folder(&self, at: usize) -> Option<String> {
        let (_, path) = self.args.get(at)?.split_once('<')?;
        let path = unescaped(path.strip_suffix('>').unwrap_or(path));
        Some(path.strip_suffix(" (deleted)").map_or(path.clone(), str::to_owned))
    }

    /// The path that stands behind the descriptor of a folder.
    fn path_at(&self, at: usize, cwd: &str) -> String {
        let folder = self.folder(at).unwrap_or_else(|| cwd.to_owned());
        absolute(&folder, &self.text(at + 1).unwrap_or_default())
    }

    fn path(&self, at: usize, cwd: &str) -> String {
        absolute(cwd, &self.text(at).unwrap_or_default())
    }

    fn events(&self, cwd: &str) -> Vec<ProcessEvent> {
        // A folder that is there already is not made.
        if self.name.starts_with("mkdir") && self.result.contains("EEXIST") {
            return Vec::new();
        }
        let changed = |path: String| ProcessEvent::Changed { call: self.name.clone(), path };
        match self.name.as_str() {
            "execve" | "execveat" => {
                let at = usize::from(self.name == "execveat");
                if !self.result.starts_with('0') {
                    return Vec::new();
                }
                let argv = self.args.get(at + 1).map(|argv| texts(argv)).unwrap_or_default();
                vec![ProcessEvent::Became { path: self.path(at, cwd), argv }]
            }
            name if is_fork(name) => {
                if is_thread(self) {
                    Vec::new()
                } else {
                    vec![ProcessEvent::Forked]
                }
            }
            "open" | "creat" => self.opened(self.path(0, cwd), 1),
            "openat" | "openat2" => self.opened(self.path_at(0, cwd), 2),
            "rename" | "link" => vec![changed(self.path(0, cwd)), changed(self.path(1, cwd))],
            // The file that is linked to stays as it is, but the link is another way to it.
            "linkat" => vec![changed(self.path_at(2, cwd))],
            "renameat" | "renameat2" => {
                // The system renames no folder by the name that stands for the one above it.
                let texts = [1, 3].map(|at| self.text(at).unwrap_or_default());
                if texts.iter().any(|text| text.rsplit('/').next() == Some("..")) {
                    return Vec::new();
                }
                vec![changed(self.path_at(0, cwd)), changed(self.path_at(2, cwd))]
            }
            "getdents" | "getdents64" => {
                vec![ProcessEvent::Listed { folder: self.folder(0).unwrap_or_default() }]
            }
            "symlink" => vec![changed(self.path(1, cwd))],
            "symlinkat" => vec![changed(self.path_at(1, cwd))],
            "unlink" | "rmdir" | "mkdir" | "mknod" | "chmod" | "chown" | "lchown" | "truncate" | "utime"
            | "utimes" | "setxattr" | "lsetxattr" | "removexattr" | "lremovexattr" => {
                vec![changed(self.path(0, cwd))]
            }
            "utimensat" | "futimesat" if self.text(1).is_none() => self.changed_open(),
            "unlinkat" | "mkdirat" | "mknodat" | "fchmodat" | "fchmodat2" | "fchownat" | "utimensat"
            | "futimesat" => {
                vec![changed(self.path_at(0, cwd))]
            }
            "fchmod" | "fchown" | "ftruncate" | "fallocate" | "fsetxattr" | "fremovexattr" => {
                self.changed_open()
            }
            _ => vec![ProcessEvent::Odd(format!("{}({})", self.name, self.args.join(", ")))],
        }
    }

    fn changed_open(&self) -> Vec<ProcessEvent> {
        vec![ProcessEvent::ChangedOpen { call: self.name.clone(), real: self.folder(0).unwrap_or_default() }]
    }

    fn opened(&self, given: String, at: usize) -> Vec<ProcessEvent> {
        let flags = self.args.get(at).map_or("", String::as_str);
        let is_written =
            ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_TMPFILE"].iter().any(|flag| flags.contains(flag));
        let real = self.result.split_once('<').map(|(_, path)| unescaped(path.trim_end_matches('>')));
        // Nothing can be written into a folder like into a file.
        if is_written && self.result.contains("EISDIR") && !flags.contains("O_CREAT") {
            return Vec::new();
        }
        if is_written || self.name == "creat" {
            let path = real.filter(|_| !flags.contains("O_CREAT")).unwrap_or(given);
            return vec![ProcessEvent::Changed { call: self.name.clone(), path }];
        }
        match real {
            Some(real) if !flags.contains("O_PATH") && !flags.contains("O_DIRECTORY") => {
                vec![ProcessEvent::Read { given, real }]
            }
            _ => Vec::new(),
        }
    }
}

/// Every text in quotes.
fn texts(field: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = field;
    while let Some((_, behind)) = rest.split_once('"') {
        let mut is_escaped = false;
        let end = behind.char_indices().find(|(_, letter)| {
            let is_end = *letter == '"' && !is_escaped;
            is_escaped = *letter == '\\' && !is_escaped;
            is_end
        });
        let end = end.map_or(behind.len(), |(end, _)| end);
        found.push(unescaped(&behind[..end]));
        rest = behind.get(end + 1..).unwrap_or_default();
    }
    found
}

/// A text without the escapes of strace, which are those of C.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.iter().take(3).take_while(|digit| (b'0'..b'8').contains(digit)).count();
        if digits > 0 {
            let code = rest[..digits].iter().fold(0_u32, |code, digit| code * 8 + u32::from(digit - b'0'));
            bytes.push(u8::try_from(code).unwrap());
            rest = &rest[digits..];
            continue;
        }
        let escaped = rest.first().copied().unwrap_or_default();
        bytes.push(match escaped {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 0x0b,
            b'f' => 0x0c,
            other => other,
        });
        rest = rest.get(1..).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A path from the root on. Steps up are taken away, as if no folder were a link.
pub(crate) fn absolute(folder: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let mut steps: Vec<&str> = Vec::new();
    for step in whole.split('/').filter(|step| !matches!(*step, "" | ".")) {
        if step == ".." {
            steps.pop();
        } else {
            steps.push(step);
        }
    }
    if steps.is_empty() { "/".to_owned() } else { steps.iter().map(|step| format!("/{step}")).collect() }
}

#[test]
fn calls_in_two_lines_are_joined() {
    let trace = "7  execve(\"/bin/sh\", [\"sh\", \"-c\", \"a \\\"b\\\"\"], 0x1 /* 1 var */) = 0\n\
        7  vfork( <unfinished ...>\n8  openat(AT_FDCWD</s>, \"sub/../a\\303\\244\", O_RDONLY|O_CLOEXEC <unfinished ...>\n\
        8  <... openat resumed>)  = 3</s/a\\303\\244>\n7  <... vfork resumed>) = 8\n";
    let found = events(trace, "/s");
    let argv = ["sh", "-c", "a \"b\""].map(str::to_owned).to_vec();
    assert_eq!(found[0].event, ProcessEvent::Became { path: "/bin/sh".to_owned(), argv });
    let read = ProcessEvent::Read { given: "/s/aä".to_owned(), real: "/s/aä".to_owned() };
    assert_eq!(found[1], OfProcess { process: 8, parent: 7, event: read });
    assert_eq!(found[2].event, ProcessEvent::Forked);
}
