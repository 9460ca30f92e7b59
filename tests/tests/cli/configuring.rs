//! Tests of the settings of `serve`: the layers, the faults of files, masks, and reloads at SIGHUP.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::sample::{Sample, code, command, told, why};

mod reloading;

/// A secret in the URL of a webhook.
const SECRET: &str = "hunter2";
/// The longest that a command may take on a file that is none.
const PATIENCE: Duration = Duration::from_secs(20);

/// Writes a settings file that its owner alone reads, and returns its path.
fn file(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("bitacora.toml");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path
}

/// Runs a command on the settings, in this folder.
fn config(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut config = command(&["config"]);
    config.args(arguments).current_dir(folder).env_remove("BITACORA_CONFIG").env_remove("RUST_LOG");
    config.envs(variables.iter().copied()).output().unwrap()
}

/// Returns the row of a setting.
fn row(shown: &Output, name: &str) -> Value {
    let settings = told(shown)["settings"].as_array().unwrap().clone();
    settings.into_iter().find(|setting| setting["name"] == name).unwrap()
}

/// A setting of each kind, with its value in each layer.
struct Layers {
    name: &'static str,
    built_in: Value,
    in_file: (&'static str, Value),
    in_variable: (&'static str, Value),
    on_line: (&'static str, Value),
}

fn layers() -> [Layers; 6] {
    let text = |text: &str| json!(text);
    [
        Layers {
            name: "listen",
            built_in: text("127.0.0.1:7717"),
            in_file: ("\"127.0.0.1:1001\"", text("127.0.0.1:1001")),
            in_variable: ("127.0.0.1:1002", text("127.0.0.1:1002")),
            on_line: ("127.0.0.1:1003", text("127.0.0.1:1003")),
        },
        Layers {
            name: "idle-heads",
            built_in: json!(3_600),
            in_file: ("0x10", json!(16)),
            in_variable: ("17", json!(17)),
            on_line: ("18", json!(18)),
        },
        Layers {
            name: "open",
            built_in: json!(false),
            in_file: ("true", json!(true)),
            in_variable: ("false", json!(false)),
            on_line: ("true", json!(true)),
        },
        Layers {
            name: "create",
            built_in: json!([]),
            in_file: ("[\"a\", \"b\"]", json!(["a", "b"])),
            in_variable: ("c,d", json!(["c", "d"])),
            on_line: ("e", json!(["e"])),
        },
        Layers {
            name: "data",
            built_in: json!(null),
            in_file: ("\"/in/file\"", text("/in/file")),
            in_variable: ("/in/variable", text("/in/variable")),
            on_line: ("/on/line", text("/on/line")),
        },
        Layers {
            name: "anchor",
            built_in: text("/nonexistent/bitacora/keyring.anchors"),
            in_file: ("\"s3://bucket/file\"", text("s3://bucket/file")),
            in_variable: ("none", text("none")),
            on_line: ("/on/line", text("/on/line")),
        },
    ]
}

#[test]
fn an_option_beats_a_variable_that_beats_the_file_that_beats_the_default() {
    let folder = tempfile::tempdir().unwrap();
    for Layers { name, built_in, in_file, in_variable, on_line } in layers() {
        let path = file(folder.path(), &format!("# a comment\n{name} = {}\n", in_file.0));
        let (path, option) = (path.to_str().unwrap(), format!("--{name}={}", on_line.0));
        let variable = format!("BITACORA_{}", name.to_uppercase().replace('-', "_"));
        let set = [(variable.as_str(), in_variable.0)];
        let seen = |arguments: &[&str], variables: &[(&str, &str)]| {
            let shown = config(folder.path(), arguments, variables);
            assert_eq!(code(&shown), 0, "{name}: {}", String::from_utf8_lossy(&shown.stderr));
            let row = row(&shown, name);
            (row["value"].clone(), row["source"].clone(), row["at"].clone())
        };
        let of = |value: &Value, source: &str, at: Value| (value.clone(), json!(source), at);
        assert_eq!(seen(&["show", "--json"], &[]), of(&built_in, "default", json!(null)), "{name}");
        let file_alone = of(&in_file.1, "file", json!(2));
        assert_eq!(seen(&["show", "--json", path], &[]), file_alone, "{name}");
        assert_eq!(seen(&["show", "--json"], &[("BITACORA_CONFIG", path)]), file_alone, "{name}");
        let set_too = seen(&["show", "--json", "--config", path], &set);
        assert_eq!(set_too, of(&in_variable.1, "env", json!(variable)), "{name}");
        let on_line_too = seen(&["show", "--json", path, &option], &set);
        assert_eq!(on_line_too, of(&on_line.1, "flag", json!(null)), "{name}");
        let without_variable = seen(&["show", "--json", path, &option], &[]);
        assert_eq!(without_variable, of(&on_line.1, "flag", json!(null)), "{name}");
    }
}

#[test]
fn a_path_in_the_file_begins_at_its_folder_and_one_on_the_line_where_the_program_runs() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let text = "data = \"data\"\nanchor = \"anchors\"\nkeyring = \"/keyring\"\narchive-store = \"gs://b/x\"\nwarm-for = \"52w\"\n";
    let path = file(folder.path(), text);
    let shown = config(elsewhere.path(), &["show", "--json", path.to_str().unwrap()], &[]);
    let below = |name: &str| json!(folder.path().join(name).to_str().unwrap());
    assert_eq!(
        (row(&shown, "data")["value"].clone(), row(&shown, "anchor")["value"].clone()),
        (below("data"), below("anchors"))
    );
    assert_eq!(
        (&row(&shown, "keyring")["value"], &row(&shown, "archive-store")["value"]),
        (&json!("/keyring"), &json!("gs://b/x"))
    );
    assert_eq!(row(&shown, "warm-for")["value"], "52w");
    let on_line =
        config(elsewhere.path(), &["show", "--json", path.to_str().unwrap(), "--data", "data"], &[]);
    assert_eq!(row(&on_line, "data")["value"], "data");
}

#[test]
fn a_fault_of_the_file_is_told_with_its_line_and_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    for (text, line, said) in [
        ("\nlisen = \"x\"", 2, "unknown key `lisen`; did you mean `listen`?"),
        ("idle_heads = 5", 1, "did you mean `idle-heads`?"),
        ("tls = true", 1, "unknown key `tls`; `bitacora config show` lists the keys"),
        ("json = true", 1, "unknown key `json`"),
        ("config = \"x\"", 1, "`config` is for the command line alone, as --config"),
        ("new-anchor = true", 1, "`new-anchor` is for the command line alone"),
        ("[serve]\nlisten = \"x\"", 1, "found the table `serve`, expected keys without tables"),
        ("serve.listen = \"x\"", 1, "found the table `serve`"),
        ("[[listen]]", 1, "`listen`: found an array, expected a string"),
        ("listen.port = 7", 1, "`listen`: found a table, expected a string"),
        ("idle-heads = \"5\"", 1, "`idle-heads`: found a string, expected an integer from 0 on"),
        ("idle-heads = -5", 1, "found an integer out of range"),
        ("idle-heads = 18446744073709551616", 1, "found an integer out of range"),
        ("idle-heads = 5.5", 1, "found a float"),
        ("idle-heads = 0", 1, "`idle-heads`: invalid value '0'"),
        ("keyring = 5", 1, "`keyring`: found an integer, expected a string"),
        ("keyring = 1979-05-27", 1, "found a time"),
        ("data = \"\"", 1, "`data`: a value is required"),
        ("open = 1", 1, "`open`: found an integer, expected true or false"),
        ("create = \"main\"", 1, "`create`: found a string, expected an array of strings"),
        ("create = [\n\"a\",\n1]", 1, "found an array with something else, expected an array of strings"),
        ("create = [[\"a\"]]", 1, "found an array of arrays"),
        ("create = [\"../a\"]", 1, "`create`: invalid value '../a'"),
        ("allow-origin = [\"*\"]", 1, "not an origin"),
        ("require-models = [\"nope\"]", 1, "`nope` is no read model"),
        ("log = \"xml\"", 1, "[possible values: text, json]"),
        ("log-filter = \"a=b=c\"", 1, "`log-filter`: invalid value"),
        ("listen = \"a\\u0000b\"", 1, "found a NUL character"),
        ("listen = \"127.0.0.1:1\"\n\nlisten = \"127.0.0.1:2\"", 3, "not TOML: duplicate key"),
        ("listen = \"a", 1, "not TOML: "),
        ("open = true\n= 5", 2, "not TOML: "),
    ] {
        let path = file(folder.path(), text);
        for arguments in [["check", path.to_str().unwrap()], ["show", path.to_str().unwrap()]] {
            let refused = config(folder.path(), &arguments, &[]);
            let told = why(&refused);
            assert_eq!(code(&refused), 2, "{text}: {told}");
            assert!(
                told.contains(&format!("bitacora.toml, line {line}: ")) && told.contains(said),
                "{text}: {told}"
            );
        }
    }
}

#[test]
fn serve_refuses_what_check_refuses_and_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path =
        file(folder.path(), "data = \"data\"\nkeyring = \"keyring\"\ncreate = [\"main\"]\nlisen = \"x\"\n");
    let refused = command(&["serve", "--config"]).arg(&path).output().unwrap();
    assert_eq!(code(&refused), 2);
    assert!(why(&refused).contains("did you mean `listen`?"), "{}", why(&refused));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the settings file alone");
}

