//! Money in requests: US dollars in a decimal text, within what a call may cost.

use bitacora_formats::{UsdError, parse_usd};
use bitacora_vocabulary::MicroUsd;

use crate::problem::Problem;
use crate::strict_object::ObjectMembers;

/// The most that is counted, in US dollars.
const MOST_USD: u64 = MicroUsd::MAX.get() / 1_000_000;

/// The reason for which a text is no amount of money that a call may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MoneyError {
    #[error(transparent)]
    Form(#[from] UsdError),
    #[error("it is more than any amount that is counted; {MOST_USD} US dollars are the most")]
    TooMuch,
}

/// A member that is an amount of US dollars, as a text.
pub(crate) fn take_usd(
    members: &mut ObjectMembers<'_>,
    name: &'static str,
) -> Result<Option<MicroUsd>, Problem> {
    let Some(text) = members.take::<String>(name)? else { return Ok(None) };
    micro_usd(&text).map(Some).map_err(|error| members.bad(name, &error))
}

fn micro_usd(text: &str) -> Result<MicroUsd, MoneyError> {
    // Said in dollars, as it was sent, and not in what they are counted in.
    let micros = u64::try_from(parse_usd(text)?).map_err(|_| MoneyError::TooMuch)?;
    MicroUsd::new(micros).map_err(|_| MoneyError::TooMuch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_within_what_a_call_may_cost() {
        assert_eq!(micro_usd("0.0023").map(MicroUsd::get), Ok(2_300));
        assert_eq!(micro_usd("1000000").map(MicroUsd::get), Ok(1_000_000_000_000));
        assert_eq!(micro_usd("1e3"), Err(MoneyError::Form(UsdError)));
        for past in ["1000000.000001", "9007199255", "99999999999999999999999999"] {
            let refused = micro_usd(past).unwrap_err();
            assert_eq!(refused, MoneyError::TooMuch);
            assert_eq!(
                refused.to_string(),
                "it is more than any amount that is counted; 1000000 US dollars are the most"
            );
        }
    }
}
