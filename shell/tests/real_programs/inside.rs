//! The program inside of the sandbox for real programs.
//! It runs a line under strace in a new project, and tells the events.

mod project;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use project::{
    CONFIGURED, FILES, HOME, HOSTILE, LINKS, PROJECT, ROOTS, SECRET_SETTING, STASHED, State, marker, whole,
};

/// The folder of copies that the roots are made from.
const TEMPLATE: &str = "/oracle/work/template";
/// The list of the index in the beginning.
const ENTRIES: &str = "/oracle/work/entries";
/// The change that is told where the index lists other files; changed notes on properties are none.
const INDEX_ENTRIES: &str = "/scratch/project/.git/index lists other files, which";
/// The file of strace's output.
const TRACE: &str = "/oracle/work/trace";
/// The file of the line's output.
const OUTPUT: &str = "/oracle/work/output";
/// The time that a line has. Events before its end count.
const SECONDS: &str = "10";
/// The bytes of its output that are told.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// The system's calls that start, change, open or connect.
const CALLS: &str = "trace=execve,execveat,?fork,?vfork,clone,?clone3,?open,openat,?openat2,?creat,?unlink,unlinkat,?rename,\
    ?renameat,renameat2,?mkdir,mkdirat,?rmdir,?link,linkat,?symlink,symlinkat,?mknod,mknodat,?chmod,fchmod,fchmodat,?fchmodat2,\
    ?chown,fchown,?lchown,fchownat,truncate,ftruncate,fallocate,utimensat,?utimes,?utime,?futimesat,setxattr,lsetxattr,fsetxattr,\
    removexattr,lremovexattr,fremovexattr,connect,bind,chdir,fchdir,?getdents,getdents64,mount,ptrace,?io_uring_setup";

fn main() -> ExitCode {
    match make_template().and_then(|()| serve()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "{error}"));
            ExitCode::FAILURE
        }
    }
}

/// Answers each request with the events of the line, until there are no more.
fn serve() -> io::Result<()> {
    let mut requests = io::stdin().lock();
    let mut answers = io::stdout().lock();
    let mut before = BTreeMap::new();
    while let Some(request) = next_request(&mut requests)? {
        let mut fields = request.splitn(3, '\0');
        let (Some(cwd), Some(prepared), Some(line)) = (fields.next(), fields.next(), fields.next()) else {
            return Err(io::Error::other("a request without its fields"));
        };
        if before.is_empty() || files()? != before {
            restore()?;
        }
        prepare(prepared)?;
        before = files()?;
        run(cwd, line)?;
        let after = files()?;
        let is_new = |path: &&String| before.get(*path) != after.get(*path);
        let mut changed: Vec<&str> =
            after.keys().chain(before.keys()).filter(is_new).map(String::as_str).collect();
        let index = whole(".git/index");
        if changed.contains(&index.as_str()) && entries()? != fs::read(ENTRIES)? {
            changed.push(INDEX_ENTRIES);
        }
        let changed = changed.join("\n");
        let mut output = fs::read(OUTPUT)?;
        output.truncate(MAX_OUTPUT_BYTES);
        let trace = fs::read(TRACE)?;
        writeln!(answers, "{} {} {}", changed.len(), output.len(), trace.len())?;
        answers.write_all(&[changed.as_bytes(), &output, &trace].concat())?;
        answers.flush()?;
        if matches!(prepared, "configured" | "archived") {
            before.clear();
        }
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

/// Gives a line to a shell that strace looks at.
fn run(cwd: &str, line: &str) -> io::Result<()> {
    let output = fs::File::create(OUTPUT)?;
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "--seccomp-bpf", "-q", "-s", "65536", "-o", TRACE, "-e", CALLS]);
    command.args(["timeout", "-s", "KILL", SECONDS, "/bin/sh", "-c", line]).current_dir(cwd);
    command.stdin(Stdio::null()).stderr(output.try_clone()?).stdout(output);
    command.status()?;
    Ok(())
}

/// Prepares a trap for a line: properties of files that the index does not know yet, or a configuration that runs programs.
fn prepare(what: &str) -> io::Result<()> {
    match what {
        "stale" => {
            let path = whole("src/deep/notes.txt");
            let bytes = fs::read(&path)?;
            fs::write(&path, bytes)
        }
        "configured" => {
            let mut config = OpenOptions::new().append(true).open(whole(".git/config"))?;
            config.write_all(CONFIGURED.as_bytes())
        }
        "archived" => call(PROJECT, &["tar", "-cf", "nested.tar", "README.md"]),
        _ => Ok(()),
    }
}

