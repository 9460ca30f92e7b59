//! Names of types: the field's nouns, which a search finds.

use std::collections::BTreeMap;

use super::{SourceFile, assert_none, files};

/// Names that no type has: they say nothing about what it is.
const BANNED: [&str; 179] = [
    "About",
    "ArchivePlace",
    "ArchivePlaceError",
    "Asked",
    "AskedIn",
    "AskedLedgers",
    "Became",
    "Before",
    "Begun",
    "BegunByOne",
    "BegunGeneration",
    "Behind",
    "Brought",
    "BudgetsDue",
    "Busy",
    "Came",
    "CarriedHead",
    "Caused",
    "Circumstances",
    "Claims",
    "Climb",
    "ClockedDesk",
    "Cold",
    "ColdAccess",
    "ColdArchives",
    "ColdError",
    "ColdErrorKind",
    "ColdEvent",
    "ColdFrame",
    "ColdState",
    "ColdStretch",
    "ColdTier",
    "ConnectionPlace",
    "Courier",
    "Declaration",
    "Desk",
    "Different",
    "DimensionsBegun",
    "Doing",
    "Doubt",
    "Draft",
    "Drawing",
    "Examiner",
    "Few",
    "Fitting",
    "Found",
    "FramePlace",
    "Given",
    "GroupPlace",
    "HandedFrame",
    "Hands",
    "HeadsBegun",
    "Heard",
    "Held",
    "HeldBody",
    "Hole",
    "Hot",
    "Hurried",
    "Idle",
    "Inquiry",
    "Inside",
    "Joined",
    "Joining",
    "Joint",
    "Journaled",
    "Keeper",
    "Kept",
    "KeptArchive",
    "KeptArchives",
    "KeptError",
    "KeptReplay",
    "KeptReplayError",
    "Known",
    "Landed",
    "LeavesWanted",
    "LedgerPlace",
    "Liar",
    "Lie",
    "Lifelike",
    "Look",
    "LooseFrame",
    "LostNote",
    "Made",
    "Mail",
    "Meaning",
    "Mender",
    "Misfit",
    "MissOf",
    "NamedBefore",
    "Narrowing",
    "NoArchive",
    "NoCosignature",
    "NoHead",
    "NoLeaves",
    "NoLinks",
    "NoMessage",
    "NoPlan",
    "NoProof",
    "NotAServiceUrl",
    "NotAToken",
    "NotAnOrigin",
    "NotAnchored",
    "NotAppended",
    "NotJson",
    "NotTaken",
    "Notary",
    "Occasion",
    "OneEvent",
    "Outline",
    "Outlook",
    "Over",
    "Overdue",
    "Packer",
    "Packing",
    "Patience",
    "Place",
    "PlacedEnd",
    "PlacedEvent",
    "Prover",
    "Reaction",
    "Recall",
    "Recalled",
    "Recent",
    "Remembered",
    "Repeats",
    "Restorable",
    "Round",
    "Rounds",
    "Said",
    "Seen",
    "Settled",
    "SharedMap",
    "Shares",
    "Shelf",
    "Shelved",
    "Shown",
    "ShownEvent",
    "Silent",
    "Speaks",
    "Spending",
    "Standing",
    "Stops",
    "StreamPlace",
    "StringAhead",
    "Supply",
    "Swapped",
    "Taken",
    "TakenBytes",
    "TakenCalls",
    "Teller",
    "Telling",
    "Together",
    "Told",
    "TooMany",
    "Tried",
    "Trying",
    "Turned",
    "Turning",
    "Turns",
    "UnfitCall",
    "UnfitTables",
    "Unmappable",
    "Unmet",
    "Unpredictable",
    "Unread",
    "Unreadable",
    "Unusable",
    "WaitingCall",
    "WaitingCaller",
    "WaitingFrame",
    "Wanted",
    "Way",
    "WholeBehind",
    "WholeEnd",
    "Within",
    "Word",
    "Words",
    "WrongLeaf",
    "WrongLevel",
];

/// The definitions that one name may have in the workspace.
const MAX_DEFINITIONS: usize = 3;

/// Nouns that many modules may have, each of its own.
const STANDARD: [&str; 9] =
    ["State", "Step", "Verdict", "Outcome", "Error", "Err", "Value", "Target", "Output"];

/// Returns the names of the types that a file defines, with the line of each; associated types of traits are none.
fn types(file: &SourceFile) -> Vec<(usize, &str)> {
    let defined = |line: &'_ str| -> Option<(usize, usize)> {
        let indent = line.len() - line.trim_start().len();
        let mut words = line.trim_start();
        if let Some(rest) = words.strip_prefix("pub") {
            words = rest
                .strip_prefix('(')
                .map_or(rest, |rest| rest.split_once(')').map_or(rest, |(_, rest)| rest));
            words = words.trim_start();
        }
        let (kind, rest) = words.split_once(' ')?;
        let is_associated = kind == "type" && indent > 0;
        if !["struct", "enum", "trait", "union", "type"].contains(&kind) || is_associated {
            return None;
        }
        let begin = line.len() - rest.len();
        let bytes =
            rest.find(|letter: char| !(letter.is_alphanumeric() || letter == '_')).unwrap_or(rest.len());
        Some((begin, begin + bytes))
    };
    let lines = file.text.lines().enumerate();
    lines
        .filter_map(|(index, line)| defined(line).map(|(begin, end)| (index + 1, &line[begin..end])))
        .collect()
}

#[test]
fn types_are_named_by_nouns_that_a_search_finds() {
    let all = files(".rs");
    let mut definitions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in &all {
        for (line, name) in types(file) {
            definitions.entry(name).or_default().push(format!("{}:{line}", file.path));
        }
    }
    let mut problems = Vec::new();
    for (name, places) in definitions.iter().filter(|(name, _)| !name.is_empty()) {
        if BANNED.contains(name) {
            problems
                .extend(places.iter().map(|place| format!("{place}: {name} says nothing about what it is")));
        } else if places.len() > MAX_DEFINITIONS && !STANDARD.contains(name) {
            let places = places.join(" ");
            problems.push(format!("{name} is defined {MAX_DEFINITIONS} times at most: {places}"));
        }
    }
    assert_none(&problems);
}

#[test]
fn a_type_is_found_by_its_definition() {
    let text = "pub(crate) struct Told<'a> {\n    type_of: u8,\n}\nimpl X for Y {\n    type Item = u8;\n}\npub type Way = fn();\nenum E {}\n";
    let file = SourceFile { path: "a.rs".to_owned(), text: text.to_owned() };
    assert_eq!(types(&file), [(1, "Told"), (7, "Way"), (8, "E")]);
}