/// Runs `config check` on a file, which must end soon.
fn checked_soon(path: &Path) -> Output {
    let began = Instant::now();
    let mut timed = Command::new("timeout");
    let plain = command(&["config", "check"]);
    timed.arg(PATIENCE.as_secs().to_string()).arg(plain.get_program()).args(plain.get_args()).arg(path);
    let output = timed.output().unwrap();
    assert!(began.elapsed() < PATIENCE, "{}", path.display());
    output
}

#[test]
fn a_file_that_is_none_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    fs::write(here("long"), "# a line of a comment\n".repeat(10 * 1024 * 1024 / 22)).unwrap();
    fs::write(here("bytes"), b"# \xff\nlisten = \"\xc3(\"\n").unwrap();
    fs::write(here("arrays"), format!("create = {}", "[".repeat(60_000))).unwrap();
    fs::write(here("tables"), format!("create = {}", "{a=".repeat(20_000))).unwrap();
    fs::write(here("dots"), format!("{}b = 1", "a.".repeat(30_000))).unwrap();
    fs::write(here("key"), format!("{} = 1", "k".repeat(60_000))).unwrap();
    fs::create_dir(here("folder")).unwrap();
    mknodat(CWD, here("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for (name, exit, said) in [
        ("long", 2, "longer than 65536 bytes"),
        ("bytes", 2, "line 1: found bytes that are not UTF-8"),
        ("arrays", 2, "not TOML"),
        ("tables", 2, "not TOML"),
        ("dots", 2, "line 1: "),
        ("key", 2, "unknown key `kkkk"),
        ("folder", 1, "found a folder, expected a regular file"),
        ("pipe", 1, "found a pipe, expected a regular file"),
        ("missing", 1, "No such file"),
    ] {
        let refused = checked_soon(&here(name));
        let told = why(&refused);
        assert!(code(&refused) == exit && told.contains(said), "{name}: {} {told}", code(&refused));
        assert!(told.len() < 1_000, "{name}: {} bytes", told.len());
    }
}

