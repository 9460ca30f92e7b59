//! `gh`. All of it talks to GitHub, so that none of it only looks.

use crate::action::Access::{Reads, Writes};
use crate::action::FileUse;
use crate::programs::arguments::{CommandArguments, here, unlisted};
use crate::programs::entry::Check::{Any, By, Number, Of, Prose, Word};
use crate::programs::entry::OptionValue::{self, File, Text};
use crate::programs::entry::{ACTS, OperandMeaning, Operands, Program, ProgramUse, Style, program};
use crate::programs::filter;
use crate::unreadable::UnreadableCommand;

const GH: ProgramUse = ProgramUse { style: Style::Mixed, ..ACTS };
/// The options for the output. A filter could show the environment, with its tokens.
const SHOWN: &[(&str, OptionValue)] = &[
    ("--json", Text(Word)),
    ("-q --jq", Text(By(filter::is_listed))),
    ("-t --template", Text(Any)),
    ("-R --repo", Text(By(is_repository))),
];
const REPO: &[(&str, OptionValue)] = &[("-R --repo", Text(By(is_repository)))];
/// The options that select issues and pull requests.
const LISTED: &[(&str, OptionValue)] = &[
    ("-L --limit", Text(Number)),
    ("-s --state", Text(Of("open closed merged all"))),
    (
        "-A -B -H -a -l -m -S --app --assignee --author --base --head --label --mention --milestone --search",
        Text(Any),
    ),
];
const TEXTS: &[(&str, OptionValue)] = &[
    ("-b --body -t --title", Text(Prose)),
    ("-F --body-file", File(Reads)),
    ("-R --repo", Text(By(is_repository))),
];
const PEOPLE: &[(&str, OptionValue)] = &[
    ("-B -H -a -l -m -p -r --assignee --base --head --label --milestone --project --reviewer", Text(Any)),
    ("--add-assignee --add-label --add-project --add-reviewer", Text(Any)),
    ("--remove-assignee --remove-label --remove-project --remove-reviewer", Text(Any)),
];
const API: &str = "-i --include --paginate --silent --slurp --verbose";
const API_VALUES: &[(&str, OptionValue)] = &[
    ("-q --jq", Text(By(filter::is_listed))),
    ("-t --template", Text(Any)),
    ("-H --header", Text(By(is_harmless_header))),
    ("--cache", Text(Word)),
];