/// Makes every root anew.
fn restore() -> io::Result<()> {
    for root in ROOTS {
        for entry in fs::read_dir(root)? {
            let path = entry?.path();
            let is_folder = fs::symlink_metadata(&path)?.is_dir();
            if is_folder { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
        }
        call("/", &["cp", "-a", &format!("{TEMPLATE}{root}/."), root])?;
    }
    call(PROJECT, &["git", "-c", "core.fsmonitor=false", "update-index", "-q", "--refresh"]).or(Ok(()))
}

/// Every file of the roots, with its properties.
fn files() -> io::Result<BTreeMap<String, [i64; 4]>> {
    let mut found = BTreeMap::new();
    for root in ROOTS {
        collect(Path::new(root), &mut found)?;
    }
    Ok(found)
}

fn collect(folder: &Path, found: &mut BTreeMap<String, [i64; 4]>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_dir() {
            collect(&path, found)?;
        }
        // A change of a folder's contents changes its time too, and is told by itself. Another link to a file changes `ctime`
        // alone.
        let is_file = i64::from(!metadata.is_dir());
        let size = i64::try_from(metadata.size()).unwrap_or_default();
        let [seconds, part, size] =
            [metadata.mtime(), metadata.mtime_nsec(), size].map(|value| value * is_file);
        let path = path.to_string_lossy().into_owned();
        found.insert(path, [seconds, part, size, i64::from(metadata.mode())]);
    }
    Ok(())
}

/// Makes the project with its history, and a copy of each root.
fn make_template() -> io::Result<()> {
    for (path, text) in HOSTILE {
        write(path, text)?;
    }
    fs::set_permissions(whole("evil.sh"), fs::Permissions::from_mode(0o755))?;
    fs::set_permissions(whole("nested/hooks/post-index-change"), fs::Permissions::from_mode(0o755))?;
    for (path, target) in LINKS {
        fs::create_dir_all(Path::new(&whole(path)).parent().unwrap_or(Path::new("/")))?;
        symlink(target, whole(path))?;
    }
    let of_user = format!(
        "[user]\n\tname = Ana\n\temail = ana@example.org\n[credential \"https://example.org\"]\n\tusername = {SECRET_SETTING}\n"
    );
    write(&format!("{HOME}/.gitconfig"), &of_user)?;
    let write_all = |states: &[State], version: &str| {
        let mut ours = FILES.iter().enumerate().filter(|(_, (_, state))| states.contains(state));
        ours.try_for_each(|(number, (path, _))| write(path, &text(number, path, version)))
    };
    let git = |words: &[&str]| call(PROJECT, &[&["git"], words].concat());
    git(&["init", "-q", "-b", "main"])?;
    write_all(&[State::Committed, State::Modified, State::Staged, State::Removed], "first")?;
    git(&["add", "-A", "--", "."])?;
    git(&["commit", "-q", "-m", "first"])?;
    git(&["tag", "v1"])?;
    git(&["branch", "topic"])?;
    git(&["rm", "-q", "src/gone.rs"])?;
    write_all(&[State::Modified, State::Staged], "second")?;
    git(&["commit", "-q", "-a", "-m", "second"])?;
    git(&["tag", "-a", "-m", "the second", "v2"])?;
    write_all(&[State::Modified, State::Stashed], "stashed")?;
    git(&["stash", "-q", "-u"])?;
    git(&["cat-file", "-e", STASHED])?;
    git(&["config", "http.https://example.org/.extraheader", SECRET_SETTING])?;
    git(&["remote", "add", "origin", "/outside/remote.git"])?;
    write_all(&[State::Staged], "third")?;
    git(&["add", "src/lib.rs"])?;
    write_all(&[State::Modified, State::Untracked, State::Outside], "third")?;
    fs::write(ENTRIES, entries()?)?;
    for root in ROOTS {
        fs::create_dir_all(format!("{TEMPLATE}{root}"))?;
        call("/", &["cp", "-a", &format!("{root}/."), &format!("{TEMPLATE}{root}")])?;
    }
    Ok(())
}

/// Returns the text of a file with a marker.
fn text(number: usize, path: &str, version: &str) -> String {
    let marker = marker(number);
    if path.ends_with(".json") {
        return format!(
            "{{\"needle\": \"{marker}\", \"version\": \"{version}\", \"list\": [3, 1, 2], \"inner\": {{\"a\": 1}}}}\n"
        );
    }
    format!(
        "needle {marker} {version}\nTODO alpha,3\n{marker} beta,1\nfn main() {{ needle(); }}\n{version}\nlast {marker}\n"
    )
}

/// Returns the list of the index.
fn entries() -> io::Result<Vec<u8>> {
    let mut command = Command::new("git");
    command.args(["--no-optional-locks", "ls-files", "--stage"]).current_dir(PROJECT);
    Ok(command.stdin(Stdio::null()).stderr(Stdio::null()).output()?.stdout)
}

fn write(path: &str, text: &str) -> io::Result<()> {
    let path = whole(path);
    fs::create_dir_all(Path::new(&path).parent().unwrap_or(Path::new("/")))?;
    fs::write(path, text)
}

fn call(cwd: &str, words: &[&str]) -> io::Result<()> {
    let (program, args) = words.split_first().ok_or_else(|| io::Error::other("no program"))?;
    let date = "2026-01-02T03:04:05Z";
    let mut command = Command::new(program);
    command.args(args).current_dir(cwd).env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date);
    let ended = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if ended.success() { Ok(()) } else { Err(io::Error::other(format!("{words:?} ended with {ended}"))) }
}
