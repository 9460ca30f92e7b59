//! The help: groups of commands, examples, and the global options that each command uses.

use clap::{ArgMatches, Command, parser::ValueSource};

/// A command in the list of commands, with the facts that its arguments do not tell.
struct CommandHelp {
    name: &'static str,
    /// One or two command lines, one a line.
    examples: &'static str,
    /// The global options that the command uses, besides `json`.
    options: &'static [&'static str],
}

/// A group of commands.
struct CommandGroup {
    name: &'static str,
    commands: &'static [CommandHelp],
}

/// The options of a command on a service or a folder that prints tables.
const TABLES: &[&str] = &[
    "wide",
    "data",
    "keyring",
    "anchor",
    "archive_store",
    "new_anchor",
    "anchor_optional",
    "url",
    "token_file",
    "ledger",
];
/// The options of a command on a service or a folder without tables.
const LEDGER: &[&str] = &[
    "data",
    "keyring",
    "anchor",
    "archive_store",
    "new_anchor",
    "anchor_optional",
    "url",
    "token_file",
    "ledger",
];
const ARCHIVES: &[&str] =
    &["wide", "data", "keyring", "anchor", "archive_store", "new_anchor", "anchor_optional", "ledger"];
const SERVING: &[&str] = &["data", "keyring", "anchor", "archive_store", "new_anchor", "anchor_optional"];
const SETTINGS: &[&str] =
    &["wide", "data", "keyring", "anchor", "archive_store", "new_anchor", "anchor_optional"];
const REMOTE: &[&str] = &["wide", "url", "token_file", "data", "keyring", "ledger"];

/// The options of every command that asks a service.
const TRUST: [&str; 3] = ["ca_file", "client_certificate", "client_key"];

const fn command(
    name: &'static str,
    options: &'static [&'static str],
    examples: &'static str,
) -> CommandHelp {
    CommandHelp { name, examples, options }
}

