//! A command as a call of a program, and of the programs that it runs in turn.

/// Words that may stand before a command and are none.
const KEYWORDS: [&str; 17] = [
    "!",
    "{",
    "}",
    "do",
    "done",
    "elif",
    "else",
    "esac",
    "fi",
    "if",
    "nocorrect",
    "noglob",
    "repeat",
    "then",
    "until",
    "while",
    "-",
];
/// Programs and builtins that run their arguments, and the options of theirs that have a value behind them.
const RUNNERS: [(&str, &[&str]); 29] = [
    ("builtin", &[]),
    ("busybox", &[]),
    ("chroot", &[]),
    ("chrt", &[]),
    ("command", &[]),
    ("coproc", &[]),
    ("doas", &["-u", "-C"]),
    ("env", &["-u", "-C", "-S", "--unset", "--chdir"]),
    ("exec", &["-a"]),
    ("flock", &["-w", "-E"]),
    ("gtimeout", &["-s", "-k"]),
    ("ionice", &["-c", "-n", "-p"]),
    ("nice", &["-n"]),
    ("nohup", &[]),
    ("npx", &["-p", "--package"]),
    ("parallel", &["-j", "-a", "-I"]),
    ("setsid", &[]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("strace", &["-e", "-o", "-p"]),
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T"]),
    ("taskset", &[]),
    ("time", &["-o", "-f"]),
    ("timeout", &["-s", "-k", "--signal", "--kill-after"]),
    ("toybox", &[]),
    ("unshare", &[]),
    ("watch", &["-n", "-d"]),
    ("xargs", &["-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a", "-i"]),
    ("xvfb-run", &[]),
    ("mise", &[]),
];
/// Programs whose first words name their action, the number of these words, and the options before them that have a value.
const TOLD: [(&str, usize, &[&str]); 36] = [
    ("apt", 1, &[]),
    ("apt-get", 1, &[]),
    ("aws", 2, &["--profile", "--region"]),
    ("az", 2, &[]),
    ("brew", 1, &[]),
    ("bun", 1, &[]),
    ("bundle", 1, &[]),
    ("cargo", 1, &[]),
    ("composer", 1, &[]),
    ("deno", 1, &[]),
    ("docker", 1, &["-H", "--host", "--context"]),
    ("dotnet", 1, &[]),
    ("gcloud", 2, &["--project"]),
    ("gem", 1, &[]),
    ("gh", 2, &["-R", "--repo"]),
    ("git", 1, &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"]),
    ("glab", 2, &["-R", "--repo"]),
    ("go", 1, &["-C"]),
    ("helm", 1, &["-n", "--namespace"]),
    ("just", 1, &[]),
    ("kubectl", 1, &["-n", "--namespace", "--context"]),
    ("make", 1, &["-C", "-f", "-j"]),
    ("mise", 1, &["-C"]),
    ("npm", 1, &["--prefix", "-w", "--workspace"]),
    ("pip", 1, &[]),
    ("pip3", 1, &[]),
    ("pnpm", 1, &["-C", "--dir", "--filter"]),
    ("podman", 1, &[]),
    ("poetry", 1, &[]),
    ("rustup", 1, &[]),
    ("systemctl", 1, &[]),
    ("task", 1, &[]),
    ("terraform", 1, &[]),
    ("uv", 1, &[]),
    ("vercel", 1, &[]),
    ("yarn", 1, &["--cwd"]),
];
/// Shells, which run files, texts and their piped input.
const SHELLS: [&str; 12] =
    ["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "zsh", "pwsh"];
/// Other programs that run their piped input.
const INTERPRETERS: [&str; 9] =
    ["deno", "lua", "node", "perl", "php", "python", "python2", "python3", "ruby"];
/// Programs that download.
const DOWNLOADERS: [&str; 8] = ["aria2c", "axel", "curl", "fetch", "http", "https", "lynx", "wget"];
/// Predicates of `find` behind which a command stands.
const FIND_RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// A program with its arguments.
#[derive(Debug)]
pub(super) struct MentionedCall<'w> {
    words: &'w [String],
    /// The values of variables that are set before it.
    pub(super) assigned: Vec<&'w str>,
}

impl<'w> MentionedCall<'w> {
    /// Returns a call of these words, behind keywords and assignments.
    pub(super) fn new(words: &'w [String]) -> Self {
        let mut assigned = Vec::new();
        let mut words = words;
        while let Some((first, rest)) = words.split_first() {
            if let Some(value) = assigned_value(first) {
                assigned.push(value);
            } else if !KEYWORDS.contains(&first.as_str()) {
                break;
            }
            words = rest;
        }
        Self { words, assigned }
    }

    /// Returns the program as it is called.
    pub(super) fn program(&self) -> Option<&'w str> {
        self.words.first().map(String::as_str)
    }

    pub(super) fn arguments(&self) -> &'w [String] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Returns the program without its folder.
    fn name(&self) -> &'w str {
        let program = self.program().unwrap_or_default();
        program.rsplit('/').find(|name| !name.is_empty()).unwrap_or(program)
    }

    /// Returns the part that rules see.
    pub(super) fn part(&self) -> String {
        let name = self.name();
        let has = |option: &str| self.arguments().iter().any(|argument| argument == option);
        match name {
            "find" if has("-delete") => return "find -delete".to_owned(),
            "sed" if self.arguments().iter().any(|argument| argument.starts_with("-i")) => {
                return "sed -i".to_owned();
            }
            _ => {}
        }
        let Some((_, count, options)) = TOLD.iter().find(|(told, ..)| *told == name) else {
            return name.to_owned();
        };
        let told = behind_options(self.arguments(), options);
        let words = told.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
        let words: Vec<&str> = words.take_while(|word| is_subcommand(word)).collect();
        // `npm run deploy`, `mise run lint`, `docker compose up`.
        let is_wide = matches!(words.first(), Some(&("run" | "exec" | "compose" | "tool")));
        let words = words.get(..(count + usize::from(is_wide)).min(words.len())).unwrap_or_default();
        let part = [&[name], words].concat().join(" ");
        match part.as_str() {
            "git push" if told.iter().any(|word| overwrites(word)) => "git push --force".to_owned(),
            "git reset" if has("--hard") => "git reset --hard".to_owned(),
            _ => part,
        }
    }

    pub(super) fn enters_folder(&self) -> bool {
        matches!(self.name(), "cd" | "chdir" | "pushd")
    }

    pub(super) fn downloads(&self) -> bool {
        DOWNLOADERS.contains(&self.name())
    }

    /// Returns `true` if it is a shell, or runs texts on another machine.
    pub(super) fn reads_scripts(&self) -> bool {
        SHELLS.contains(&self.name()) || matches!(self.name(), "ssh" | "su")
    }

    /// Returns `true` if it runs its piped input: it is given no file and no text.
    pub(super) fn runs_what_is_piped(&self) -> bool {
        let is_shell = SHELLS.contains(&self.name());
        if !is_shell && !INTERPRETERS.contains(&self.name()) {
            return matches!(self.name(), "source" | ".")
                && self.arguments().iter().any(|file| file == "/dev/stdin");
        }
        let has = |letter: char| {
            let is_flag =
                |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
            self.arguments().iter().any(is_flag)
        };
        let is_file = |word: &String| !word.starts_with('-') && word != "/dev/stdin";
        let is_given_text = has('c') || has('e') || has('m') || self.arguments().iter().any(is_file);
        is_shell && has('s') || !is_given_text
    }

    /// Returns `true` if it runs its arguments as a text or a file.
    pub(super) fn runs_text(&self) -> bool {
        SHELLS.contains(&self.name())
            || INTERPRETERS.contains(&self.name())
            || matches!(self.name(), "eval" | "source" | ".")
    }

    /// Returns the text that it runs.
    pub(super) fn text(&self) -> Option<String> {
        let arguments = self.arguments();
        match self.name() {
            "eval" => Some(arguments.join(" ")),
            "ssh" => {
                let host = arguments.iter().position(|word| !word.starts_with('-'))?;
                arguments.get(host + 1..).map(|words| words.join(" "))
            }
            "env" => behind(arguments, |word| matches!(word, "-S" | "--split-string")),
            "su" => behind(arguments, |word| matches!(word, "-c" | "--command")),
            name if SHELLS.contains(&name) => behind(arguments, |word| {
                word.starts_with('-') && !word.starts_with("--") && word.contains('c')
            }),
            _ => None,
        }
    }

    /// Returns the call that this one makes with its arguments. Without a program if it makes none.
    pub(super) fn next(self) -> Self {
        let name = self.name();
        let arguments = self.arguments();
        let assigned = self.assigned;
        let words = if name == "find" {
            let run = arguments.iter().position(|word| FIND_RUNS.contains(&word.as_str()));
            run.and_then(|run| arguments.get(run + 1..)).unwrap_or_default()
        } else if name == "mise" {
            // `mise exec -- program`.
            let is_exec = matches!(arguments.first().map(String::as_str), Some("exec" | "x"));
            let arguments = if is_exec { arguments } else { &[] };
            let run = arguments.iter().position(|word| word == "--");
            run.and_then(|run| arguments.get(run + 1..)).unwrap_or_default()
        } else if let Some((_, options)) = RUNNERS.iter().find(|(runner, _)| *runner == name) {
            let rest = behind_options(arguments, options);
            // A time, a priority, a processor, a file that is locked.
            let has_number =
                matches!(name, "timeout" | "gtimeout" | "taskset" | "chrt" | "chroot" | "flock" | "repeat");
            rest.get(usize::from(has_number)..).unwrap_or_default()
        } else {
            &[]
        };
        let next = MentionedCall::new(words);
        Self { words: next.words, assigned: [assigned, next.assigned].concat() }
    }
}

