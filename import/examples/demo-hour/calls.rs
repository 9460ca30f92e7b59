//! The tools that agents of each trade call, with arguments and durations.

use super::random::DemoRandom;
use super::words;
use bitacora_import::JsonObject;

/// The trade of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trade {
    Coder,
    Operator,
    Analyst,
    Support,
}

/// One tool call.
pub(super) struct DemoCall {
    pub(super) tool: &'static str,
    /// The arguments, as JSON.
    pub(super) args: String,
    pub(super) typical_ms: u64,
    /// Set when it changes something that people care about.
    pub(super) is_risky: bool,
}

/// The workplace of an agent.
pub(super) struct Workplace {
    pub(super) folder: String,
    /// The files of its project.
    pub(super) files: Vec<String>,
    pub(super) project: &'static str,
}

impl Workplace {
    pub(super) fn new(random: &mut DemoRandom) -> Self {
        let project = words::project(random);
        let folder = format!("/home/{}/{project}", words::person(random));
        let files = (0..random.between(12, 30)).map(|_| {
            let ending = random.pick(&["rs", "rs", "py", "ts", "ts", "yaml", "md"]);
            let part = random.pick(&["src", "src", "tests", "app", "lib"]);
            format!("{part}/{}/{}.{ending}", words::noun(random), words::name(random))
        });
        let files = files.collect();
        Self { folder, files, project }
    }

    fn file(&self, random: &mut DemoRandom) -> String {
        // A few files are worked on again and again.
        let among = if random.chance(700) { self.files.len().min(5) } else { self.files.len() };
        let file = self.files.get(random.below(among)).map_or("README.md", String::as_str);
        format!("{}/{file}", self.folder)
    }

    pub(super) fn call(&self, trade: Trade, random: &mut DemoRandom) -> DemoCall {
        match trade {
            Trade::Coder => self.coding(random),
            Trade::Operator => self.operating(random),
            Trade::Analyst => self.analysing(random),
            Trade::Support => self.supporting(random),
        }
    }

    fn coding(&self, random: &mut DemoRandom) -> DemoCall {
        match random.below(100) {
            0..30 => self.shell(random),
            30..55 => {
                let object = JsonObject::new().text("file_path", &self.file(random));
                let object = if random.chance(400) {
                    object.raw("offset", random.between(1, 400)).raw("limit", random.between(20, 200))
                } else {
                    object
                };
                call("Read", object, 12, false)
            }
            55..75 => {
                let path = self.file(random);
                let ending = path.rsplit('.').next().unwrap_or_default().to_owned();
                let (few, more) = (random.between(1, 4), random.between(1, 7));
                let object = JsonObject::new()
                    .text("file_path", &path)
                    .text("old_string", &words::code(random, &ending, few))
                    .text("new_string", &words::code(random, &ending, more));
                call("Edit", object, 25, true)
            }
            75..90 => {
                let object = JsonObject::new()
                    .text("pattern", &words::name(random))
                    .text("path", &self.folder)
                    .text("output_mode", random.pick(&["content", "files_with_matches"]));
                call("Grep", object, 60, false)
            }
            90..94 => {
                let path = self.file(random);
                let ending = path.rsplit('.').next().unwrap_or_default().to_owned();
                let lines = random.between(8, 30);
                let object = JsonObject::new()
                    .text("file_path", &path)
                    .text("content", &words::code(random, &ending, lines));
                call("Write", object, 30, true)
            }
            94..97 => {
                let object = JsonObject::new()
                    .text("team", self.project)
                    .text("title", &words::sentence(random, 6))
                    .text("description", &words::sentence(random, 24));
                call("mcp__tracker__create_issue", object, 600, true)
            }
            _ => {
                let url = format!("https://docs.example.com/{}/{}", self.project, words::noun(random));
                call("WebFetch", JsonObject::new().text("url", &url), 1_500, false)
            }
        }
    }

