//! The forms of secrets.
//!
//! Redacting twice must equal redacting once, so every rule here keeps to three points. No class of characters that a
//! replacement stands next to holds `[`, so a match never reaches into a replacement. Beside one, a match can only
//! have become shorter, so no rule has an upper bound that a longer run would have failed. And where a rule walks on
//! through text that may hold other secrets, it ends at `[`.

use std::ops::Range;

use super::characters::{NOT_ASCII, begins, character, run};

/// One secret's bytes, all within one string, and what to put in their place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Secret {
    pub(super) range: Range<usize>,
    pub(super) replacement: &'static str,
}

impl Secret {
    fn new(range: Range<usize>, replacement: &'static str) -> Self {
        Self { range, replacement }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bearer,
    ApiKey,
    GitHubToken,
    GitHubFineGrained,
    AwsKeyId,
    AwsSecret,
    UrlPassword,
    PrivateKey,
    SlackToken,
    Jwt,
    OwnToken,
    WebhookSecret,
}

/// The texts behind which a secret may stand or begin, and its kind.
pub(super) const LITERALS: &[(&str, Kind)] = &[
    ("Bearer ", Kind::Bearer),
    ("bearer ", Kind::Bearer),
    ("BEARER ", Kind::Bearer),
    ("sk-", Kind::ApiKey),
    ("ghp_", Kind::GitHubToken),
    ("gho_", Kind::GitHubToken),
    ("ghu_", Kind::GitHubToken),
    ("ghs_", Kind::GitHubToken),
    ("ghr_", Kind::GitHubToken),
    ("github_pat_", Kind::GitHubFineGrained),
    ("AKIA", Kind::AwsKeyId),
    ("ASIA", Kind::AwsKeyId),
    ("ecret_access_key", Kind::AwsSecret),
    ("ECRET_ACCESS_KEY", Kind::AwsSecret),
    ("ecretAccessKey", Kind::AwsSecret),
    ("://", Kind::UrlPassword),
    (":\\/\\/", Kind::UrlPassword),
    ("-----BEGIN ", Kind::PrivateKey),
    ("xox", Kind::SlackToken),
    ("xapp-", Kind::SlackToken),
    ("eyJ", Kind::Jwt),
    ("bt_", Kind::OwnToken),
    ("whsec_", Kind::WebhookSecret),
];

/// The shortest bearer token, in characters, if it holds a digit as nearly all do, and if not.
const MIN_BEARER: usize = 16;
const MIN_BEARER_WITHOUT_DIGIT: usize = 32;
/// The shortest API key after `sk-`, and the shortest unbroken part or the whole that no name in plain words has.
const MIN_API_KEY: usize = 20;
const MIN_API_KEY_WORD: usize = 12;
const MIN_API_KEY_OF_SHORT_WORDS: usize = 40;
/// The shortest GitHub tokens after their prefixes.
const MIN_GITHUB_TOKEN: usize = 36;
const MIN_GITHUB_FINE_GRAINED: usize = 40;
/// A ledger's own tokens after their prefix: 256 bits in base64.
const MIN_OWN_TOKEN: usize = 43;
/// The secret of signed webhooks after its prefix.
const MIN_WEBHOOK_SECRET: usize = 32;
/// AWS: an access key id after its prefix, a secret, and what may stand before a secret.
const AWS_KEY_ID: usize = 16;
const MIN_AWS_SECRET: usize = 40;
const MAX_AWS_SEPARATORS: usize = 16;
/// The longest `user:password@host` looked through.
const MAX_AUTHORITY: usize = 512;
/// A user name this long in a URL is a token too.
const MIN_URL_TOKEN: usize = 20;
/// The words that tell a private key from a certificate.
const PRIVATE_KEY: &[u8] = b"PRIVATE KEY";
/// The longest words between `BEGIN` and the dashes.
const MAX_KEY_LABEL: usize = 48;
/// Base64 this long makes a block a key and not talk about keys; what follows a key without end goes with it in words of
/// the second length.
const MIN_KEY_LINE: usize = 40;
const MIN_KEY_REST: usize = 16;
/// The shortest Slack token after its prefix.
const MIN_SLACK_TOKEN: usize = 20;
/// The shortest parts of a JSON web token: header, payload, signature.
const MIN_JWT_PARTS: [usize; 3] = [16, 8, 16];

const ANY: usize = usize::MAX;

fn is_word(character: u8) -> bool {
    character.is_ascii_alphanumeric() || character == b'_'
}

fn is_dashed_word(character: u8) -> bool {
    is_word(character) || character == b'-'
}

fn is_base64(character: u8) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, b'+' | b'/' | b'=')
}

