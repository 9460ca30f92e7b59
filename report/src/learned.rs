//! The report of what a ledger learned: its sections, made from a service's answers.

use bitacora_api::{AnswererAnswer, ApprovalAnswer, CostAnswer, CostList, GapAnswer, SuggestionAnswer};
use bitacora_formats::to_the_second;

use crate::costs::{cost_headings, sum_costs};
use crate::prices::Prices;
use crate::section::Section;
use crate::words::{gapless_words, position_words, suggestion_subject};

/// The kinds of suggestions, each with a heading and a meaning.
const KINDS: [(&str, &str, &str); 5] = [
    (
        "block",
        "would be blocked",
        "5 or more of the last 50 outcomes failed, or a person rejected 5 or more and none went well",
    ),
    ("review", "would be reviewed", "more than 3 of 10 fail"),
    ("better_model", "a better model does it", "it fails often, and the other model at most half as often"),
    ("cheaper_model", "a cheaper model does it", "nearly as many calls go well, for less"),
    ("promote", "would be promoted", "20 or more went well, the score is 0.9 or more, one failed at most"),
];

/// The characters of a digest that are shown; `imports` accepts them for the whole.
const SHOWN_DIGEST: usize = 12;
/// The mark for a suggestion without an import.
const NO_IMPORT: &str = "-";

/// The answers that a report is made from, all pages of each.
pub struct LearnedAnswers {
    /// The suggestions that wait for an answer.
    pub open: Vec<SuggestionAnswer>,
    /// The suggestions that could be made.
    pub candidates: Vec<SuggestionAnswer>,
    /// The suggestions that waiting imports would support.
    pub imported: Vec<SuggestionAnswer>,
    /// The suggestions that people accepted.
    pub accepted: Vec<SuggestionAnswer>,
    /// The suggestions that people rejected.
    pub rejected: Vec<SuggestionAnswer>,
    /// The costs by model.
    pub by_model: CostList,
    /// The costs by day and model.
    pub by_day: CostList,
    /// The calls with an incomplete record.
    pub gaps: Vec<GapAnswer>,
    /// The number of calls without an outcome.
    pub open_calls: usize,
    /// The approvals that are asked for.
    pub approvals: Vec<ApprovalAnswer>,
    /// The people and policies that answered approvals.
    pub answerers: Vec<AnswererAnswer>,
}

impl LearnedAnswers {
    /// Returns the sections of the report, in reading order. `named` gives an actor its name.
    #[must_use]
    pub fn sections(&self, prices: Option<&Prices>, named: impl Fn(&str) -> String) -> Vec<Section> {
        let mut sections: Vec<_> = KINDS.iter().filter_map(|kind| self.suggested(*kind)).collect();
        if sections.is_empty() {
            sections.push(Section {
                title: "suggestions".to_owned(),
                note: "rules that what was observed here speaks for".to_owned(),
                heading: Vec::new(),
                rows: Vec::new(),
                empty: "for none".to_owned(),
            });
        }
        sections.extend(self.if_imports_counted().into_iter().flatten());
        sections.push(self.answered(&named));
        let model = |cost: &CostAnswer| vec![cost.model.clone()];
        sections.push(costs("spent by model", &self.by_model, model, &["model"], prices));
        let by_day = |cost: &CostAnswer| vec![cost.day.clone(), cost.model.clone()];
        sections.push(costs("spent by day and model", &self.by_day, by_day, &["day", "model"], prices));
        sections.push(self.gaps());
        sections.push(self.waiting());
        sections.push(self.answerers(&named));
        sections
    }

    /// Returns the section of suggestions of one kind; `None` if there are none.
    fn suggested(&self, (kind, title, meaning): (&str, &str, &str)) -> Option<Section> {
        let both = self.open.iter().chain(&self.candidates);
        let of_kind = both.filter(|one| one.kind.as_deref() == Some(kind));
        let row = |suggestion: &SuggestionAnswer| {
            vec![
                suggestion.state.clone(),
                suggestion_subject(suggestion),
                suggestion.reason.clone(),
                position_words(&suggestion.evidence),
                suggestion.suggestion.clone(),
            ]
        };
        let rows: Vec<_> = of_kind.map(row).collect();
        (!rows.is_empty()).then(|| Section {
            title: title.to_owned(),
            note: format!("{meaning}; `bitacora trust accept` takes one that is open, `trust suggest --make` opens candidates"),
            heading: vec!["state", "what", "why", "positions", "suggestion"],
            rows,
            empty: "nothing".to_owned(),
        })
    }

