//! Witnesses over HTTP (c2sp.org/tlog-witness), made from a policy that names them.

use std::io;
use std::sync::Arc;

use bitacora_formats::limits::MAX_ADDED_COSIGNATURES_BYTES;
use bitacora_formats::{
    ADD_CHECKPOINT_PATH, AddCheckpoint, NoteSignature, PolicyWitness, SIZE_CONTENT_TYPE, TreeHash,
    WitnessKey, WitnessPolicy, parse_added_cosignatures, parse_known_size,
};
use bitacora_ledger::limits::WITNESS_PATIENCE;
use bitacora_ledger::{Witness, WitnessError, Witnesses};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response, StatusCode, Url};

use crate::http::outgoing;
use crate::limits::{MAX_WITNESS_REFUSAL_CHARACTERS, WITNESS_CONNECT_DEADLINE, WITNESS_DEADLINE};

/// The reason for which a policy's witnesses cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum WitnessesError {
    /// An address that is none.
    #[error(
        "witness {witness}: '{url}' is no address of a witness; 'http://' or 'https://', without a query, is expected"
    )]
    Url {
        /// The witness's name in the policy.
        witness: String,
        /// The text that stands in its place.
        url: String,
    },
    /// Too few witnesses that can be asked.
    #[error("the policy's quorum cannot be met by its witnesses with an address; give the others one too")]
    Quorum,
    /// No connections can be made.
    #[error("connections to witnesses cannot be made: {0}; the service did not start")]
    Client(reqwest::Error),
}

/// The witnesses of a policy, each to be asked at its submission prefix. One without an address is asked nothing.
///
/// # Errors
/// A [`WitnessesError`]; also where all that can be asked are not enough for the quorum.
pub fn http_witnesses(policy: WitnessPolicy) -> Result<Witnesses, WitnessesError> {
    let mut witnesses: Vec<Arc<dyn Witness>> = Vec::new();
    for witness in policy.witnesses() {
        match &witness.url {
            Some(url) => witnesses.push(Arc::new(HttpWitness::new(witness, url)?)),
            None => tracing::warn!(witness = witness.name, "the policy gives no address; it is not asked"),
        }
    }
    if !policy.is_met(witnesses.iter().map(|witness| witness.key())) {
        return Err(WitnessesError::Quorum);
    }
    Ok(Witnesses::new(policy, witnesses))
}

/// One witness at its address.
#[derive(Debug)]
struct HttpWitness {
    key: WitnessKey,
    url: Url,
    client: Client,
}

/// A witness's answer, before anything of it is believed.
struct WitnessReply {
    status: StatusCode,
    is_size: bool,
    body: String,
}

impl HttpWitness {
    fn new(witness: &PolicyWitness, prefix: &str) -> Result<Self, WitnessesError> {
        let wrong = || WitnessesError::Url { witness: witness.name.clone(), url: prefix.to_owned() };
        let url = format!("{}/{ADD_CHECKPOINT_PATH}", prefix.trim_end_matches('/'));
        let url = Url::parse(&url).map_err(|_| wrong())?;
        let is_plain = url.query().is_none() && url.fragment().is_none();
        if !outgoing::is_web_address(&url) || !is_plain {
            return Err(wrong());
        }
        let client = outgoing::client(&url, WITNESS_CONNECT_DEADLINE, WITNESS_DEADLINE)
            .map_err(WitnessesError::Client)?;
        Ok(Self { key: witness.key.clone(), url, client })
    }

    async fn ask(&self, body: String) -> Result<WitnessReply, reqwest::Error> {
        let mut response = self.client.post(self.url.clone()).body(body).send().await?;
        let (status, is_size) = (response.status(), is_size(&response));
        let mut body = Vec::new();
        // One byte more than is taken shows that there is more.
        while body.len() <= MAX_ADDED_COSIGNATURES_BYTES {
            let Some(chunk) = response.chunk().await? else { break };
            let left = MAX_ADDED_COSIGNATURES_BYTES + 1 - body.len();
            body.extend_from_slice(chunk.get(..left.min(chunk.len())).unwrap_or_default());
        }
        Ok(WitnessReply { status, is_size, body: String::from_utf8_lossy(&body).into_owned() })
    }

    fn judge(&self, heard: &WitnessReply) -> Result<Vec<NoteSignature>, WitnessError> {
        let witness = self.key.name().to_owned();
        match heard.status {
            StatusCode::OK => parse_added_cosignatures(&heard.body)
                .map_err(|error| self.unreachable(io::Error::other(error))),
            StatusCode::CONFLICT if heard.is_size => match parse_known_size(&heard.body) {
                Ok(size) => Err(WitnessError::Conflict { witness, size }),
                Err(error) => Err(self.unreachable(io::Error::other(error))),
            },
            StatusCode::UNPROCESSABLE_ENTITY => Err(WitnessError::Inconsistent { witness }),
            StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => {
                let what = format!("status {}, {}", heard.status.as_u16(), shown(&heard.body));
                Err(WitnessError::Refused { witness, what })
            }
            status => {
                let what = format!("status {}, {}", status.as_u16(), shown(&heard.body));
                Err(self.unreachable(io::Error::other(what)))
            }
        }
    }

    fn unreachable(&self, source: io::Error) -> WitnessError {
        WitnessError::Unreachable { witness: self.key.name().to_owned(), source }
    }
}

impl Witness for HttpWitness {
    fn key(&self) -> &WitnessKey {
        &self.key
    }