impl Kind {
    /// Returns `true` if a secret of this kind may begin at `at`. `replaced` is the end of the last secret.
    #[inline]
    pub(super) fn may_begin(self, json: &[u8], at: usize, replaced: usize) -> bool {
        match self {
            // Words around these need not end: it is what follows them that counts.
            Self::AwsSecret | Self::UrlPassword | Self::PrivateKey => true,
            // Their own characters include the dash, so behind a dash they are the middle of something longer.
            Self::ApiKey | Self::SlackToken | Self::Jwt => begins(json, at, replaced, is_dashed_word),
            _ => begins(json, at, replaced, is_word),
        }
    }

    /// The secrets that the literal at `literal` gives away, in order; two where an AWS secret follows its id.
    pub(super) fn secrets(self, json: &[u8], literal: Range<usize>) -> (Option<Secret>, Option<Secret>) {
        let one = match self {
            Self::Bearer => bearer(json, literal.end),
            Self::ApiKey => api_key(json, literal),
            Self::GitHubToken => github_token(json, literal, MIN_GITHUB_TOKEN),
            Self::GitHubFineGrained => github_token(json, literal, MIN_GITHUB_FINE_GRAINED),
            Self::AwsKeyId => {
                let id = aws_key_id(json, literal);
                let secret = id.as_ref().and_then(|id| aws_secret(json, id.range.end));
                return (id, secret);
            }
            Self::AwsSecret => aws_secret(json, literal.end),
            Self::UrlPassword => url_password(json, literal),
            Self::PrivateKey => private_key(json, literal),
            Self::SlackToken => slack_token(json, literal),
            Self::Jwt => json_web_token(json, literal),
            Self::OwnToken => own_token(json, literal),
            Self::WebhookSecret => webhook_secret(json, literal),
        };
        (one, None)
    }
}

fn bearer(json: &[u8], at: usize) -> Option<Secret> {
    let start = run(json, at, 3, |character| character == b' ').end;
    let allowed = |character| is_base64(character) || matches!(character, b'-' | b'.' | b'_' | b'~');
    let token = run(json, start, ANY, allowed);
    let least = if token.digits > 0 { MIN_BEARER } else { MIN_BEARER_WITHOUT_DIGIT };
    (token.length >= least).then(|| Secret::new(start..token.end, "[redacted:bearer]"))
}

fn api_key(json: &[u8], literal: Range<usize>) -> Option<Secret> {
    let key = run(json, literal.end, ANY, is_dashed_word);
    let random = key.longest_word >= MIN_API_KEY_WORD || key.length >= MIN_API_KEY_OF_SHORT_WORDS;
    let is_key = key.length >= MIN_API_KEY && key.digits > 0 && random;
    is_key.then(|| Secret::new(literal.start..key.end, "[redacted:api-key]"))
}

fn github_token(json: &[u8], literal: Range<usize>, least: usize) -> Option<Secret> {
    let token = run(json, literal.end, ANY, is_word);
    (token.length >= least).then(|| Secret::new(literal.start..token.end, "[redacted:github-token]"))
}

/// A token of a ledger's principal.
fn own_token(json: &[u8], literal: Range<usize>) -> Option<Secret> {
    let token = run(json, literal.end, ANY, is_dashed_word);
    (token.length >= MIN_OWN_TOKEN)
        .then(|| Secret::new(literal.start..token.end, "[redacted:bitacora-token]"))
}

fn webhook_secret(json: &[u8], literal: Range<usize>) -> Option<Secret> {
    let secret = run(json, literal.end, ANY, is_base64);
    (secret.length >= MIN_WEBHOOK_SECRET)
        .then(|| Secret::new(literal.start..secret.end, "[redacted:webhook-secret]"))
}

fn aws_key_id(json: &[u8], literal: Range<usize>) -> Option<Secret> {
    let in_id = |character: u8| character.is_ascii_uppercase() || character.is_ascii_digit();
    let id = run(json, literal.end, AWS_KEY_ID, in_id);
    let joined = character(json, id.end).is_some_and(|(character, _)| is_word(character));
    let is_id = id.length == AWS_KEY_ID && !joined;
    is_id.then(|| Secret::new(literal.start..id.end, "[redacted:aws-key-id]"))
}

/// The secret a few separators after `at`, in the same string or in the next one.
fn aws_secret(json: &[u8], at: usize) -> Option<Secret> {
    let mut start = at;
    let mut in_string = true;
    for _ in 0..MAX_AWS_SEPARATORS {
        match json.get(start)? {
            b'"' => {
                in_string = !in_string;
                start += 1;
            }
            b' ' | b'\t' | b'\n' | b'\r' | b':' | b',' => start += 1,
            _ if !in_string => return None,
            _ => match character(json, start)? {
                (b'\t' | b'\n' | b'\r' | b'=' | b'"' | b'\'' | b'\\' | b'>' | b'|', bytes) => start += bytes,
                _ => break,
            },
        }
    }
    let secret = run(json, start, ANY, |character| is_base64(character) && character != b'=');
    let is_secret = in_string && start > at && secret.length >= MIN_AWS_SECRET;
    is_secret.then(|| Secret::new(start..secret.end, "[redacted:aws-secret]"))
}

