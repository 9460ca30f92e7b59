//! The context of a call that was recorded elsewhere, of a tool that may be unregistered here.

use bitacora_vocabulary::Normaliser;
use serde_json::Value;

use super::command::read_command;
use super::path::read_path;
use super::short::shortened;
use super::{NO_CONTEXT, PlaceText};
use crate::tools::compiled_tool::CompiledTool;

/// Members in which the tools of coding agents keep the file or folder they work on.
const PATH_POINTERS: [&str; 4] = ["/file_path", "/notebook_path", "/path", "/directory"];
/// Members in which they keep text for a shell.
const COMMAND_POINTERS: [&str; 2] = ["/command", "/cmd"];

/// Returns the context of a recorded call: the first two folders of its path, told from its working folder on, or the programs of
/// its command. They are found by its tool's registration if there is one, else in members of these names. `-` without either.
pub(crate) fn recorded_context(tool: Option<&CompiledTool>, args: &[u8], cwd: Option<&str>) -> PlaceText {
    let Ok(args) = serde_json::from_slice::<Value>(args) else { return shortened(NO_CONTEXT) };
    let at = |pointer: &str| args.pointer(pointer).and_then(Value::as_str);
    let folders = |text: &str| read_path(text, cwd).ok().map(|path| shortened(&path.context()));
    let found = match tool.map(|tool| tool.context.as_ref()) {
        Some(Some(context)) => match (at(&context.pointer), context.normaliser) {
            (Some(text), Normaliser::Command) => Some(shortened(&read_command(text, cwd).context())),
            (Some(text), Normaliser::Path) => folders(text),
            (Some(text), Normaliser::Host) => super::read_host(text).map(|host| shortened(&host)),
            (None, _) => context.when_absent.as_deref().map(shortened),
        },
        // Its registration says that its calls have none.
        Some(None) => None,
        None => PATH_POINTERS.into_iter().find_map(at).and_then(folders).or_else(|| {
            COMMAND_POINTERS
                .into_iter()
                .find_map(at)
                .map(|text| shortened(&read_command(text, cwd).context()))
        }),
    };
    found.unwrap_or_else(|| shortened(NO_CONTEXT))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn context(args: &Value, cwd: Option<&str>) -> String {
        recorded_context(None, args.to_string().as_bytes(), cwd).to_string()
    }

    #[test]
    fn a_path_is_its_first_two_folders_from_the_working_folder_on() {
        let cwd = Some("/home/ana/work");
        for (path, expected) in [
            ("/home/ana/work/src/api/deep/a.rs", "src/api"),
            ("src/a.rs", "src"),
            ("a.rs", "."),
            ("/etc/ssh/keys/id", "/etc/ssh"),
        ] {
            assert_eq!(context(&json!({"file_path": path}), cwd), expected, "{path}");
        }
        assert_eq!(context(&json!({"path": "../outside"}), cwd), "-");
        assert_eq!(context(&json!({"notebook_path": "nb/a.ipynb", "path": 7}), cwd), "nb");
    }

    #[test]
    fn a_command_is_what_it_runs() {
        for (command, expected) in [
            ("git status && rm -rf x", "rm"),
            ("cargo test", "cargo test"),
            ("git status", "git status"),
            ("RUST_LOG=debug cargo test", "opaque"),
            ("$(which git) status", "opaque"),
            ("", "opaque"),
        ] {
            assert_eq!(context(&json!({"command": command}), None), expected, "{command}");
        }
    }

    #[test]
    fn what_names_neither_has_no_context() {
        for args in [json!({"query": "x"}), json!([1]), json!("command"), json!(null)] {
            assert_eq!(context(&args, None), "-", "{args}");
        }
        assert_eq!(recorded_context(None, b"not json", None).as_str(), "-");
    }
}
