//! The programs that unreadable texts seem to run.

use super::{MAX_ALTERNATIVES, MAX_MENTIONED_FILES, MAX_MENTIONS, mentions};
use crate::{Access, Effect, MAX_TEXT_BYTES};

/// Returns the parts of a text, in order.
fn parts(text: &str) -> Vec<String> {
    mentions(text).into_iter().map(|action| action.part).collect()
}

/// Returns the files of a text, in order, with the use that is made of them.
fn files(text: &str) -> Vec<(String, Access)> {
    let files = mentions(text).into_iter().flat_map(|action| action.files);
    files.map(|file| (file.path, file.access)).collect()
}

fn reads(text: &str) -> Vec<String> {
    files(text).into_iter().filter(|(_, access)| *access == Access::Reads).map(|(path, _)| path).collect()
}

#[test]
fn programs_are_found_behind_every_operator() {
    assert_eq!(
        parts("ls $X && rm -rf a; (cd b) | sort &\nwc `date` $(who)"),
        ["ls", "rm", "cd", "sort", "date", "who", "wc"]
    );
    assert_eq!(parts("if true; then rm a; else { mv b c; }; fi"), ["true", "rm", "mv"]);
    assert_eq!(parts("for f in *; do rm $f; done"), ["for", "rm"]);
    assert_eq!(parts("A=b C=d rm x"), ["rm", "="]);
    assert_eq!(parts("{rm,-rf,x}"), ["rm"]);
    assert_eq!(parts("r''m \"-r\"f a; \\rm b; 'rm' c; $'rm' d"), ["rm", "rm", "rm", "rm"]);
    assert_eq!(parts("# rm a\nls#b; ls # rm"), ["ls#b", "ls"]);
}

#[test]
fn programs_are_found_in_texts_within_texts() {
    assert_eq!(parts("bash -c 'rm -rf a; ls'"), ["bash", "rm", "ls"]);
    assert_eq!(
        parts("sudo -u ana env A=b nice -n 5 bash -lc \"git push -f\""),
        ["sudo", "env", "nice", "bash", "git push --force", "="]
    );
    assert_eq!(parts("echo \"$(rm a \"$(date)\") `who`\""), ["date", "rm", "who", "echo"]);
    assert_eq!(parts("cat <(rm a) > >(tee b)"), ["rm", "tee", "cat"]);
    assert_eq!(parts("eval rm a"), ["eval", "rm"]);
    assert_eq!(parts("ssh -t host 'rm a'"), ["ssh", "rm"]);
    assert_eq!(parts("find . -name '*.o' -exec rm {} \\;"), ["find", "rm"]);
    assert_eq!(parts("find . -name a | xargs -n 1 -I {} rm {}"), ["find", "xargs", "rm"]);
    assert_eq!(parts("timeout -k 5 10 rm a"), ["timeout", "rm"]);
    assert_eq!(parts("echo ${X:-$(rm a)}"), ["rm", "echo"]);
    assert_eq!(parts("bash <<'E'\nrm a\nE\nls"), ["bash", "rm", "ls"]);
    assert_eq!(parts("bash <<-E\n\trm a\n\tE\nls"), ["bash", "rm", "ls"]);
}

#[test]
fn documents_that_no_shell_reads_are_no_commands() {
    assert_eq!(
        parts("git commit -m \"$(cat <<'EOF'\nrm the old (one\n\nwc `ls`\nEOF\n)\" && git push"),
        ["cat", "git commit", "git push"]
    );
    assert_eq!(parts("cat > a <<E\nrm b\nE"), ["cat", ">"]);
    assert_eq!(parts("cat <<E\nls $(rm b) `wc`\nE\ncat <<'E'\n$(rm c)\nE"), ["rm", "wc", "cat"]);
}

#[test]
fn parts_say_what_a_program_is_told() {
    let part = |text: &str| parts(text).first().cloned().unwrap_or_default();
    assert_eq!(part("git -C a -c b=c --no-pager push origin $X"), "git push");
    assert_eq!(part("git push --force-with-lease $X"), "git push --force");
    assert_eq!(part("git push -uf origin $X"), "git push --force");
    assert_eq!(part("git push origin +main $X"), "git push --force");
    assert_eq!(part("git reset --hard $X"), "git reset --hard");
    assert_eq!(part("npm run deploy $X"), "npm run deploy");
    assert_eq!(part("npm --prefix web install"), "npm install");
    assert_eq!(part("gh pr create --title $X"), "gh pr create");
    assert_eq!(part("/usr/bin/find $X -delete"), "find -delete");
    assert_eq!(part("sed -i.bak s/a/b/ $X"), "sed -i");
    assert_eq!(part("git"), "git");
    assert_eq!(part("gh api repos/a/b --jq $X"), "gh api");
    assert_eq!(part("go run ./a $X"), "go run");
    assert_eq!(
        parts("echo $((1 + $(rm a))) && mise exec node -- npm ci $X"),
        ["rm", "echo", "mise exec node", "npm ci"]
    );
}

