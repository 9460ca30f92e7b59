//! The reasons for which a page is not shown.

use http::StatusCode;

use crate::interface::InterfaceError;
use crate::limits::MAX_FORM_FIELDS;
use crate::page::Page;
use crate::sign_in::NoRandomness;
use crate::visit::Visit;

/// The statuses of a viewer whom the interface does not take.
const NOT_KNOWN: [u16; 2] = [401, 403];

/// The statuses from this one on tell of the service, not of what was asked.
const SERVER_FAULTS: u16 = 500;
/// The code of a defect.
const DEFECT: &str = "internal";

/// A page that is not shown, or an act that is not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    #[error("There is no such page.")]
    NoSuchPage,
    /// The page is of a thing that is not recorded.
    #[error("{0}")]
    Nothing(String),
    /// The viewer's role may not do it.
    #[error("This takes the role {0}: ask somebody who has it.")]
    Role(&'static str),
    /// A field of the form is not what the page asks for.
    #[error("{0}")]
    Field(String),
    /// The form is another session's, or of no session.
    #[error("This form is of another session. Open the page again, and send it from there.")]
    OtherSession,
    /// The cookie is of a session that this browser did not begin.
    #[error(
        "Nothing was done: this browser did not sign in to this session. Another program on this machine may have set its cookie."
    )]
    NotSignedInHere,
    /// The form names no act as the console's pages do.
    #[error(
        "This form is malformed, or of an older version of the console. Nothing was done. Open the page again, and send it from there."
    )]
    MalformedForm,
    #[error("A form or a query has at most {MAX_FORM_FIELDS} fields.")]
    TooManyFields,
    /// The browser sent cookies of several sessions that live.
    #[error("This browser sent two sessions of this console, and it is not known which one is yours")]
    TwoSessions,
    /// Another site's page asks for something that is for the console's own pages alone.
    #[error("Only the console's own pages may ask for this.")]
    FromElsewhere,
    /// There is no room for another session, or another act of this one.
    #[error("Too much is being done at once. Try again in a moment.")]
    Busy,
    #[error("This page takes no {0}.")]
    Method(http::Method),
    /// Nothing was done. The page has the form as it was sent, and says why, or what would have been.
    #[error("Nothing was done.")]
    Shown(Box<(StatusCode, Page)>),
}

impl PageError {
    /// Nothing was done, and this page says so.
    pub(crate) fn shown(status: StatusCode, page: Page) -> Self {
        Self::Shown(Box::new((status, page)))
    }

    /// Returns what was asked for; none where the interface is there and cannot tell it now, as without a read model.
    pub(crate) fn if_told<T>(asked: Result<T, Self>) -> Result<Option<T>, Self> {
        match asked {
            Ok(told) => Ok(Some(told)),
            Err(Self::Interface(InterfaceError::Refused(problem)))
                if !NOT_KNOWN.contains(&problem.status) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns `true` where the page has this error in the place of what is not known: the service is there, and cannot tell it now, as a read
    /// model stands still, an archive is away, or the disk fails. A defect of the service is another thing, and so is a file for programs.
    pub(crate) fn is_told_on(&self, visit: &Visit) -> bool {
        let is_page = visit.query.get("format").is_none();
        let may_pass = matches!(self, Self::Interface(InterfaceError::Refused(problem)) if problem.status >= SERVER_FAULTS && problem.code != DEFECT);
        is_page && may_pass
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Interface(error) => error.status(),
            Self::Randomness(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NoSuchPage | Self::Nothing(_) => StatusCode::NOT_FOUND,
            Self::Role(_) | Self::OtherSession | Self::NotSignedInHere | Self::FromElsewhere => {
                StatusCode::FORBIDDEN
            }
            Self::Field(_) | Self::MalformedForm | Self::TooManyFields => StatusCode::BAD_REQUEST,
            Self::TwoSessions => StatusCode::CONFLICT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Shown(shown) => shown.0,
        }
    }
}
