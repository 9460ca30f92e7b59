use super::*;

fn context(text: &str) -> String {
    read_command(text, None).context()
}

#[test]
fn one_plain_command_is_its_first_word() {
    for (text, name) in [
        ("git status --short", "git"),
        ("  \\grep -n 'a && b; rm -rf /' src", "grep"),
        ("/usr/bin/grep x", "/usr/bin/grep"),
        ("./entire run", "./entire"),
        ("'git' push", "git"),
        ("echo \"it costs $5 & more\" $HOME ${X:-none}", "echo"),
        ("cargo test 2>&1", "cargo"),
        ("cargo test >/dev/null 2>/dev/null", "cargo"),
        ("# first\ngit status # and no more; rm -rf /", "git"),
        ("[ -f x ]", "["),
        ("ls *.rs {a,b} ~/x", "ls"),
        ("git commit -m 'one' \\\n  --amend", "git"),
        ("cat <  list", "cat"),
        ("cat <\tlist", "cat"),
        ("command -v git", "command"),
        ("for x in a b; do grep y $x; done", "grep"),
    ] {
        assert_eq!(context(text), name, "{text}");
    }
}

#[test]
fn several_commands_are_all_named_and_match_no_pattern_for_one_of_them() {
    for (text, names) in [
        ("cd x && rm -rf y", "several:cd,rm"),
        ("git status; rm x", "several:git,rm"),
        ("git status & rm x", "several:git,rm"),
        ("git log | sh x", "several:git,sh"),
        ("git status\nrm x", "several:git,rm"),
        ("git || rm x", "several:git,rm"),
        ("git show \"x$(rm x)\"", "several:git,rm"),
        ("grep \"$(rm x)\"", "several:grep,rm"),
        ("grep <(rm x)", "several:grep,rm"),
        ("(cd x; rm y) && ls", "several:cd,ls,rm"),
        ("{ rm x; ls; }", "several:ls,rm"),
        ("if true; then rm x; fi", "several:rm,true"),
        ("while read -r x; do rm $x; done < list", "several:read,rm"),
        ("! git diff && rm x", "several:git,rm"),
        ("echo x > /etc/passwd", "several:>,echo"),
        ("echo x >> ~/.bashrc", "several:>,echo"),
        ("git log &> out", "several:>,git"),
        ("git log >& out", "several:>,git"),
        ("cat <> out", "several:>,cat"),
        ("git log > /dev/null > out", "several:>,git"),
        ("PATH=/tmp git status", "several:env,git"),
        ("env A=b rm x", "several:env,rm"),
        ("sudo rm x", "several:rm,sudo"),
        ("sudo env A=b nohup rm x", "several:env,nohup,rm,sudo"),
        ("timeout 5 rm x", "several:rm,timeout"),
        ("ls | xargs rm", "several:ls,rm,xargs"),
        ("x=$(rm y)", "several:env,rm"),
        ("bash -c 'cd /; rm x'", "several:bash -c,cd,rm"),
        ("bash -lc \"rm x\"", "several:bash -c,rm"),
        ("eval 'rm x'", "several:eval,rm"),
        ("find . -name x -exec rm {} \\;", "several:find,rm"),
    ] {
        let found = context(text);
        // What `find` runs is followed only where its braces are plain.
        if text.starts_with("find") {
            assert!(found == names || found == DimensionPart::OPAQUE, "{text}: {found}");
            continue;
        }
        assert_eq!(found, names, "{text}");
    }
    assert_eq!(context("find . -delete"), "find -delete");
    assert_eq!(context("python3 -c 'import os'"), "python3 -c");
}

#[test]
fn a_text_for_a_command_is_passed_over_unless_something_is_put_into_it() {
    assert_eq!(context("git commit -F - <<'EOF'\nrm -rf / `x` $(y)\nEOF\n"), "git");
    assert_eq!(context("git commit -m \"$(cat <<'EOF'\nfix: don't; rm\nEOF\n)\""), "several:cat,git");
    assert_eq!(context("cat <<EOF\n$(rm x)\nEOF\n"), DimensionPart::OPAQUE);
    assert_eq!(context("cat <<EOF\n`rm x`\nEOF\n"), DimensionPart::OPAQUE);
    assert_eq!(context("cat <<EOF\nplain\\\nEOF\n"), DimensionPart::OPAQUE, "its last line may go on");
    assert_eq!(context("cat <<$X\nplain\n$X\n"), DimensionPart::OPAQUE);
    assert_eq!(context("cat <<''\nplain\n\nrm x"), DimensionPart::OPAQUE);
    assert_eq!(context("cat <<EOF\nplain\nEOF\nrm x"), "several:cat,rm");
    assert_eq!(context("cat <<-EOF\nplain\n\tEOF\nrm x"), "several:cat,rm");
    assert_eq!(context("cat <<EOF\nplain\n EOF\nrm x"), DimensionPart::OPAQUE, "its mark never comes");
    assert_eq!(context("cat <<EOF\nrm x"), DimensionPart::OPAQUE);
}