#[test]
fn a_file_that_every_user_may_write_is_refused_and_one_with_a_secret_that_they_may_read() {
    let folder = tempfile::tempdir().unwrap();
    let secret = format!("idle-heads = 5\nnotify = \"https://hooks.example/{SECRET}\"\n");
    for (text, mode, refusal) in [
        ("idle-heads = 5\n", 0o644, None),
        ("idle-heads = 5\n", 0o666, Some("found mode 666, which lets every user write it")),
        (secret.as_str(), 0o640, None),
        (secret.as_str(), 0o644, Some("line 2: found mode 644, which lets every user read `notify`")),
    ] {
        let path = file(folder.path(), text);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let shown = config(folder.path(), &["show", path.to_str().unwrap()], &[]);
        match refusal {
            None => assert_eq!(code(&shown), 0, "{}", String::from_utf8_lossy(&shown.stderr)),
            Some(said) => {
                assert!(code(&shown) == 2 && why(&shown).contains(said), "{}", why(&shown));
            }
        }
    }
}

#[test]
fn no_output_shows_a_value_that_may_be_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("https://user:{SECRET}@hooks.example/{SECRET}?key={SECRET}");
    let bad = format!("no address {SECRET}");
    let anchor = format!("s3://key:{SECRET}@bucket/x");
    let mut outputs = Vec::new();
    for (name, value) in [("notify", &url), ("notify", &bad), ("anchor", &anchor), ("archive-store", &anchor)]
    {
        let path = file(
            folder.path(),
            &format!("{name} = \"{value}\"\ndata = \"data\"\nnotify-secret-file = \"s\"\n"),
        );
        let (path, option) = (path.to_str().unwrap(), format!("--{name}={value}"));
        let variable = format!("BITACORA_{}", name.to_uppercase().replace('-', "_"));
        for arguments in
            [&["show"][..], &["show", "--json"], &["show", "--wide"], &["check"], &["check", "--json"]]
        {
            outputs.push(config(folder.path(), &[arguments, &[path]].concat(), &[]));
            outputs.push(config(folder.path(), &[arguments, &[&option]].concat(), &[]));
            outputs.push(config(folder.path(), arguments, &[(&variable, value)]));
        }
    }
    // A line that is no TOML, and a value of another type.
    for text in
        [format!("notify = \"{SECRET}\n"), format!("notify = [\"{SECRET}\"]"), format!("notify = {SECRET}")]
    {
        let path = file(folder.path(), &text);
        outputs.push(config(folder.path(), &["show", path.to_str().unwrap()], &[]));
    }
    for output in outputs {
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains(SECRET), "{text}");
    }
    let path = file(folder.path(), &format!("notify = \"{url}\"\n"));
    let shown = config(folder.path(), &["show", "--json", path.to_str().unwrap()], &[]);
    let row = row(&shown, "notify");
    assert_eq!((&row["value"], &row["masked"], &row["source"]), (&json!(null), &json!(true), &json!("file")));
}