fn url_password(json: &[u8], literal: Range<usize>) -> Option<Secret> {
    let scheme_ends = json.get(..literal.start)?.last().is_some_and(u8::is_ascii_alphanumeric);
    let authority = |character: u8| {
        character == NOT_ASCII
            || character.is_ascii_graphic()
                && !matches!(
                    character,
                    b'/' | b'?' | b'#' | b'"' | b'\\' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'`'
                )
    };
    let end = run(json, literal.end, MAX_AUTHORITY, authority).end;
    let text = json.get(literal.end..end)?;
    let at_sign = text.iter().rposition(|byte| *byte == b'@')?;
    let (user_info, host) = (text.get(..at_sign)?, text.get(at_sign + 1..)?);
    let colon = user_info.iter().position(|byte| *byte == b':')?;
    let password = user_info.get(colon + 1..)?;
    // `docker://image:tag@sha256:…` has the shape and no secret.
    if !scheme_ends || password.is_empty() || is_placeholder(password) || host.starts_with(b"sha256:") {
        return None;
    }
    let user_is_token = colon >= MIN_URL_TOKEN;
    let start = literal.end + if user_is_token { 0 } else { colon + 1 };
    Some(Secret::new(start..literal.end + at_sign, "[redacted:password]"))
}

/// `$NAME`, `%NAME%`, `***`: written where a password is filled in later or was taken out before.
fn is_placeholder(password: &[u8]) -> bool {
    let name = |text: &[u8]| {
        text.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
    };
    match password {
        [b'$', rest @ ..] => name(rest),
        [b'%', rest @ .., b'%'] => name(rest),
        masked => masked.iter().all(|byte| *byte == b'*') || masked.iter().all(|byte| *byte == b'.'),
    }
}

fn private_key(json: &[u8], literal: Range<usize>) -> Option<Secret> {
    let label = key_label(json, literal.end)?;
    let is_private = json.get(label.clone())?.windows(PRIVATE_KEY.len()).any(|words| words == PRIVATE_KEY);
    let body = is_private.then(|| key_body(json, label.end))?;
    let is_key = body.longest_line >= MIN_KEY_LINE;
    is_key.then(|| Secret::new(literal.start..body.end, "[redacted:private-key]"))
}

/// The words from `at` to the dashes, with the dashes.
fn key_label(json: &[u8], at: usize) -> Option<Range<usize>> {
    let words = run(json, at, MAX_KEY_LABEL, |character| character.is_ascii_uppercase() || character == b' ');
    json.get(words.end..)?.starts_with(b"-----").then_some(at..words.end + 5)
}

struct KeyBody {
    end: usize,
    longest_line: usize,
}

/// Returns the body after a key's first line, up to its last line, or if that is missing to the last piece of base64.
fn key_body(json: &[u8], at: usize) -> KeyBody {
    let mut body = KeyBody { end: at, longest_line: 0 };
    let (mut next, mut line) = (at, 0);
    while let Some((character, bytes)) = character(json, next)
        && !matches!(character, b'"' | b'[')
    {
        let rest = json.get(next..).unwrap_or_default();
        if rest.starts_with(b"-----") {
            if let Some(label) = rest.starts_with(b"-----END ").then(|| key_label(json, next + 9)).flatten() {
                body.end = label.end;
            }
            break;
        }
        next += bytes;
        line = if is_base64(character) { line + 1 } else { 0 };
        body.longest_line = body.longest_line.max(line);
        if line >= MIN_KEY_REST {
            body.end = next;
        }
    }
    body
}

fn slack_token(json: &[u8], literal: Range<usize>) -> Option<Secret> {
    let of_kind = |after: &[u8]| matches!(after, [kind, b'-' | b'.', ..] if kind.is_ascii_lowercase());
    let has_prefix = json.get(literal.clone())? == b"xapp-" || of_kind(json.get(literal.end..)?);
    let token = run(json, literal.end, ANY, |character| is_dashed_word(character) || character == b'.');
    let is_token = has_prefix && token.digits > 0 && token.length >= MIN_SLACK_TOKEN;
    is_token.then(|| Secret::new(literal.start..token.end, "[redacted:slack-token]"))
}

fn json_web_token(json: &[u8], literal: Range<usize>) -> Option<Secret> {
    let [least_header, least_payload, least_signature] = MIN_JWT_PARTS;
    let part = |at, least| Some(run(json, at, ANY, is_dashed_word)).filter(|part| part.length >= least);
    let header = part(literal.start, least_header)?;
    let rest = json.get(header.end..)?;
    if !rest.starts_with(b".eyJ") {
        return None;
    }
    let payload = part(header.end + 1, least_payload)?;
    if json.get(payload.end) != Some(&b'.') {
        return None;
    }
    let signature = part(payload.end + 1, least_signature)?;
    Some(Secret::new(literal.start..signature.end, "[redacted:jwt]"))
}
