//! What real shells run of a text is what is named of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bitacora_formats::vocabulary::ToolDocument;
use bitacora_governance::{CompiledTool, STARTER_TOOLS, examine};
use serde_json::json;

/// Texts that are tried, without `BITACORA_SHELL_TEXTS`.
const TEXTS: usize = 400;
/// Programs that note that they ran, and do nothing else.
const PROGRAMS: [&str; 9] = ["git", "ls", "cat", "rm", "x", "y", "a", "E", "find"];
/// What texts are put together from. None of it names a file outside of the folder that it runs in.
const PIECES: [&str; 84] = [
    "git",
    "ls",
    "cat",
    "rm",
    "x",
    " ",
    " ",
    " ",
    "'",
    "\"",
    "\\",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "(",
    ")",
    "$(",
    "`",
    "{ ",
    "}",
    "<<E\n",
    "<<'E'\n",
    "<<-E\n",
    "\nE\n",
    "E",
    "#",
    "$x",
    "${x}",
    "${x:-rm}",
    "${x:-rm}",
    "a=b ",
    "a=",
    "if ",
    "then ",
    "fi",
    "else ",
    "do ",
    "done",
    "while false; ",
    "for x in a b; ",
    "for x in ",
    "in ",
    "!",
    "! ",
    "time ",
    "eval ",
    "eval 'rm' ",
    "bash -c 'rm'",
    "<",
    "<a",
    ">/dev/null",
    "2>&1",
    "&",
    " & ",
    ">(",
    "<(",
    "{rm,x}",
    "[ ",
    "]",
    "[[ ",
    "case a in a) ",
    "esac",
    "x() ",
    "function y ",
    "~",
    "*",
    "r\\m",
    "r''m",
    "\"rm\"",
    "$'rm'",
    "\\\n",
    "\t",
    "<<<a",
    "+=b ",
    "coproc ",
    "exec ",
    "command ",
    "&>a",
    "|&",
    "$\"rm\"",
    "'\\''",
    "2",
];

/// A folder with programs that do nothing.
struct Yard {
    folder: PathBuf,
}

impl Yard {
    fn new() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shell-{}", std::process::id()));
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::create_dir_all(folder.join("here")).unwrap();
        for program in PROGRAMS {
            let path = folder.join("bin").join(program);
            fs::write(&path, "#!/bin/sh\necho \"${0##*/}\" >> \"$RAN\"\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        // What is not there was to be run all the same.
        let missing = "command_not_found_handle() { echo \"$1\" >> \"$RAN\"; return 127; }\n";
        fs::write(folder.join("missing"), missing).unwrap();
        Self { folder }
    }

    /// The programs that a shell runs of the text with this number. Those that it leaves running may be missed.
    fn runs(&self, shell: &str, number: usize, text: &str) -> BTreeSet<String> {
        let ran = self.folder.join(format!("ran-{}-{number}", shell.replace('/', "-")));
        let mut command = Command::new(shell);
        command.env_clear().env("PATH", self.folder.join("bin")).env("RAN", &ran);
        command.env("BASH_ENV", self.folder.join("missing")).current_dir(self.folder.join("here"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        drop(command.arg("-c").arg(text).status());
        let lines = fs::read_to_string(&ran).unwrap_or_default();
        lines.lines().map(str::to_owned).collect()
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

#[test]
fn shells_run_nothing_of_a_text_that_is_not_named() {
    let shells: Vec<&str> =
        ["/bin/bash", "/bin/dash"].into_iter().filter(|shell| Path::new(shell).exists()).collect();
    if shells.is_empty() {
        println!("NOT RUN: there is no shell to compare with");
    }
    let tools: Vec<ToolDocument> = serde_json::from_str(STARTER_TOOLS).unwrap();
    let tool = tools.iter().find(|tool| tool.tool.as_str() == "Bash").unwrap();
    let tool = CompiledTool::new(tool).unwrap();
    let yard = Yard::new();
    let texts = std::env::var("BITACORA_SHELL_TEXTS").ok().and_then(|texts| texts.parse().ok());
    let mut seed: u64 = texts.map_or(5, |texts: usize| texts as u64);
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut followed = 0;
    for number in 0..texts.unwrap_or(TEXTS) {
        let text: String = (0..=next(8)).map(|_| PIECES[next(PIECES.len())]).collect();
        let found = examine(&tool, json!({"command": text}).to_string().as_bytes(), None);
        if found.opaque {
            continue;
        }
        for shell in &shells {
            for program in yard.runs(shell, number, &text) {
                followed += 1;
                let is = |part: &str| part.strip_suffix(" -c").unwrap_or(part) == program;
                let is_named = found.parts.iter().any(|part| is(part));
                assert!(is_named, "{shell} runs {program} of {text:?}; named are {:?}", found.parts);
            }
        }
    }
    assert!(shells.is_empty() || followed > 10, "{followed} is too few to say anything");
}
