//! The data of a report: the answers of a service, and its sections made from them.

use bitacora_api::{AnswererList, ApprovalList, CostAnswer, CostList, GapList, SuggestionList};

use super::section::Section;
use crate::commands::costs::sums::{heading, sums};
use crate::commands::gaps::{no_gap, open_calls};
use crate::commands::trust::suggested::{positions, what_for};
use crate::error::CommandError;
use crate::ledger_access::merge_pages::MergedPages;
use crate::ledger_access::pages::{ListPage, each_page};
use crate::ledger_access::principal_names::KnownPeople;
use crate::ledger_access::service::{ServiceClient, with_query};
use crate::options::prices::Prices;
use crate::terminal::table::to_the_second;
use bitacora_import::JsonObject;

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

/// The pages of a list, joined as JSON and parsed.
struct JoinedPages<T> {
    joined: MergedPages,
    pages: Vec<T>,
}

/// The data of a report.
pub(super) struct ReportData {
    position: String,
    open: JoinedPages<SuggestionList>,
    candidates: JoinedPages<SuggestionList>,
    imported: JoinedPages<SuggestionList>,
    accepted: JoinedPages<SuggestionList>,
    rejected: JoinedPages<SuggestionList>,
    by_model: JoinedPages<CostList>,
    by_day: JoinedPages<CostList>,
    gaps: JoinedPages<GapList>,
    /// The number of calls without an outcome.
    open_calls: usize,
    approvals: JoinedPages<ApprovalList>,
    answerers: JoinedPages<AnswererList>,
    people: KnownPeople,
}

impl ReportData {
    pub(super) fn gather(service: &mut ServiceClient) -> Result<Self, CommandError> {
        let mut suggestions = |state: &str| {
            let path = with_query("suggestions", &[("state", Some(state))]);
            all_pages(service, &path)
        };
        let [open, candidates, imported] =
            [suggestions("open")?, suggestions("candidate")?, suggestions("imported")?];
        let [accepted, rejected] = [suggestions("accepted")?, suggestions("rejected")?];
        Ok(Self {
            position: service.at_least().unwrap_or("-").to_owned(),
            open,
            candidates,
            imported,
            accepted,
            rejected,
            by_model: one_page(service, "costs?by=model")?,
            by_day: one_page(service, "costs?by=day,model")?,
            gaps: all_pages(service, "gaps")?,
            open_calls: open_calls(None, service)?,
            approvals: all_pages(service, "approvals")?,
            answerers: all_pages(service, "answerers")?,
            people: KnownPeople::of(service)?,
        })
    }

    /// Returns the position of the last event that is counted in it.
    pub(super) fn position(&self) -> &str {
        &self.position
    }

    /// Returns the answers as they came, by their subject.
    pub(super) fn to_json(&self) -> String {
        let suggestions = JsonObject::new()
            .raw("open", self.open.json())
            .raw("candidate", self.candidates.json())
            .raw("imported", self.imported.json())
            .raw("accepted", self.accepted.json())
            .raw("rejected", self.rejected.json())
            .end();
        let costs = JsonObject::new()
            .raw("byModel", self.by_model.json())
            .raw("byDayAndModel", self.by_day.json())
            .end();
        JsonObject::new()
            .text("position", &self.position)
            .raw("suggestions", suggestions)
            .raw("costs", costs)
            .raw("gaps", self.gaps.json())
            .raw("approvals", self.approvals.json())
            .raw("answerers", self.answerers.json())
            .end()
    }

    /// Returns the sections of the report, in reading order.
    pub(super) fn sections(&self, prices: Option<&Prices>) -> Vec<Section> {
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
        sections.push(self.answered());
        let model = |cost: &CostAnswer| vec![cost.model.clone()];
        sections.push(costs("spent by model", &self.by_model, model, &["model"], prices));
        let by_day = |cost: &CostAnswer| vec![cost.day.clone(), cost.model.clone()];
        sections.push(costs("spent by day and model", &self.by_day, by_day, &["day", "model"], prices));
        sections.push(self.gaps());
        sections.push(self.waiting());
        sections.push(self.answerers());
        sections
    }

