//! Budgets: what is used of each limit, and how near the end is.

use bitacora_api::{BudgetAnswer, SpendAnswer};
use maud::{Markup, html};

use super::amounts::{dollars, whole};
use super::badge::{Tone, badge};

/// The part from which on a budget is near its end.
const NEAR: f64 = 0.8;

/// One limit of a budget, in one unit, and what is used of it.
pub(crate) struct BudgetUse {
    unit: &'static str,
    spent: f64,
    reserved: f64,
    limit: f64,
}

/// One amount of a budget.
type AmountOf = fn(&SpendAnswer) -> Option<f64>;

/// Returns the uses of a budget's limits, the one nearest to its end first.
pub(crate) fn uses(budget: &BudgetAnswer) -> Vec<BudgetUse> {
    // Counts are far below the largest whole number that `f64` holds.
    let units: [(&'static str, AmountOf); 5] = [
        ("USD", |amounts| amounts.cost_usd.as_deref()?.parse().ok()),
        ("tokens", |amounts| Some(amounts.tokens? as f64)),
        ("calls", |amounts| Some(amounts.calls? as f64)),
        ("steps", |amounts| Some(amounts.steps? as f64)),
        ("s", |amounts| Some(amounts.duration_ms? as f64 / 1000.0)),
    ];
    let all = units.into_iter().filter_map(|(unit, amount)| {
        let limit = amount(&budget.limits)?;
        let of = |amounts| amount(amounts).unwrap_or(0.0);
        Some(BudgetUse { unit, spent: of(&budget.spent), reserved: of(&budget.reserved), limit })
    });
    let mut all: Vec<_> = all.collect();
    all.sort_by(|one, other| other.part().total_cmp(&one.part()));
    all
}

/// Returns the part of a budget that is used, of the limit nearest to its end.
pub(crate) fn used_part(budget: &BudgetAnswer) -> f64 {
    uses(budget).first().map_or(0.0, BudgetUse::part)
}

/// Returns `true` for a budget that is near its end, or spent.
pub(crate) fn is_near_its_end(budget: &BudgetAnswer) -> bool {
    budget.exhausted || used_part(budget) >= NEAR
}

/// Returns the state of a budget.
pub(crate) fn budget_badge(budget: &BudgetAnswer) -> Markup {
    if budget.exhausted {
        badge("spent", Tone::Bad)
    } else if is_near_its_end(budget) {
        badge(&format!("{:.0} % used", 100.0 * used_part(budget)), Tone::Waits)
    } else {
        badge("has room", Tone::Good)
    }
}

impl BudgetUse {
    /// Returns the part that is spent or reserved.
    fn part(&self) -> f64 {
        if self.limit > 0.0 { (self.spent + self.reserved) / self.limit } else { 1.0 }
    }

    fn show(&self, amount: f64) -> String {
        match self.unit {
            "USD" => dollars(amount),
            unit => format!("{} {unit}", whole(amount)),
        }
    }

    /// Returns what is used, in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let reserved = match self.reserved {
            amount if amount > 0.0 => format!(", {} reserved", self.show(amount)),
            _ => String::new(),
        };
        format!("{} of {} spent{reserved}", self.show(self.spent), self.show(self.limit))
    }

    /// Returns the same with a bar.
    pub(crate) fn bar(&self) -> Markup {
        let sentence = self.sentence();
        html! {
            div.used {
                meter min="0" max="1" high=(NEAR) optimum="0" value=(format!("{:.3}", self.part().min(1.0))) aria-label=(sentence) {}
                " " span { (sentence) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(limits: &str, spent: &str, reserved: &str) -> BudgetAnswer {
        let json = format!(
            r#"{{"budget":"b","scope":{{}},"limits":{limits},"period":"day","onExceed":"deny","counted":"together",
                "spent":{spent},"reserved":{reserved},"left":{{}},"exhausted":false}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn a_budget_is_as_near_to_its_end_as_its_nearest_limit() {
        let near = budget(r#"{"costUsd":"50","calls":10}"#, r#"{"costUsd":"5","calls":8}"#, r#"{"calls":1}"#);
        let uses = uses(&near);
        assert_eq!(uses[0].sentence(), "8 calls of 10 calls spent, 1 calls reserved");
        assert_eq!(uses[1].sentence(), "$5.00 of $50.00 spent");
        assert!((used_part(&near) - 0.9).abs() < 1e-9 && is_near_its_end(&near));
        assert!(is_near_its_end(&budget(r#"{"calls":0}"#, "{}", "{}")));
        assert!(!is_near_its_end(&budget("{}", "{}", "{}")));
    }
}