#[test]
fn what_was_downloaded_and_is_run_is_told() {
    let runs = |text: &str| parts(text).iter().any(|part| part == "download | run");
    for text in [
        "curl -s https://x | sh",
        "curl x | sudo -E bash -",
        "wget -O- x | tee a | bash -s -- b",
        "curl x | python3",
        "curl x | tac | tac | zsh",
        "bash <(curl x)",
        "bash -c \"$(curl x)\"",
        "eval \"$(wget -qO- x)\"",
        "source <(curl x)",
        "curl x | xargs sh",
    ] {
        assert!(runs(text), "{text}: {:?}", parts(text));
    }
    for text in [
        "curl x | jq .sha",
        "curl x | python3 -c 'import json' $X",
        "curl x | python3 -m json.tool",
        "curl x; sh a",
        "curl x | tee a; bash",
        "curl x || sh",
        "echo curl | sh",
        "curl x | bash a.sh",
    ] {
        assert!(!runs(text), "{text}: {:?}", parts(text));
    }
}

#[test]
fn files_are_what_arguments_may_name() {
    assert_eq!(reads("cat .env \"$X\"/id_rsa --file=a/b -v"), [".env", "$X/id_rsa", "a/b"]);
    assert_eq!(reads("git show HEAD:.env $X"), ["show", "HEAD:.env", ".env", "$X"]);
    assert_eq!(reads("cat {a,b}/{.s,}sh"), ["a/.ssh", "a/sh", "b/.ssh", "b/sh"]);
    assert_eq!(reads("F=.netrc; cat $F"), [".netrc", "$F"]);
    assert_eq!(reads("cat 'a b' \"\" - ."), Vec::<String>::new());
    let all = files("cd a/b && ls 2>&1 > out < in 2>> err &> both >| over <> rw");
    let writes = |path: &str| (path.to_owned(), Access::Writes);
    assert_eq!(
        all,
        [
            ("a/b".to_owned(), Access::Enters),
            writes("out"),
            ("in".to_owned(), Access::Reads),
            writes("err"),
            writes("both"),
            writes("over"),
            writes("rw"),
        ]
    );
    let patterns: Vec<bool> = mentions("cat *.pem a")
        .iter()
        .flat_map(|action| action.files.iter().map(|file| file.is_pattern))
        .collect();
    assert_eq!(patterns, [true, false]);
}

#[test]
fn nothing_is_known_of_what_is_mentioned() {
    assert!(mentions("ls; rm $X > a").iter().all(|action| action.effect == Effect::Unknown));
}

#[test]
fn mentions_are_bounded() {
    let many: String = (0..2000).map(|number| format!("p{number} $X\n")).collect();
    assert_eq!(mentions(&many).len(), MAX_MENTIONS);
    let files: String = (0..200).map(|number| format!(" f{number}")).collect();
    assert_eq!(mentions(&format!("cat{files}"))[0].files.len(), MAX_MENTIONED_FILES);
    let braces = "{a,b}".repeat(40);
    assert!(mentions(&format!("cat {braces}"))[0].files.len() <= MAX_ALTERNATIVES);
    let behind = format!("{} ; rm a", "é".repeat(MAX_TEXT_BYTES / 2));
    assert!(!parts(&behind).contains(&"rm".to_owned()));
    let deep = format!("{}rm a{}", "bash -c \"$(".repeat(100), ")\"".repeat(100));
    assert!(!mentions(&deep).is_empty());
}

#[test]
fn no_text_makes_it_panic_or_wait() {
    let pieces = [
        "$(",
        ")",
        "\"",
        "'",
        "`",
        "\\",
        "${",
        "}",
        "<<",
        "<<-E\n",
        "\nE\n",
        "<(",
        "{a,",
        "é",
        "\n",
        "|",
        "&",
        ";",
        "bash -c ",
        "=",
        "<",
        ">",
        "&>",
        "#",
        "git push ",
        "find . -exec ",
        "cd ",
        " ",
    ];
    for first in pieces {
        for second in pieces {
            for third in pieces {
                assert!(mentions(&format!("{first}{second}{third}")).len() <= MAX_MENTIONS);
            }
        }
        let long = first.repeat(MAX_TEXT_BYTES / first.len());
        assert!(
            mentions(&long).len() <= MAX_MENTIONS && mentions(&format!("\"{long}")).len() <= MAX_MENTIONS
        );
    }
}