/// All commands, in the order of `bitacora --help`.
const GROUPS: [CommandGroup; 5] = [
    CommandGroup {
        name: "Ledger",
        commands: &[
            command("append", LEDGER, "bitacora append events.ndjson"),
            command(
                "read",
                LEDGER,
                "bitacora read --since yesterday --agent coder\nbitacora read --type tool.failed --json",
            ),
            command("tail", LEDGER, "bitacora tail -n 20 --agent coder"),
            command("import", LEDGER, "bitacora import ~/.claude/projects"),
            command(
                "export",
                LEDGER,
                "bitacora export --out events.jsonl\nbitacora export --format parquet --since 30d --tool Bash --out bash.parquet",
            ),
            command("imports", TABLES, "bitacora imports\nbitacora imports accept 5de16745"),
            command(
                "checkpoints",
                TABLES,
                "bitacora checkpoints list --thread t1\nbitacora checkpoints fork t1 --as c9",
            ),
            command("erase", TABLES, "bitacora erase customer/4711 --authority 'ticket 882'"),
            command(
                "holds",
                TABLES,
                "bitacora holds\nbitacora holds place case-7 --subject customer/4711 --reason 'the proceedings of case 7'",
            ),
            command(
                "retention",
                TABLES,
                "bitacora retention\nbitacora retention set rules.json --reason 'ticket 883'",
            ),
            command("annotate", TABLES, "bitacora annotate 'flaky test' --call c1 --tag ci"),
        ],
    },
    CommandGroup {
        name: "Govern",
        commands: &[
            command(
                "approvals",
                TABLES,
                "bitacora approvals\nbitacora approvals approve a17 --note 'reviewed'",
            ),
            command("policy", TABLES, "bitacora policy\nbitacora policy publish policy.json --activate"),
            command("starter", TABLES, "bitacora starter\nbitacora starter upgrade"),
            command("tools", TABLES, "bitacora tools\nbitacora tools register --starter"),
            command("trust", TABLES, "bitacora trust\nbitacora trust show --tool shell --context cargo"),
            command("grants", TABLES, "bitacora grants\nbitacora grants revoke g1"),
            command("rates", TABLES, "bitacora rates set --by agent --name ci --burst 10 --refill 10"),
            command(
                "budgets",
                TABLES,
                "bitacora budgets set coders --role agent --cost-usd 5 --period day --on-exceed pause",
            ),
            command(
                "breakers",
                TABLES,
                "bitacora breakers\nbitacora breakers close --tool shell --context cargo",
            ),
            command("mode", TABLES, "bitacora mode\nbitacora mode observe --agent ci"),
            command("panic", TABLES, "bitacora panic engage --reason 'runaway agent'"),
            command("agents", TABLES, "bitacora agents suspend coder --reason 'deletes files'"),
            command("clock", TABLES, "bitacora clock\nbitacora clock accept --reason 'clock was corrected'"),
        ],
    },
    CommandGroup {
        name: "Ask",
        commands: &[
            command("decide", LEDGER, "bitacora decide --call c1 --tool shell --args '{\"command\":\"ls\"}'"),
            command("outcome", LEDGER, "bitacora outcome --call c1 --status ok"),
            command("calls", TABLES, "bitacora calls --since 24h --outcome error\nbitacora calls c1"),
            command("sessions", TABLES, "bitacora sessions --since today\nbitacora sessions show s1"),
            command("runs", TABLES, "bitacora runs --state failed\nbitacora runs r1"),
            command("contracts", TABLES, "bitacora contracts checks edit --failed"),
            command("costs", TABLES, "bitacora costs --since 7d --by day,model"),
            command("gaps", TABLES, "bitacora gaps --session s1"),
            command(
                "report",
                TABLES,
                "bitacora report day yesterday\nbitacora report who-did-what --from 7d --csv",
            ),
        ],
    },
    CommandGroup {
        name: "Prove",
        commands: &[
            command(
                "verify",
                &["data", "keyring", "anchor", "archive_store", "ledger"],
                "bitacora verify --data ./data",
            ),
            command(
                "prove",
                &["data", "keyring", "archive_store", "url", "token_file", "ledger"],
                "bitacora prove 17 --out event.proof.json\nbitacora prove --range 17-42 --out evidence.tar",
            ),
            command(
                "replay",
                &["wide", "data", "keyring", "anchor", "archive_store", "url", "token_file", "ledger"],
                "bitacora replay --data ./data --at yesterday\nbitacora replay --data ./data --what-if --policy v2",
            ),
            command("archive", ARCHIVES, "bitacora archive run --after 90d --data ./data"),
            command(
                "recover",
                &["data", "keyring", "anchor", "archive_store", "new_anchor", "ledger"],
                "bitacora recover --data ./data --declare-loss",
            ),
        ],
    },
    CommandGroup {
        name: "Operate",
        commands: &[
            command(
                "connect",
                &["url", "token_file", "ledger"],
                "bitacora connect claude\nbitacora connect claude --enforce",
            ),
            command(
                "disconnect",
                &["url", "token_file", "ledger"],
                "bitacora disconnect claude\nbitacora disconnect claude --discard",
            ),
            command("doctor", &["wide"], "bitacora doctor\nbitacora doctor claude"),
            command("watch", &[], "bitacora watch\nbitacora watch --once"),
            command("hook", &[], "bitacora hook claude --connection claude.json"),
            command(
                "mcp",
                &["url", "token_file", "ledger"],
                "bitacora mcp --server files -- npx -y @modelcontextprotocol/server-filesystem .\nbitacora mcp serve",
            ),
            command("status", REMOTE, "bitacora status\nbitacora status --json"),
            command("quickstart", &["ledger"], "bitacora quickstart"),
            command(
                "console",
                &["url", "token_file", "keyring", "ledger"],
                "bitacora console\nbitacora console --print",
            ),
            command("serve", SERVING, "bitacora serve --data ./data --keyring ./keyring --create main"),
            command(
                "config",
                SETTINGS,
                "bitacora config show --config bitacora.toml\nbitacora config check bitacora.toml",
            ),
            command("token", TABLES, "bitacora token create --role agent --agent coder > coder.token"),
            command("keys", SERVING, "bitacora keys show\nbitacora keys rotate"),
            command("projections", TABLES, "bitacora projections\nbitacora projections rebuild calls"),
            command("tiers", TABLES, "bitacora tiers\nbitacora tiers --json"),
            command("bench", &[], "bitacora bench --only append"),
            command("completions", &[], "bitacora completions bash > bitacora.bash"),
        ],
    },
];

/// Options that every command takes.
const EVERYWHERE: [&str; 1] = ["json"];

/// The columns that help takes at most; it fits a narrower terminal.
const HELP_COLUMNS: usize = 80;

/// The page of `bitacora --help`; the list of commands stands where clap has its own.
const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\nGlobal options:\n{options}";

fn commands() -> impl Iterator<Item = &'static CommandHelp> {
    GROUPS.iter().flat_map(|group| group.commands)
}

/// Adds the groups, examples and the options of each command to the parser.
pub(crate) fn with_help(parser: Command) -> Command {
    let list = list_of_commands(&parser);
    let globals: Vec<_> = parser.get_arguments().filter(|option| option.is_global_set()).cloned().collect();
    let named = |mut parser: Command, command: &CommandHelp| {
        if parser.find_subcommand(command.name).is_none() {
            return parser;
        }
        let heading = if command.examples.contains('\n') { "Examples:" } else { "Example:" };
        let examples: String = command.examples.lines().map(|line| format!("\n  {line}")).collect();
        let unused: Vec<_> =
            globals.iter().filter(|option| !command.uses(option.get_id().as_str())).collect();
        parser = parser.mut_subcommand(command.name, |subcommand| {
            let subcommand = subcommand.after_help(format!("{heading}{examples}"));
            // What the command has itself is not taken from the program.
            unused
                .into_iter()
                .fold(subcommand, |subcommand, option| subcommand.arg(option.clone().hide(true)))
        });
        parser
    };
    let parser = commands().fold(parser, named);
    parser.help_template(TEMPLATE).after_help(list).max_term_width(HELP_COLUMNS)
}