#[test]
fn a_variable_that_is_no_setting_is_told_with_the_nearest() {
    let sample = Sample::new(1);
    let (data, keyring) = (sample.data(), sample.keyring_file());
    let text = format!("data = \"{}\"\nkeyring = \"{}\"\n", data.display(), keyring.display());
    let path = file(sample.folder.path(), &text);
    let variables =
        [("BITACORA_LISEN", "x"), ("BITACORA_PASSPHRASE", "x"), ("BITACORA_TOKEN", "x"), ("BITACORE_X", "x")];
    let checked = config(sample.folder.path(), &["check", path.to_str().unwrap()], &variables);
    assert_eq!(
        (code(&checked), why(&checked).trim_end()),
        (0, "bitacora: the variable BITACORA_LISEN is no setting; did you mean BITACORA_LISTEN?")
    );
    assert!(String::from_utf8_lossy(&checked.stdout).contains("2 of "), "{checked:?}");
}

#[test]
fn check_finds_what_serve_would_and_what_is_not_there() {
    let sample = Sample::new(1);
    let (data, keyring) = (sample.data(), sample.keyring_file());
    let good = format!("data = \"{}\"\nkeyring = \"{}\"\n", data.display(), keyring.display());
    let elsewhere = sample.folder.path().join("elsewhere");
    let of = |data: &Path, keyring: &Path, more: &str| {
        format!("data = \"{}\"\nkeyring = \"{}\"\n{more}", data.display(), keyring.display())
    };
    for (text, exit, said) in [
        (good.clone(), 0, ""),
        (format!("{good}open = true\nlisten = \"0.0.0.0:0\"\n"), 2, "loopback"),
        (String::new(), 2, "no data folder"),
        (of(&data, &data.join("keyring"), ""), 1, "keyring"),
        (of(&elsewhere, &keyring, ""), 1, "`data`: found nothing at "),
        (of(&data, &elsewhere, ""), 1, "`keyring`: found nothing at "),
        (of(&elsewhere, &elsewhere.with_extension("keyring"), "create = [\"main\"]\n"), 0, ""),
        (of(&data, &keyring, "unix = \"/nonexistent/socket\"\n"), 1, "`unix`: found nothing at /nonexistent"),
        (of(&data, &keyring, "witnesses = \"/nonexistent\"\n"), 1, "/nonexistent"),
        (of(&data, &keyring, "notify = \"http://x/\"\n"), 2, "--notify-secret-file"),
        (of(&data, &keyring, "notify = \"http://x/\"\nnotify-secret-file = \"none\"\n"), 1, "none"),
        (
            of(&data, &keyring, &format!("anchor = \"{}\"\n", data.display())),
            2,
            "the anchor lies in the data folder",
        ),
    ] {
        let path = file(sample.folder.path(), &text);
        let checked = config(sample.folder.path(), &["check", path.to_str().unwrap()], &[]);
        let told = String::from_utf8_lossy(&checked.stderr);
        assert!(code(&checked) == exit && told.contains(said), "{text}: {} {told}", code(&checked));
    }
    assert!(!elsewhere.exists());
}

