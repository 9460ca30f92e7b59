//! Marks of lost inputs: what others put among them hides none, and each is counted once, whoever delivers and wherever that ends.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use super::impostors::{Answers, HeardRequest, listening_to};
use super::traces::{NOWHERE, connected, run};
use super::{AFTER, files, token};
use crate::losses::LossReason;
use crate::{LossCounts, Spool};

fn state(folder: &TempDir) -> PathBuf {
    folder.path().join("state")
}

fn spool(folder: &TempDir) -> Spool {
    Spool::of(&state(folder), &token(7))
}

fn mark(folder: &TempDir, count: usize) {
    (0..count).for_each(|_| spool(folder).losses().mark(LossReason::Spool));
}

fn untold(folder: &TempDir) -> usize {
    spool(folder).losses_untold().unwrap().untold
}

/// The id and the count of each event about losses.
fn told(heard: impl Iterator<Item = HeardRequest>) -> Vec<(String, usize)> {
    let events = heard.filter(|(target, _)| target == "/v1/ledgers/main/events");
    let told = events.map(|(_, body)| {
        let event: Value = serde_json::from_slice(&body).unwrap();
        let evidence = event["data"]["evidence"].as_str().unwrap();
        let count = evidence.split(' ').next().unwrap().parse().unwrap();
        (event["id"].as_str().unwrap().to_owned(), count)
    });
    told.collect()
}

/// Runs a hook that reaches the service, and returns what was told of losses.
fn delivered(folder: &TempDir) -> Vec<(String, usize)> {
    let (url, requests) = listening_to(Answers::Signed);
    run(&connected(folder, &url), AFTER);
    told(requests.try_iter())
}

#[test]
fn what_others_put_among_the_marks_hides_none_and_is_counted_apart() {
    let folder = tempdir().unwrap();
    mark(&folder, 2);
    let lost = state(&folder).join("lost");
    let own = files(&lost);
    for number in 0..2_000 {
        fs::create_dir(lost.join(format!("{number:020}-0123456789abcdef-late.lost"))).unwrap();
        fs::write(lost.join(format!("{number:020}-0123456789abcdef-spool-{:032}.lost", 0)), "").unwrap();
    }
    fs::write(lost.join("00000000000000000000-0.told"), "no report").unwrap();
    symlink(&own[0], lost.join("00000000000000000000-1.lost")).unwrap();
    assert!(Command::new("mkfifo").arg(lost.join("00000000000000000000-2.told")).status().unwrap().success());
    // The mark of another time.
    let renamed = own[1].to_str().unwrap().replace("/lost/0", "/lost/9");
    fs::copy(&own[1], &renamed).unwrap();
    assert_eq!(spool(&folder).losses_untold().unwrap(), LossCounts { untold: 2, foreign: 4_004 });
    let [(_, count)] = delivered(&folder).try_into().unwrap();
    assert_eq!(count, 2);
    assert_eq!(spool(&folder).losses_untold().unwrap(), LossCounts { untold: 0, foreign: 4_004 });
    assert_eq!(delivered(&folder), []);
}

#[test]
fn a_folder_in_the_place_of_a_mark_stops_no_report() {
    let folder = tempdir().unwrap();
    mark(&folder, 1);
    let (file, report) = spool(&folder).next_report().unwrap().unwrap();
    let [mark_file] = files(&state(&folder).join("lost"))
        .into_iter()
        .filter(|path| *path != file)
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    fs::remove_file(&mark_file).unwrap();
    fs::create_dir(&mark_file).unwrap();
    spool(&folder).end_report(&file, &report).unwrap();
    mark(&folder, 1);
    let [(_, count)] = delivered(&folder).try_into().unwrap();
    assert_eq!(count, 1);
}

#[test]
fn where_another_process_tells_of_losses_nothing_is_told_twice() {
    let folder = tempdir().unwrap();
    mark(&folder, 3);
    let turn = spool(&folder).losses().turn().unwrap();
    assert!(spool(&folder).losses().turn().is_none());
    assert_eq!(delivered(&folder), []);
    drop(turn);
    let [(_, count)] = delivered(&folder).try_into().unwrap();
    assert_eq!((count, untold(&folder)), (3, 0));
}

#[test]
fn a_report_that_was_cut_off_is_told_again_as_the_same_event() {
    let folder = tempdir().unwrap();
    mark(&folder, 2);
    // As if the process had ended behind its post, with one of the marks removed.
    let (file, report) = spool(&folder).next_report().unwrap().unwrap();
    let before: Value = serde_json::from_str(&report.event).unwrap();
    let marks: Vec<_> =
        files(&state(&folder).join("lost")).into_iter().filter(|path| *path != file).collect();
    fs::remove_file(&marks[0]).unwrap();
    mark(&folder, 5);
    assert_eq!(untold(&folder), 7);
    let told = delivered(&folder);
    assert_eq!(told.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [2, 5]);
    assert_eq!(before["id"], told[0].0.as_str());
    assert_eq!((untold(&folder), files(&state(&folder).join("lost")).len()), (0, 0));
}

#[test]
fn losses_whose_id_is_taken_are_told_under_another_one() {
    let folder = tempdir().unwrap();
    mark(&folder, 4);
    let (url, requests) = listening_to(Answers::TakenIds);
    run(&connected(&folder, &url), AFTER);
    let told =
        told(requests.try_iter().filter(|(_, body)| String::from_utf8_lossy(body).contains("are lost")));
    let [(first, 4), (second, 4)] = told.as_slice() else { panic!("{told:?}") };
    assert_ne!(first, second);
    assert_eq!(untold(&folder), 0);
}

#[test]
fn losses_are_handed_over_to_a_new_token_or_given_up() {
    let folder = tempdir().unwrap();
    mark(&folder, 3);
    let (_, report) = spool(&folder).next_report().unwrap().unwrap();
    mark(&folder, 2);
    let next = Spool::of(&state(&folder), &token(8));
    assert_eq!(next.losses_untold().unwrap(), LossCounts { untold: 0, foreign: 6 });
    spool(&folder).hand_over(&next).unwrap();
    assert_eq!(spool(&folder).losses_untold().unwrap().untold, 0);
    assert_eq!(next.losses_untold().unwrap(), LossCounts { untold: 5, foreign: 0 });
    assert_eq!(next.next_report().unwrap().unwrap().1.event, report.event);
    assert_eq!(next.discard_losses().unwrap(), 5);
    assert_eq!(files(&state(&folder).join("lost")), Vec::<PathBuf>::new());
}

#[test]
fn a_file_in_the_place_of_the_marks_keeps_nothing_else_from_the_ledger() {
    let folder = tempdir().unwrap();
    run(&connected(&folder, NOWHERE), AFTER);
    fs::write(state(&folder).join("lost"), "").unwrap();
    assert!(spool(&folder).losses_untold().is_err());
    assert_eq!(delivered(&folder), []);
    assert_eq!(spool(&folder).counts().unwrap().files, 0);
}