impl CommandHelp {
    fn uses(&self, option: &str) -> bool {
        let is_trust = TRUST.contains(&option) && self.options.contains(&"url");
        is_trust || self.options.contains(&option) || EVERYWHERE.contains(&option)
    }
}

/// Returns the commands by group, each with its first line.
fn list_of_commands(parser: &Command) -> String {
    let width = commands().map(|command| command.name.len()).max().unwrap_or_default();
    let mut list = String::new();
    for group in &GROUPS {
        list.push_str(&format!("\n{}:\n", group.name));
        for command in group.commands {
            let about = parser.find_subcommand(command.name).and_then(|command| command.get_about().cloned());
            let about = about.map(|about| about.to_string()).unwrap_or_default();
            list.push_str(&format!("  {:width$}  {about}\n", command.name));
        }
    }
    list.push_str("\n`bitacora help COMMAND` explains a command.");
    list.trim_start().to_owned()
}

/// Returns a global option on the command line that its command does not use.
pub(crate) fn unused_option(matches: &ArgMatches) -> Option<(&'static str, String)> {
    let name = matches.subcommand_name()?;
    let command = commands().find(|command| command.name == name)?;
    let is_given =
        |option: &&clap::Id| matches.value_source(option.as_str()) == Some(ValueSource::CommandLine);
    // The others are names of groups.
    let is_option = |option: &&clap::Id| commands().any(|command| command.uses(option.as_str()));
    let mut given = matches.ids().filter(is_given).filter(is_option);
    let unused = given.find(|option| !command.uses(option.as_str()))?;
    Some((command.name, format!("--{}", unused.as_str().replace('_', "-"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::CommandLine;

    #[test]
    fn the_groups_name_every_command_once() {
        let parser = CommandLine::parser();
        let mut grouped: Vec<_> = commands().map(|command| command.name).collect();
        let mut known: Vec<_> = parser.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped, known);
    }

    #[test]
    fn every_example_is_a_command_line_of_its_command() {
        for command in commands() {
            assert!((1..=2).contains(&command.examples.lines().count()), "{}", command.name);
            for line in command.examples.lines() {
                let line = line.split(" > ").next().unwrap_or_default();
                let words = words(line);
                assert_eq!(words[1], command.name);
                let parsed = CommandLine::parser().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
    }

    /// Splits a line as a shell does, as far as examples go.
    fn words(line: &str) -> Vec<String> {
        let quoted = line.split('\'').enumerate();
        let parts = quoted.flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
            _ => vec![part.to_owned()],
        });
        parts.collect()
    }

    #[test]
    fn a_command_shows_and_takes_the_options_that_it_uses() {
        let mut parser = CommandLine::parser();
        parser.build();
        let bench = parser.find_subcommand_mut("bench").unwrap().render_long_help().to_string();
        assert!(!bench.contains("--anchor") && bench.contains("--json"), "{bench}");
        let trust = parser.find_subcommand_mut("trust").unwrap().render_long_help().to_string();
        assert!(trust.contains("--wide") && trust.contains("Examples:"), "{trust}");
        let matches = |line: &[&str]| CommandLine::parser().try_get_matches_from(line).unwrap();
        let unused = unused_option(&matches(&["bitacora", "completions", "bash", "--new-anchor"]));
        assert_eq!(unused, Some(("completions", "--new-anchor".to_owned())));
        assert_eq!(unused_option(&matches(&["bitacora", "calls", "--new-anchor", "--json"])), None);
        assert_eq!(unused_option(&matches(&["bitacora", "--new-anchor", "--json", "calls"])), None);
    }

    #[test]
    fn help_has_the_commands_in_groups() {
        let help = CommandLine::parser().render_help().to_string();
        for heading in
            ["\nLedger:\n", "\nGovern:\n", "\nAsk:\n", "\nProve:\n", "\nOperate:\n", "\nGlobal options:\n"]
        {
            assert_eq!(help.matches(heading).count(), 1, "{heading:?}\n{help}");
        }
        assert!(!help.contains("\nCommands:\n"), "{help}");
    }

    /// Returns the lines of help that are too wide, of a command and of those within it.
    fn wide_lines(command: &mut Command) -> Vec<String> {
        let help = command.render_long_help().to_string();
        // The parser never breaks the line of the usage.
        let is_wide = |line: &&str| line.chars().count() > HELP_COLUMNS && !line.starts_with("Usage: ");
        let mut wide: Vec<_> = help.lines().filter(is_wide).map(str::to_owned).collect();
        wide.extend(command.get_subcommands_mut().flat_map(wide_lines));
        wide
    }

    #[test]
    fn help_fits_eighty_columns() {
        let mut parser = CommandLine::parser();
        parser.build();
        assert_eq!(wide_lines(&mut parser), [""; 0]);
    }
}