    fn add(&self, old: u64, proof: &[TreeHash], note: &str) -> Result<Vec<NoteSignature>, WitnessError> {
        let asked = AddCheckpoint::new(old, proof, note)
            .map_err(|error| self.unreachable(io::Error::other(error)))?
            .to_string();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|error| self.unreachable(error))?;
        let heard = runtime.block_on(self.ask(asked));
        // A look-up of a name may still be under way on a thread of the runtime's; nobody waits for it.
        runtime.shutdown_background();
        self.judge(&heard.map_err(|error| self.unreachable(outgoing::why(&error)))?)
    }
}

fn is_size(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = content_type.and_then(|value| value.split(';').next()).map(str::trim);
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case(SIZE_CONTENT_TYPE))
}

/// The first line of a text that somebody else wrote, fit for a line of the log.
fn shown(body: &str) -> String {
    let line = body.lines().next().unwrap_or_default();
    let line: String = line.chars().filter(|character| !character.is_control()).collect();
    let line: String = line.chars().take(MAX_WITNESS_REFUSAL_CHARACTERS).collect();
    if line.is_empty() { "without a word".to_owned() } else { format!("'{line}'") }
}

// A turn of the witness publisher waits longer than for one witness, so that each tells its own error.
const _: () = assert!(WITNESS_DEADLINE.as_millis() < WITNESS_PATIENCE.as_millis());

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;

    use super::*;

    fn policy(key: &WitnessKey, url: &str) -> WitnessPolicy {
        WitnessPolicy::parse(format!("witness one {key} {url}\nquorum one\n").as_bytes()).unwrap()
    }

    fn key() -> WitnessKey {
        VKEY.parse().unwrap()
    }

    const VKEY: &str = "witness.example/w1+773a6c12+BMhTrQ8M0rYZrqks7sT9VqJNZJnVhM55JX5Fz9gTm2Cn";

    #[test]
    fn an_address_is_of_http_and_has_nothing_behind_its_path() {
        for url in ["http://127.0.0.1:1", "https://w.example/prefix/", "http://[::1]:9/w"] {
            let witnesses = http_witnesses(policy(&key(), url)).unwrap();
            assert_eq!(witnesses.witnesses.len(), 1, "{url}");
        }
        for url in
            ["ftp://w.example", "w.example", "https://w.example/?x=1", "https://w.example/#x", "unix:/x"]
        {
            let error = http_witnesses(policy(&key(), url)).unwrap_err();
            assert!(matches!(error, WitnessesError::Url { .. }), "{url}: {error}");
        }
    }

    #[test]
    fn a_quorum_that_nobody_can_be_asked_for_is_refused() {
        assert!(matches!(http_witnesses(policy(&key(), "")), Err(WitnessesError::Quorum)));
    }

    #[test]
    fn what_others_write_does_not_break_a_line_of_the_log() {
        assert_eq!(shown("a\u{1b}[31mb\nc"), "'a[31mb'");
        assert_eq!(shown("\n"), "without a word");
        assert_eq!(shown(&"x".repeat(1_000)).len(), MAX_WITNESS_REFUSAL_CHARACTERS + 2);
    }

    /// Listens on the loopback address, and gives this answer to everybody; who was answered is told.
    fn answering(answer: String) -> (String, Receiver<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (answered, told) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (mut reader, mut line) = (BufReader::new(stream.try_clone().unwrap()), String::new());
                let mut length = 0;
                while reader.read_line(&mut line).unwrap() > 2 {
                    if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    line.clear();
                }
                reader.read_exact(&mut vec![0; length]).unwrap();
                answered.send(()).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        (format!("http://{address}/w"), told)
    }

    fn answer(status: &str, header: &str, body: &str) -> String {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\n{header}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    }

    /// Asks a witness that gives this answer, and returns the verdict.
    fn asked(answer: String) -> Result<Vec<NoteSignature>, WitnessError> {
        let (url, _told) = answering(answer);
        let policy = policy(&key(), &url);
        let witness = HttpWitness::new(&policy.witnesses()[0], &url).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        witness.judge(&runtime.block_on(witness.ask("old 0\n".to_owned())).unwrap())
    }

    #[test]
    fn a_conflict_counts_only_as_the_size_that_it_says_it_is() {
        for content_type in ["text/x.tlog.size", "Text/X.Tlog.Size ; charset=utf-8"] {
            let found = asked(answer("409 Conflict", &format!("Content-Type: {content_type}"), "7\n"));
            assert!(
                matches!(found, Err(WitnessError::Conflict { size: 7, .. })),
                "{content_type}: {found:?}"
            );
        }
        for header in ["Content-Type: text/plain", "Content-Type: text/x.tlog.sizes", "X-Type: none"] {
            let found = asked(answer("409 Conflict", header, "7\n"));
            assert!(matches!(found, Err(WitnessError::Unreachable { .. })), "{header}: {found:?}");
        }
    }

    #[test]
    fn what_another_address_answers_is_not_asked_for() {
        for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
            let (elsewhere, told) =
                answering(answer("409 Conflict", &format!("Content-Type: {SIZE_CONTENT_TYPE}"), "7\n"));
            let found = asked(answer(status, &format!("Location: {elsewhere}/add-checkpoint"), ""));
            assert!(matches!(found, Err(WitnessError::Unreachable { .. })), "{status}: {found:?}");
            assert!(told.try_recv().is_err(), "{status}: it was asked there");
        }
    }
}