const fn views(words: &'static str, flags: &'static [&'static str]) -> ProgramUse {
    ProgramUse { words, flags, values: &[SHOWN], operands: Operands::Texts(By(is_target)), ..GH }
}

const fn lists(words: &'static str) -> ProgramUse {
    ProgramUse {
        words,
        flags: &["--no-archived --source --fork --archived"],
        values: &[SHOWN, LISTED],
        operands: Operands::Texts(Word),
        ..GH
    }
}

const fn acts(words: &'static str, flags: &'static [&'static str]) -> ProgramUse {
    ProgramUse { words, flags, values: &[TEXTS, PEOPLE], operands: Operands::Texts(By(is_target)), ..GH }
}

pub(super) const PROGRAMS: &[Program] = &[program(
    &["gh"],
    &[
        ProgramUse { words: "--version", ..GH },
        ProgramUse { words: "version", ..GH },
        views("pr view", &["-c --comments"]),
        ProgramUse {
            values: &[REPO, &[("--color", Text(Of("always auto never")))]],
            operands: Operands::By(compared, "a pull request, then paths behind `--`"),
            ..views("pr diff", &["--name-only --patch"])
        },
        ProgramUse {
            values: &[SHOWN, &[("-i --interval", Text(Number))]],
            ..views("pr checks", &["--fail-fast --required --watch"])
        },
        views("pr status", &["-c --conflict-status"]),
        ProgramUse { flags: &["-d --draft"], ..lists("pr list") },
        views("issue view", &["-c --comments"]),
        views("issue status", &[]),
        lists("issue list"),
        ProgramUse {
            values: &[SHOWN, &[("-a --attempt", Text(Number)), ("-j --job", Text(Number))]],
            ..views("run view", &["-v --exit-status --log --log-failed --verbose"])
        },
        ProgramUse {
            values: &[
                SHOWN,
                &[
                    ("-L --limit", Text(Number)),
                    (
                        "-b -c -e -s -u -w --branch --commit --created --event --status --user --workflow",
                        Text(Any),
                    ),
                ],
            ],
            ..views("run list", &["-a --all"])
        },
        ProgramUse {
            values: &[REPO, &[("-i --interval", Text(Number))]],
            ..views("run watch", &["--compact --exit-status"])
        },
        ProgramUse {
            values: &[REPO, &[("-D --dir", File(Writes)), ("-n -p --name --pattern", Text(Any))]],
            ..views("run download", &[])
        },
        ProgramUse {
            values: &[SHOWN, &[("-b --branch", Text(Word))]],
            operands: Operands::Texts(By(is_repository)),
            ..views("repo view", &[])
        },
        ProgramUse {
            values: &[SHOWN, LISTED, &[("-l --language --topic --visibility", Text(Any))]],
            ..lists("repo list")
        },
        ProgramUse {
            flags: &["--exclude-drafts --exclude-pre-releases"],
            values: &[SHOWN, LISTED, &[("-O --order", Text(Word))]],
            ..lists("release list")
        },
        views("release view", &[]),
        ProgramUse {
            flags: &["-y --yaml"],
            values: &[SHOWN, &[("-r --ref", Text(Word))]],
            ..views("workflow view", &[])
        },
        ProgramUse { flags: &["-a --all"], ..lists("workflow list") },
        lists("label list"),
        ProgramUse {
            values: &[REPO, &[("-n --name", Text(Word))]],
            ..views("auth status", &["-a --active"])
        },
        lists("search prs"),
        lists("search issues"),
        lists("search code"),
        lists("search repos"),
        lists("search commits"),
        acts("pr create", &["-d -e -f --draft --fill --fill-first --fill-verbose --no-maintainer-edit"]),
        acts("pr edit", &[]),
        acts("pr comment", &["--edit-last"]),
        acts("pr review", &["-a -c --approve --comment --request-changes"]),
        ProgramUse {
            values: &[TEXTS, &[("-A --author-email --match-head-commit --subject", Text(Any))]],
            ..acts(
                "pr merge",
                &["-d -m -r -s --admin --auto --delete-branch --disable-auto --merge --rebase --squash"],
            )
        },
        ProgramUse {
            values: &[REPO, &[("-c --comment", Text(Prose))]],
            ..acts("pr close", &["-d --delete-branch"])
        },
        ProgramUse { values: &[REPO, &[("-c --comment", Text(Prose))]], ..acts("pr reopen", &[]) },
        acts("pr ready", &["--undo"]),
        acts("pr update-branch", &["--rebase"]),
        ProgramUse {
            values: &[REPO, &[("-b --branch", Text(Word))]],
            ..acts("pr checkout", &["-f --detach --force --recurse-submodules"])
        },
        acts("issue create", &[]),
        acts("issue edit", &[]),
        acts("issue comment", &["--edit-last"]),
        ProgramUse {
            values: &[REPO, &[("-c --comment", Text(Prose)), ("-r --reason", Text(Any))]],
            ..acts("issue close", &[])
        },
        ProgramUse { values: &[REPO, &[("-c --comment", Text(Prose))]], ..acts("issue reopen", &[]) },
        ProgramUse {
            values: &[REPO, &[("-j --job", Text(Number))]],
            ..acts("run rerun", &["-d --debug --failed"])
        },
        acts("run cancel", &[]),
        ProgramUse {
            words: "api",
            part: Some("api get"),
            flags: &[API],
            values: &[API_VALUES, &[("-X --method", Text(Of("GET")))]],
            operands: Operands::By(endpoint, "an endpoint"),
            ..GH
        },
        ProgramUse {
            words: "api",
            flags: &[API],
            values: &[
                API_VALUES,
                &[
                    ("-X --method", Text(Of("GET POST PUT PATCH DELETE"))),
                    ("-F -f --field --raw-field", Text(By(is_field))),
                    ("--input", File(Reads)),
                ],
            ],
            operands: Operands::By(endpoint, "an endpoint"),
            ..GH
        },
    ],
)];

/// A path of GitHub's interface, or `graphql`. A whole address would name another machine.
fn endpoint(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let [endpoint] = args.operands.as_slice() else { return Err(unlisted(args.offset)) };
    let text = endpoint.word.text.as_str();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./?&=%+{}:@,~".contains(c);
    if endpoint.word.is_glob || text.contains("://") || !text.chars().all(is_plain) {
        return Err(unlisted(endpoint.word.offset));
    }
    // A field with a value that begins with `@` is read from a file.
    let fields = args.options.iter().filter(|option| matches!(option.name, "-F" | "--field"));
    let read =
        |field: &str| field.split_once("=@").map(|(_, path)| path.to_owned()).filter(|path| path != "-");
    let paths = fields.filter_map(|field| read(field.value.as_deref()?));
    let files = paths.map(|path| FileUse { path, access: Reads, is_pattern: false });
    Ok(OperandMeaning::of(files.collect()))
}

/// Returns `true` for a repository of the machine that `gh` talks to anyway: `owner/name`. With a third part, the first one would
/// name another machine.
fn is_repository(text: &str) -> bool {
    let is_plain = |part: &str| {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        !part.starts_with('-') && !["", ".", ".."].contains(&part) && part.chars().all(is_letter)
    };
    text.split_once('/').is_some_and(|(owner, name)| is_plain(owner) && is_plain(name))
}

/// Returns `true` for a number, a branch, a tag or a name. An address could name another machine.
fn is_target(text: &str) -> bool {
    let scheme = text.split(':').next().unwrap_or_default();
    let is_web =
        scheme.len() < text.len() && ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    Word.takes(text) && !text.contains("//") && !is_web
}

/// `name=value`.
fn is_field(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.starts_with('-'))
}

/// Returns `true` of a header that only names the form of the answer: others can make another method of the request.
fn is_harmless_header(text: &str) -> bool {
    let name = text.split(':').next().unwrap_or_default();
    name.eq_ignore_ascii_case("accept") || name.eq_ignore_ascii_case("x-github-api-version")
}

/// A pull request. The operands behind `--` are its files.
fn compared(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    for operand in args.operands.iter().filter(|operand| !operand.is_behind_dashes) {
        args.text(*operand, By(is_target))?;
    }
    let paths: Vec<_> = args.operands.iter().filter(|operand| operand.is_behind_dashes).copied().collect();
    let files = args.files(&paths, Reads)?;
    Ok(OperandMeaning::of(if files.is_empty() { vec![here(crate::Access::ReadsTracked)] } else { files }))
}