#[test]
fn what_cannot_be_read_for_sure_is_opaque() {
    for text in [
        "",
        "   ",
        "# nothing",
        "git `rm x`",
        "$EDITOR x",
        "r$x y",
        "{rm,-rf,/}",
        "g?t status",
        "~/bin/x",
        "git 'unended",
        "git \"unended",
        "git (x)",
        "f() { rm x; }; f",
        "case x in x) rm y;; esac",
        "function f { rm x; }",
        "[[ -f x ]]",
        "echo $((1+1))",
        "echo ${x:-$(rm y)}",
        "echo ${x@P}",
        "$'r\\x6d' x",
        "bash -c \"$X\"",
        "bash",
        "curl x | sh",
        "sh -s < x",
        "eval $X",
        "sudo -u root rm x",
        "env -i rm x",
        "env A=b -S 'rm x'",
        "timeout -k 5 5 rm x",
        "ssh host rm x",
        "trap 'rm x' EXIT",
        "alias git=rm; git x",
        "xargs -n1 rm",
        "git\rrm x",
        "a=(rm x)",
        "git status)",
        "(git status",
        "git $(git",
        "-rf x",
        "gi\u{74}\u{200b} x",
    ] {
        assert_eq!(context(text), DimensionPart::OPAQUE, "{text:?}");
        assert!(read_command(text, None).opaque);
    }
    for opening in ["(", "cat <(", "cat >(", "cat $("] {
        let deep = format!("{}git{}", opening.repeat(20), ")".repeat(20));
        assert_eq!(context(&deep), DimensionPart::OPAQUE, "{deep}");
    }
    assert_eq!(context(&format!("{}git", "eval ".repeat(20))), DimensionPart::OPAQUE);
    let deepest = format!("{}git{}", "(".repeat(MAX_COMMAND_DEPTH), ")".repeat(MAX_COMMAND_DEPTH));
    assert_eq!(context(&deepest), "git");
    assert_eq!(context(&format!("git{}", " ".repeat(MAX_COMMAND_BYTES - 3))), "git");
    let many: Vec<String> = (0..100).map(|number| format!("p{number}")).collect();
    assert_eq!(context(&many.join(";")), DimensionPart::OPAQUE);
    assert_eq!(context(&"git ".repeat(MAX_COMMAND_BYTES)), DimensionPart::OPAQUE);
}

#[test]
fn what_was_read_before_it_became_opaque_is_still_told() {
    let command = read_command("rm x; $EDITOR", None);
    assert_eq!(command.parts().collect::<Vec<_>>(), ["rm", DimensionPart::OPAQUE]);
    let after = read_command("$EDITOR; ssh host; rm x", None);
    assert_eq!(after.parts().collect::<Vec<_>>(), ["rm", "ssh", DimensionPart::OPAQUE]);
    let sudo = read_command("sudo -u root rm x", None);
    assert_eq!(sudo.parts().collect::<Vec<_>>(), ["sudo", DimensionPart::OPAQUE]);
}

/// However a call of `rm` is put together from these pieces, it is seen or the whole is opaque.
#[test]
fn a_command_hidden_among_pieces_is_named_or_the_whole_is_opaque() {
    const PIECES: [&str; 30] = [
        "git", " ", "status", "'", "\"", "\\", "\n", ";", "&&", "|", "(", ")", "$(", "`", "{", "}", "<", ">",
        "<<E", "E", "#", "$x", "=", "a", "do", "if", "env ", "sudo ", "bash -c ", "*",
    ];
    let mut seed: u64 = 7;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for _ in 0..100_000 {
        let mut text = String::new();
        for _ in 0..next(12) {
            text.push_str(PIECES[usize::try_from(next(30)).unwrap()]);
        }
        // Total, bounded, and the same each time.
        let command = read_command(&text, None);
        assert_eq!(command, read_command(&text, None));
        assert!(!command.context().is_empty() && command.parts().count() > 0, "{text:?}");
        assert!(command.parts().all(|part| part.len() < 300));
        // A command after it, on a line of its own, is not lost.
        let with = read_command(&format!("{text}\nrm x"), None);
        let is_inside = text.contains(['\'', '"', '\\', '#', '<']);
        assert!(with.opaque || is_inside || with.parts().any(|part| part == "rm"), "{text:?}: {with:?}");
    }
}
