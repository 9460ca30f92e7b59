//! `console`: opens the console in a browser, signed in once with the caller's token.

use std::io;

use bitacora_api::SignInLink;
use bitacora_client::{ClientError, ProblemCode, ServiceUrl, percent_encoded};
use bitacora_data_folder::TokenError;
use clap::Args;
use hyper::Method;
use serde_json::json;

use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::ledger_access::access::event_loop;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::token_advice::token_advice;
use crate::options::global::{DEFAULT_ADDRESS, DEFAULT_LEDGER};
use crate::terminal::browser::open_secret;
use crate::terminal::note;
use crate::terminal::output::printable;

/// The path at which a service makes links.
const LINKS: &str = "/console/links";
const SECONDS_A_MINUTE: u64 = 60;

#[derive(Debug, Args)]
pub(crate) struct ConsoleArguments {
    /// Print the link, and open nothing. It signs in once: keep it as you keep the token.
    #[arg(long)]
    print: bool,
}

/// The reason why no console was opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConsoleFailure {
    #[error(
        "{0}; start it with `bitacora serve`, or `bitacora quickstart` for a demo, or name another with --url"
    )]
    NotThere(#[source] ClientError),
    #[error("{0}{advice}", advice = token_advice(.0))]
    Client(#[from] ClientError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(
        "{0}: this service has no console, so it is of an earlier version; install the present one and start it again"
    )]
    NoConsole(ServiceUrl),
    #[error("a browser reaches no Unix socket; name the service's address with --url http://HOST:PORT")]
    Socket,
    #[error(
        "no browser was opened: {0}; `bitacora console --print` prints the link, to be opened on this machine or through a tunnel"
    )]
    NoBrowser(io::Error),
}

impl CommandFailure for ConsoleFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Client(error) => error.into(),
            Self::Socket => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}

pub(crate) fn run(arguments: &ConsoleArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let global = &context.global;
    let url = global.url.clone().unwrap_or_else(|| ServiceUrl::Tcp(DEFAULT_ADDRESS.to_string()));
    let (ServiceUrl::Tcp(_) | ServiceUrl::Tls { .. }) = url else {
        return Err(ConsoleFailure::Socket.into());
    };
    let link = ask(context, &url)?;
    let address = format!("{url}{}", path(&link, context));
    let opened = if arguments.print { Ok(false) } else { open_secret(&address).map(|()| true) };
    let is_opened = match opened {
        // Nobody asked for the link in a file or a pipe.
        Err(error) if !context.output.is_terminal() => return Err(ConsoleFailure::NoBrowser(error).into()),
        Err(error) => {
            note(&format!("no browser was opened: {error}"));
            false
        }
        Ok(is_opened) => is_opened,
    };
    let shown = if is_opened { format!("{url}/console") } else { address };
    tell(&link, &shown, is_opened, context)
}

/// Returns the path of the link, which leads to the ledger that was named.
fn path(link: &SignInLink, context: &CommandContext) -> String {
    let ledger = &context.global.ledger;
    if ledger.as_str() == DEFAULT_LEDGER && !context.global.is_ledger_named() {
        return link.path.clone();
    }
    let page = format!("/console/{ledger}/now");
    if link.seconds == 0 { page } else { format!("{}&next={}", link.path, percent_encoded(&page)) }
}

/// Says what was opened, or the address to open, and whose identity it carries.
fn tell(
    link: &SignInLink,
    shown: &str,
    is_opened: bool,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let SignInLink { actor, role, seconds, .. } = link;
    if context.is_json() {
        let told =
            json!({"url": shown, "opened": is_opened, "actor": actor, "role": role, "seconds": seconds});
        context.output.json(&told)?;
        return Ok(Exit::Done);
    }
    let opened = if is_opened { "opened " } else { "" };
    context.output.line(printable(&format!("{opened}{shown}")))?;
    context.output.flush()?;
    note(&match seconds {
        0 => format!("this service is open: whoever opens it acts as {actor} ({role})"),
        seconds => {
            let minutes = seconds / SECONDS_A_MINUTE;
            format!("the link signs in as {actor} ({role}), once, within {minutes} minutes")
        }
    });
    Ok(Exit::Done)
}

/// Asks the service for a link, with the caller's own token.
fn ask(context: &CommandContext, url: &ServiceUrl) -> Result<SignInLink, CommandError> {
    let mut service = context.global.client(url).map_err(ConsoleFailure::from)?;
    let asked = event_loop()?.block_on(service.exchange(&Method::POST, LINKS, None, None));
    let answer = asked.map_err(|error| match error {
        error @ ClientError::Connect { .. } => ConsoleFailure::NotThere(error),
        error if error.is_refused_with(ProblemCode::NoSuchResource) => ConsoleFailure::NoConsole(url.clone()),
        error => ConsoleFailure::Client(error),
    })?;
    let strange = || ConsoleFailure::Client(ClientError::Strange { url: url.clone() });
    let link: SignInLink = serde_json::from_slice(&answer).map_err(|_| strange())?;
    // What answers may be no service of ours: it leads nowhere else.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/?=".contains(&byte);
    if !link.path.starts_with("/console") || !link.path.bytes().all(is_plain) {
        return Err(strange().into());
    }
    Ok(link)
}
