//! The tools agents call, and arguments for them.

use super::json_text::Object;
use super::random::SplitMix;
use super::words::Vocabulary;

/// One call: the tool's name and its arguments as JSON.
pub(crate) struct GeneratedCall {
    pub(crate) tool: &'static str,
    pub(crate) arguments: String,
    /// The context that decisions and trust records name: a path, a command's first words, a host.
    pub(crate) context: String,
}

/// The sources from which the arguments of a call are made.
pub(crate) struct ArgumentSources<'a> {
    pub(crate) random: &'a mut SplitMix,
    pub(crate) words: Vocabulary,
    /// The project's folder.
    pub(crate) folder: &'a str,
    pub(crate) spaced: bool,
}

impl ArgumentSources<'_> {
    pub(crate) fn call(&mut self) -> GeneratedCall {
        match self.random.between(0, 99) {
            0..30 => self.shell(),
            30..48 => self.read(),
            48..62 => self.edit(),
            62..74 => self.search(),
            74..80 => self.write(),
            80..86 => self.tasks(),
            86..90 => self.web(),
            _ => self.business(),
        }
    }

    fn path(&mut self) -> String {
        let file = self.words.file(self.random);
        if self.random.chance(75) { format!("{}/{file}", self.folder) } else { file }
    }

    fn shell(&mut self) -> GeneratedCall {
        let command = self.command();
        let described = self.random.chance(85);
        let words = self.random.between(3, 7);
        let description = self.words.sentence(self.random, words);
        let context = command.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let arguments =
            Object::new(self.spaced).text("command", &command).maybe(described, "description", &description);
        let arguments = if self.random.chance(20) { arguments.raw("timeout", 120_000) } else { arguments };
        GeneratedCall {
            tool: self.random.pick(&["Bash", "shell", "run_command"]),
            arguments: arguments.end(),
            context,
        }
    }

    fn command(&mut self) -> String {
        let (word, file, lines) = (self.words.word(self.random), self.path(), self.random.between(5, 200));
        let name = self.words.name(self.random, "-");
        match self.random.between(0, 19) {
            0 => "git status --short".to_owned(),
            1 => format!("git diff --stat HEAD~{}", lines % 9),
            2 => format!("git log --oneline -{lines}"),
            3 => format!("cd {} && cargo test -p {name} 2>&1 | tail -{lines}", self.folder),
            4 => {
                format!("cargo clippy --all-targets -- -D warnings 2>&1 | grep -n \"{word}\" | head -{lines}")
            }
            5 => format!("python3 -m pytest {file} -q -k {word}"),
            6 => format!("npm run {word} -- --filter={name}"),
            7 => format!("go test ./internal/{word}/... -run Test{name} -v 2>&1 | head -{lines}"),
            8 => format!("ls -la {}/{word}/", self.folder),
            9 => format!("rg -n \"{word}\" {file}"),
            10 => format!("sed -n '{lines},{}p' {file}", lines + 40),
            11 => format!("cat {file} | head -{lines}"),
            12 => format!("find {} -name \"*.{word}\" -not -path \"*/node_modules/*\" | wc -l", self.folder),
            13 => format!("mkdir -p {}/{name} && touch {file}", self.folder),
            14 => format!("docker compose up -d {word} && docker compose logs --tail={lines} {word}"),
            15 => format!("kubectl get pods -n {name} -o json | jq '.items[].metadata.name'"),
            16 => format!("curl -s https://{name}.example.com/api/v1/{word}?limit={lines} | jq '.{word}'"),
            17 => format!("gh pr view {lines} --json title,body,files,state"),
            18 => format!("git add -A && git commit -m \"{}\"", self.words.sentence(self.random, 8)),
            _ => format!("psql -c \"select * from {word} where id = {lines} limit 10;\""),
        }
    }

    fn read(&mut self) -> GeneratedCall {
        let path = self.path();
        let arguments = Object::new(self.spaced).text("file_path", &path);
        let arguments = if self.random.chance(60) {
            arguments.raw("offset", self.random.between(1, 900)).raw("limit", self.random.between(10, 200))
        } else {
            arguments
        };
        GeneratedCall {
            tool: self.random.pick(&["Read", "fs.read", "read_file"]),
            arguments: arguments.end(),
            context: path,
        }
    }

    fn edit(&mut self) -> GeneratedCall {
        let path = self.path();
        let (before, after) = (self.code(1, 5), self.code(1, 8));
        let arguments = Object::new(self.spaced)
            .text("file_path", &path)
            .text("old_string", &before)
            .text("new_string", &after)
            .raw("replace_all", "false")
            .end();
        GeneratedCall {
            tool: self.random.pick(&["Edit", "apply_patch", "str_replace"]),
            arguments,
            context: path,
        }
    }

    fn write(&mut self) -> GeneratedCall {
        let (path, content) = (self.path(), self.code(4, 20));
        let arguments = Object::new(self.spaced).text("file_path", &path).text("content", &content).end();
        GeneratedCall {
            tool: self.random.pick(&["Write", "fs.write", "write_file"]),
            arguments,
            context: path,
        }
    }

    fn search(&mut self) -> GeneratedCall {
        let (pattern, path) = (self.words.name(self.random, ".*"), self.path());
        let arguments = Object::new(self.spaced).text("pattern", &pattern).text("path", &path);
        let arguments = match self.random.between(0, 2) {
            0 => arguments
                .text("output_mode", "content")
                .raw("-n", "true")
                .raw("-A", self.random.between(1, 20)),
            1 => arguments.text("output_mode", "files_with_matches"),
            _ => arguments.text("glob", "**/*.rs").raw("head_limit", self.random.between(5, 50)),
        };
        GeneratedCall {
            tool: self.random.pick(&["Grep", "search", "Glob"]),
            arguments: arguments.end(),
            context: path,
        }
    }

    fn tasks(&mut self) -> GeneratedCall {
        let count = self.random.between(1, 6);
        let mut tasks = Vec::new();
        for _ in 0..count {
            let (content, doing) = (self.words.sentence(self.random, 6), self.words.sentence(self.random, 5));
            let status = self.random.pick(&["pending", "in_progress", "completed"]);
            let task = Object::new(self.spaced).text("content", &content).text("status", status);
            tasks.push(task.text("activeForm", &doing).end());
        }
        let arguments = Object::new(self.spaced).list("todos", &tasks).end();
        GeneratedCall { tool: "TodoWrite", arguments, context: "-".to_owned() }
    }

    fn web(&mut self) -> GeneratedCall {
        let host = format!("{}.example.org", self.words.word(self.random));
        let url =
            format!("https://{host}/{}/{}", self.words.word(self.random), self.words.name(self.random, "-"));
        let prompt = self.words.sentence(self.random, 10);
        let arguments = Object::new(self.spaced).text("url", &url).text("prompt", &prompt).end();
        GeneratedCall {
            tool: self.random.pick(&["WebFetch", "http.fetch", "browser_navigate"]),
            arguments,
            context: host,
        }
    }

    /// Makes a call of an agent's work outside of code: customers, orders, mails, queries.
    fn business(&mut self) -> GeneratedCall {
        let id = self.random.letters(6).to_uppercase();
        let (amount, words) = (self.random.between(100, 90_000), self.random.between(6, 30));
        let (text, person) = (self.words.sentence(self.random, words), self.words.person(self.random));
        let object = Object::new(self.spaced);
        let (tool, arguments) = match self.random.between(0, 5) {
            0 => ("get_order_details", object.text("order_id", &id)),
            1 => ("get_user_details", object.text("user_id", &format!("{person}_{id}"))),
            2 => (
                "refund_payment",
                object
                    .text("order_id", &id)
                    .raw("amount_cents", amount)
                    .text("currency", "EUR")
                    .text("reason", &text),
            ),
            3 => (
                "send_email",
                object
                    .text("to", &format!("{person}@example.com"))
                    .text("subject", &text)
                    .text("body", &text),
            ),
            4 => (
                "mcp__tracker__create_issue",
                object.text("title", &text).text("team", person).raw("priority", 2),
            ),
            _ => (
                "query_database",
                object.text(
                    "sql",
                    &format!("SELECT id, {person} FROM orders WHERE total > {amount} ORDER BY id"),
                ),
            ),
        };
        GeneratedCall { tool, arguments: arguments.end(), context: "-".to_owned() }
    }

    fn code(&mut self, least: u64, most: u64) -> String {
        let lines = self.random.between(least, most);
        (0..lines).map(|_| self.line_of_code()).collect()
    }

    fn line_of_code(&mut self) -> String {
        let (one, two) = (self.words.name(self.random, "_"), self.words.word(self.random));
        let number = self.random.between(0, 5_000);
        match self.random.between(0, 15) {
            0 => format!("    let {one} = {two}.{one}({number})?;\n"),
            1 => format!("    if {one}.is_empty() {{\n        return Err({two}::Empty);\n    }}\n"),
            2 => format!("pub fn {one}(&self, {two}: &str) -> Result<u64> {{\n"),
            3 => format!("        assert_eq!({one}, {number});\n"),
            4 => format!("def {one}(self, {two}=None):\n    return self.{two}.get(\"{one}\")\n"),
            5 => format!("    for {two} in {one}:\n        print(f\"{{{two}}}\")\n"),
            6 => format!("import {{ {two} }} from \"../{one}\";\n"),
            7 => format!("  const {two} = await {one}({{ id: {number} }});\n"),
            8 => format!(
                "\tif err := {two}.{one}(ctx); err != nil {{\n\t\treturn fmt.Errorf(\"{two}: %w\", err)\n\t}}\n"
            ),
            9 => format!("func (s *{two}) {one}(ctx context.Context) error {{\n"),
            10 => format!("// {}\n", self.words.sentence(self.random, 9)),
            11 => format!("## {}\n\n", self.words.sentence(self.random, 4)),
            12 => format!("- {}\n", self.words.sentence(self.random, 12)),
            13 => format!("{two}:\n  {one}: {number}\n  enabled: true\n"),
            14 => "}\n\n".to_owned(),
            _ => format!("        {one}: {two}.into(),\n"),
        }
    }
}