    /// Returns the section of suggestions of one kind; `None` if there are none.
    fn suggested(&self, (kind, title, meaning): (&str, &str, &str)) -> Option<Section> {
        let both = self.open.pages.iter().chain(&self.candidates.pages);
        let of_kind = both.flat_map(|page| &page.suggestions).filter(|one| one.kind.as_deref() == Some(kind));
        let row = |suggestion: &bitacora_api::SuggestionAnswer| {
            vec![
                suggestion.state.clone(),
                what_for(suggestion),
                suggestion.reason.clone(),
                positions(&suggestion.evidence),
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
            let all = self.imported.pages.iter().flat_map(|page| &page.suggestions);
            for suggestion in all.filter(|one| one.kind.as_deref() == Some(kind)) {
                let mut row = vec![
                    title.to_owned(),
                    what_for(suggestion),
                    suggestion.reason.clone(),
                    positions(&suggestion.evidence),
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

    fn answered(&self) -> Section {
        let both = self.accepted.pages.iter().chain(&self.rejected.pages);
        let row = |suggestion: &bitacora_api::SuggestionAnswer| {
            let answer = suggestion.answer.as_ref();
            let text = |text: Option<&String>| text.cloned().unwrap_or_else(|| "-".to_owned());
            vec![
                suggestion.state.clone(),
                suggestion.suggestion.clone(),
                what_for(suggestion),
                text(answer.and_then(|answer| answer.by.as_ref()).map(|by| self.people.named(by)).as_ref()),
                text(answer.map(|answer| &answer.position)),
                text(answer.and_then(|answer| answer.note.as_ref())),
            ]
        };
        Section {
            title: "answered".to_owned(),
            note: "what people said to suggestions".to_owned(),
            heading: vec!["state", "suggestion", "what", "by", "position", "note"],
            rows: both.flat_map(|page| &page.suggestions).map(row).collect(),
            empty: "no suggestion was answered".to_owned(),
        }
    }

    fn gaps(&self) -> Section {
        let gaps = || self.gaps.pages.iter().flat_map(|page| &page.gaps);
        let without = |half: &str| gaps().filter(|gap| gap.missing == half).count();
        let rows = gaps().map(|gap| {
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
            empty: no_gap(false, self.open_calls),
        }
    }

    fn waiting(&self) -> Section {
        let waiting = self.approvals.pages.iter().flat_map(|page| &page.approvals);
        let waiting = waiting.filter(|approval| approval.call_ended != Some(true));
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
            title: "waiting for a person".to_owned(),
            note: "an approval's id is `a` and the position where it was asked for; `bitacora approvals` answers".to_owned(),
            heading: vec!["approval", "asked", "tool", "context", "agent", "expires"],
            rows: rows.collect(),
            empty: "nothing waits".to_owned(),
        }
    }
}

impl ReportData {
    fn answerers(&self) -> Section {
        let all = self.answerers.pages.iter().flat_map(|page| &page.answerers);
        let rows = all.map(|one| {
            let counts = [one.approved, one.rejected, one.edited, one.withdrawn, one.expired];
            let within = one.half_within_s.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds} s"));
            let by = std::iter::once(self.people.named(&one.by)).chain(counts.map(|count| count.to_string()));
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

/// The characters of a digest that are shown; `imports` accepts them for the whole.
const SHOWN_DIGEST: usize = 12;
/// The mark for a suggestion without an import.
const NO_IMPORT: &str = "-";

fn costs(
    title: &str,
    list: &JoinedPages<CostList>,
    of: impl Fn(&CostAnswer) -> Vec<Option<String>>,
    names: &[&'static str],
    prices: Option<&Prices>,
) -> Section {
    let of =
        |cost: &CostAnswer| of(cost).into_iter().map(|part| part.unwrap_or_else(|| "-".to_owned())).collect();
    let (sums, total) = list.pages.first().map(|list| sums(list, of, prices)).unwrap_or_default();
    let rows = sums.into_iter().map(|sum| [sum.of, sum.spending.cells()].concat());
    Section {
        title: title.to_owned(),
        note: total.note(),
        heading: [names, &heading(prices.is_some())].concat(),
        // The newest rows come first.
        rows: rows.rev().collect(),
        empty: "nothing was spent".to_owned(),
    }
}

impl<T> JoinedPages<T> {
    fn json(&self) -> String {
        self.joined.to_json()
    }
}

fn all_pages<T: ListPage>(service: &mut ServiceClient, path: &str) -> Result<JoinedPages<T>, CommandError> {
    let mut all = JoinedPages { joined: MergedPages::new(T::LISTS), pages: Vec::new() };
    each_page(service, path, |text, page| {
        all.joined.take(text)?;
        all.pages.push(page);
        Ok(())
    })?;
    Ok(all)
}

fn one_page<T: serde::de::DeserializeOwned>(
    service: &mut ServiceClient,
    path: &str,
) -> Result<JoinedPages<T>, CommandError> {
    let answer = service.get(path)?;
    let mut joined = MergedPages::new(&[]);
    joined.take(answer.text())?;
    Ok(JoinedPages { joined, pages: vec![answer.read()?] })
}
