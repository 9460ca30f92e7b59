//! Messages of `doctor`, `disconnect` and `mcp`: lost inputs, another program in the service's place, flags that contradict.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use super::{User, said};
use crate::sample::code;

#[test]
fn a_proxy_of_an_enforced_connection_does_not_observe() {
    let user = User::new();
    user.done(&["connect", "claude", "--enforce"]);
    let proxy = ["mcp", "--connection", "claude", "--observe", "--", "true"];
    let refused = user.run(&proxy);
    assert_eq!(code(&refused), 2);
    let command = said(&refused);
    let command = command.split('`').nth(1).unwrap();
    assert!(command.contains("connect claude") && command.ends_with("--observe"), "{command}");
    let words = format!("set -- {command}; shift; \"$0\" \"$@\"");
    let mut shell = Command::new("sh");
    let program = user.command_at(&user.url(), &[]);
    shell.args(["-c", &words]).arg(program.get_program()).current_dir(user.folder.path());
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(shell.status().unwrap().success(), "{command}");
    assert_eq!(code(&user.run(&proxy[..4])), 2, "no command of a server");
    assert!(!said(&user.run(&proxy)).contains("enforced"));
}

#[test]
fn lost_inputs_are_told_by_doctor_and_by_disconnecting() {
    let mut user = User::new();
    user.done(&["connect", "claude"]);
    user.service.terminate().unwrap();
    let state = user.home().join(".local/state/bitacora/claude");
    fs::create_dir_all(&state).unwrap();
    // No input can be kept there.
    fs::write(state.join("spool"), "").unwrap();
    user.hook("lost");
    fs::remove_file(state.join("spool")).unwrap();
    fs::create_dir(state.join("lost/00000000000000000000-0000000000000000-late.lost")).unwrap();
    let faults = user.faults(&["claude"]);
    let (_, found, remedy) = faults.iter().find(|(check, ..)| check == "lost").unwrap();
    assert!(found.contains("1 lost inputs") && found.contains("1 files"), "{found}");
    assert!(remedy.contains("start the service") && remedy.contains("remove"), "{remedy}");
    let refused = user.run(&["disconnect", "claude"]);
    assert_eq!(code(&refused), 1);
    assert!(
        said(&refused).contains("0 events in the spool and 1 marks of lost inputs"),
        "{}",
        said(&refused)
    );
    user.service = user.place.start_closed().unwrap();
    user.done(&["connect", "claude"]);
    let said = user.done(&["disconnect", "claude"]);
    assert!(said.contains("1 lost inputs told to the ledger, 0 given up"), "{said}");
    assert!(user.done(&["read", "--type", "coverage.gap", "--json"]).contains("1 inputs of hooks are lost"));
}

#[test]
fn doctor_believes_no_program_that_took_the_services_place() {
    let mut user = User::new();
    user.done(&["connect", "claude"]);
    let address = user.service.address;
    user.service.terminate().unwrap();
    let listener = TcpListener::bind(address).unwrap();
    let answers = thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let read = stream.read(&mut [0; 4096]).unwrap();
            if read == 0 {
                return;
            }
            // Of the true form.
            let body = r#"{"ledger":"main","position":"9","hash":"00","root":"00","size":"9","time":"2026-11-27T09:00:00Z"}"#;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let faults = user.faults(&["claude"]);
    drop(TcpStream::connect(address).unwrap());
    answers.join().unwrap();
    let (_, found, remedy) = faults.iter().find(|(check, ..)| check == "answers").unwrap();
    assert!(found.contains("not signed"), "{found}");
    assert!(remedy.contains("stop the program that listens at"), "{remedy}");
}