    /// Returns the sections of what waiting imports would suggest, and of what belongs to no completed import; `None`
    /// where nothing waits.
    fn if_imports_counted(&self) -> [Option<Section>; 2] {
        let (mut of_imports, mut of_none) = (Vec::new(), Vec::new());
        for (kind, title, _) in KINDS {
            for suggestion in self.imported.iter().filter(|one| one.kind.as_deref() == Some(kind)) {
                let mut row = vec![
                    title.to_owned(),
                    suggestion_subject(suggestion),
                    suggestion.reason.clone(),
                    position_words(&suggestion.evidence),
                ];
                match suggestion.import.as_deref().filter(|import| *import != NO_IMPORT) {
                    Some(import) => {
                        row.push(import.chars().take(SHOWN_DIGEST).collect());
                        of_imports.push(row);
                    }
                    None => of_none.push(row),
                }
            }
        }
        let heading = ["what for", "what", "why", "positions", "import"];
        let section = |title: &str, note: &str, rows: Vec<Vec<String>>| {
            let columns = rows.first().map(Vec::len)?;
            Some(Section {
                title: title.to_owned(),
                note: note.to_owned(),
                heading: heading.into_iter().take(columns).collect(),
                rows,
                empty: "nothing".to_owned(),
            })
        };
        [
            section(
                "imported, not accepted",
                "this counts for nothing here; it would if `bitacora imports accept IMPORT` let its import count",
                of_imports,
            ),
            section(
                "imported by nothing that came to its end",
                "this counts for nothing here, and there is no import to accept; the same import once more brings it to its end",
                of_none,
            ),
        ]
    }

    fn answered(&self, named: &impl Fn(&str) -> String) -> Section {
        let both = self.accepted.iter().chain(&self.rejected);
        let row = |suggestion: &SuggestionAnswer| {
            let answer = suggestion.answer.as_ref();
            let text = |text: Option<&String>| text.cloned().unwrap_or_else(|| "-".to_owned());
            vec![
                suggestion.state.clone(),
                suggestion.suggestion.clone(),
                suggestion_subject(suggestion),
                text(answer.and_then(|answer| answer.by.as_ref()).map(|by| named(by)).as_ref()),
                text(answer.map(|answer| &answer.position)),
                text(answer.and_then(|answer| answer.note.as_ref())),
            ]
        };
        Section {
            title: "answered".to_owned(),
            note: "what people said to suggestions".to_owned(),
            heading: vec!["state", "suggestion", "what", "by", "position", "note"],
            rows: both.map(row).collect(),
            empty: "no suggestion was answered".to_owned(),
        }
    }

    fn gaps(&self) -> Section {
        let without = |half: &str| self.gaps.iter().filter(|gap| gap.missing == half).count();
        let rows = self.gaps.iter().map(|gap| {
            let (agent, session) = (gap.agent.as_deref(), gap.session.as_deref());
            vec![
                gap.position.clone(),
                to_the_second(&gap.time),
                gap.missing.clone(),
                gap.call.clone(),
                session.or(agent).unwrap_or("-").to_owned(),
                gap.evidence.clone(),
            ]
        });
        Section {
            title: "gaps".to_owned(),
            note: format!(
                "calls of which half of the record is missing: {} without a decision, {} without an outcome; {} more may still get theirs",
                without("decision"),
                without("outcome"),
                self.open_calls.saturating_sub(without("outcome"))
            ),
            heading: vec!["position", "time", "missing", "call", "whose", "where it was seen"],
            rows: rows.collect(),
            empty: gapless_words(false, self.open_calls),
        }
    }

    fn waiting(&self) -> Section {
        let waiting = self.approvals.iter().filter(|approval| approval.call_ended != Some(true));
        let rows = waiting.map(|approval| {
            vec![
                approval.id.clone(),
                to_the_second(&approval.asked),
                approval.tool.clone(),
                approval.context.clone().unwrap_or_else(|| "-".to_owned()),
                approval.agent.clone().unwrap_or_else(|| "-".to_owned()),
                to_the_second(&approval.expires),
            ]
        });
        Section {
            title: "pending approvals".to_owned(),
            note: "an approval's id is `a` and the position where it was asked for; `bitacora approvals` answers".to_owned(),
            heading: vec!["approval", "asked", "tool", "context", "agent", "expires"],
            rows: rows.collect(),
            empty: "no approval is pending".to_owned(),
        }
    }

    fn answerers(&self, named: &impl Fn(&str) -> String) -> Section {
        let rows = self.answerers.iter().map(|one| {
            let counts = [one.approved, one.rejected, one.edited, one.withdrawn, one.expired];
            let within = one.half_within_s.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds} s"));
            let by = std::iter::once(named(&one.by)).chain(counts.map(|count| count.to_string()));
            by.chain([within, format!("{}-{}", one.first, one.last)]).collect()
        });
        Section {
            title: "approvals that were answered".to_owned(),
            note: "by whom, how, and how long half of them waited at most".to_owned(),
            heading: vec![
                "by",
                "approved",
                "rejected",
                "edited",
                "withdrawn",
                "expired",
                "half within",
                "positions",
            ],
            rows: rows.collect(),
            empty: "no approval was answered".to_owned(),
        }
    }
}

fn costs(
    title: &str,
    list: &CostList,
    of: impl Fn(&CostAnswer) -> Vec<Option<String>>,
    names: &[&'static str],
    prices: Option<&Prices>,
) -> Section {
    let of =
        |cost: &CostAnswer| of(cost).into_iter().map(|part| part.unwrap_or_else(|| "-".to_owned())).collect();
    let (sums, total) = sum_costs(list, of, prices);
    let rows = sums.into_iter().map(|sum| [sum.of, sum.spending.cells()].concat());
    Section {
        title: title.to_owned(),
        note: total.note(),
        heading: [names, &cost_headings(prices.is_some())].concat(),
        // The newest rows come first.
        rows: rows.rev().collect(),
        empty: "nothing was spent".to_owned(),
    }
}