#[test]
fn options_that_contradict_each_other_are_refused_and_a_flag_beats_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "anchor-required = true\n");
    let path = path.to_str().unwrap();
    let both = config(folder.path(), &["show", "--anchor-required", "--anchor-optional"], &[]);
    assert!(code(&both) == 2 && why(&both).contains("--anchor-optional"), "{}", why(&both));
    let two = config(folder.path(), &["show", path, "--config", path], &[]);
    assert!(code(&two) == 2 && why(&two).contains("expected one of them"), "{}", why(&two));
    assert_eq!(code(&config(folder.path(), &["show", path, "--anchor-optional"], &[])), 0);
    let denied = config(folder.path(), &["show", "--json", path, "--anchor-required=false"], &[]);
    assert_eq!(row(&denied, "anchor-required")["value"], false);
}

#[test]
fn show_derives_what_is_not_set_as_serve_does() {
    let folder = tempfile::tempdir().unwrap();
    let shown = config(folder.path(), &["show", "--json", "--data", "/d", "--keyring", "/k"], &[]);
    let value = |name: &str| row(&shown, name)["value"].clone();
    assert_eq!(
        [value("anchor"), value("archive-store"), value("log-filter")],
        ["/k.anchors", "/d/archives", "info"]
    );
    let shown = config(folder.path(), &["show", "--json"], &[("RUST_LOG", "warn")]);
    let filter = row(&shown, "log-filter");
    assert_eq!((&filter["value"], &filter["at"]), (&json!("warn"), &json!("RUST_LOG")));
}

/// The settings that a line of the example shows, as comments or not.
fn shown_in(example: &str) -> Vec<String> {
    let lines = example.lines().map(|line| line.strip_prefix('#').unwrap_or(line));
    let is_setting = |line: &&str| line.starts_with(|letter: char| letter.is_ascii_lowercase());
    lines.filter(is_setting).filter(|line| line.contains(" = ")).map(str::to_owned).collect()
}

#[test]
fn the_example_is_valid_and_has_every_setting() {
    let example = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/bitacora.toml");
    let checked = config(example.parent().unwrap(), &["check", example.to_str().unwrap()], &[]);
    assert_eq!(code(&checked), 0, "{}", String::from_utf8_lossy(&checked.stderr));
    let folder = tempfile::tempdir().unwrap();
    let lines = shown_in(&fs::read_to_string(&example).unwrap());
    let whole = file(folder.path(), &lines.join("\n"));
    let shown = config(folder.path(), &["show", "--json", whole.to_str().unwrap()], &[]);
    assert_eq!(code(&shown), 0, "{}", String::from_utf8_lossy(&shown.stderr));
    for setting in told(&shown)["settings"].as_array().unwrap() {
        assert_eq!(setting["source"], "file", "the example lacks {}", setting["name"]);
    }
}