/// Returns `true` if a program may know the word as the name of an action.
fn is_subcommand(word: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | ':' | '.');
    word.starts_with(|first: char| first.is_ascii_lowercase()) && word.chars().all(is_letter)
}

/// Returns the value of an assignment.
fn assigned_value(word: &str) -> Option<&str> {
    let (name, value) = word.split_once('=')?;
    let name = name.trim_end_matches('+');
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(value)
}

/// Returns the words from the first one on that is neither an option nor the value of one.
fn behind_options<'w>(arguments: &'w [String], with_value: &[&str]) -> &'w [String] {
    let mut rest = arguments;
    while let Some((first, behind)) = rest.split_first() {
        if !first.starts_with('-') {
            break;
        }
        let has_value = with_value.contains(&first.as_str());
        rest = if has_value { behind.get(1..).unwrap_or_default() } else { behind };
        if first == "--" {
            break;
        }
    }
    rest
}

/// Returns the first word behind an option that is no option.
fn behind(arguments: &[String], is_option: impl Fn(&str) -> bool) -> Option<String> {
    let option = arguments.iter().position(|word| is_option(word))?;
    arguments.get(option + 1..)?.iter().find(|word| !word.starts_with('-')).cloned()
}

/// Returns `true` if an argument of `git push` overwrites or removes the commits of others.
fn overwrites(word: &str) -> bool {
    let is_short = word.starts_with('-') && !word.starts_with("--");
    let is_long = ["--force", "--delete", "--mirror", "--prune"].iter().any(|long| word.starts_with(long));
    is_long || is_short && word.contains(['f', 'd']) || word.starts_with(['+', ':'])
}