    fn shell(&self, random: &mut DemoRandom) -> DemoCall {
        let (name, noun, lines) = (words::name(random), words::noun(random), random.between(5, 80));
        let (command, typical_ms) = match random.below(10) {
            0 => ("git status --short".to_owned(), 40),
            1 => (format!("git diff --stat HEAD~{}", lines % 5 + 1), 60),
            2 => (format!("cargo test -p {noun} {name} 2>&1 | tail -{lines}"), 9_000),
            3 => (format!("cargo clippy --all-targets 2>&1 | grep -A{lines} {name}"), 7_000),
            4 => (format!("python3 -m pytest tests/{noun} -q -k {name}"), 5_000),
            5 => (format!("npm run test -- --filter={name}"), 8_000),
            6 => (format!("rg -n '{name}' src | head -{lines}"), 70),
            7 => (format!("git add -A && git commit -m \"{}\"", words::sentence(random, 7)), 180),
            8 => (format!("sed -n '1,{lines}p' {}", self.file(random)), 20),
            _ => (format!("gh pr create --title \"{}\" --fill", words::sentence(random, 5)), 2_400),
        };
        let object =
            JsonObject::new().text("command", &command).text("description", &words::sentence(random, 5));
        call("Bash", object, typical_ms, typical_ms > 100)
    }

    fn operating(&self, random: &mut DemoRandom) -> DemoCall {
        let (service, region) = (words::project(random), random.pick(&["eu-1", "us-2", "ap-1"]));
        let object = JsonObject::new().text("service", service).text("region", region);
        match random.below(10) {
            0..3 => {
                let query = format!("rate(http_errors_total{{service=\"{service}\"}}[5m])");
                call("metrics.query", object.text("query", &query), 300, false)
            }
            3..5 => {
                let filter = format!("level=error {}", words::noun(random));
                call("logs.search", object.text("filter", &filter).raw("limit", 50), 900, false)
            }
            5 | 6 => {
                let command = format!("kubectl -n {service} get pods -o wide");
                call("Bash", JsonObject::new().text("command", &command), 700, false)
            }
            7 => call("deploy.status", object, 250, false),
            8 => {
                let version =
                    format!("{}.{}.{}", random.between(1, 4), random.between(0, 30), random.between(0, 9));
                call("deploy.rollout", object.text("version", &version), 20_000, true)
            }
            _ => call("service.restart", object.text("reason", &words::sentence(random, 6)), 4_000, true),
        }
    }

    fn analysing(&self, random: &mut DemoRandom) -> DemoCall {
        let (table, column) = (words::noun(random), words::noun(random));
        match random.below(10) {
            0..6 => {
                let days = random.between(1, 90);
                let query = format!(
                    "select {column}_id, count(*) from {table}s where created_at > now() - interval '{days} days' group by 1 order by 2 desc limit 50"
                );
                let object = JsonObject::new().text("database", "warehouse").text("query", &query);
                call("sql.query", object, 2_500, false)
            }
            6..8 => {
                let lines = random.between(4, 12);
                let object = JsonObject::new().text("code", &words::code(random, "py", lines));
                call("python.run", object, 1_800, false)
            }
            8 => {
                let path = format!("reports/{}-{table}.csv", self.project);
                call(
                    "fs.write",
                    JsonObject::new().text("path", &path).raw("rows", random.between(10, 9_000)),
                    90,
                    true,
                )
            }
            _ => {
                let object = JsonObject::new()
                    .text("channel", "#operations")
                    .text("text", &words::sentence(random, 18));
                call("chat.post", object, 350, true)
            }
        }
    }

    fn supporting(&self, random: &mut DemoRandom) -> DemoCall {
        let order = format!("BK-{}", random.letters(7));
        let object = JsonObject::new().text("booking", &order);
        match random.below(10) {
            0..4 => call("booking.get", object, 120, false),
            4..6 => {
                let object = object.text("from", words::city(random)).text("to", words::city(random));
                call("sailing.search", object, 450, false)
            }
            6 => call("booking.change", object.text("note", &words::sentence(random, 8)), 800, true),
            7 => {
                let object = object
                    .raw("amount_cents", random.between(500, 90_000))
                    .text("reason", &words::sentence(random, 5));
                call("payment.refund", object, 1_100, true)
            }
            8 => {
                let to = format!("{}@example.com", words::person(random));
                let object = object.text("to", &to).text("body", &words::sentence(random, 30));
                call("mail.send", object, 500, true)
            }
            _ => call("customer.note", object.text("text", &words::sentence(random, 14)), 80, false),
        }
    }
}

fn call(tool: &'static str, args: JsonObject, typical_ms: u64, is_risky: bool) -> DemoCall {
    DemoCall { tool, args: args.end(), typical_ms, is_risky }
}
