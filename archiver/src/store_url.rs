//! Addresses in an object store, as people write them: `s3://bucket/prefix`.

use std::fmt;
use std::str::FromStr;

/// The text between a scheme and the rest.
const SEPARATOR: &str = "://";

/// Bytes of a bucket's name, and of a whole prefix.
const MAX_NAME_BYTES: usize = 512;

/// A bucket, or container, and a prefix in it. It holds no credentials, so that it can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreUrl {
    scheme: Scheme,
    bucket: String,
    prefix: String,
}

/// The kind of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `s3`: Amazon S3, or what speaks like it.
    S3,
    /// `gs`: Google Cloud Storage.
    Google,
    /// `az`: Azure Blob Storage.
    Azure,
}

/// The reasons for which a text is not the place of a store. They are told without the text: somebody may have put a secret into it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreUrlError {
    /// No scheme, or one of which no store is known.
    #[error(
        "no store has the scheme '{0}'; write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX"
    )]
    Scheme(String),
    /// Something before an `@`.
    #[error(
        "a URL with credentials is not taken, since it is shown; set them in the environment, as AWS_ACCESS_KEY_ID and the like"
    )]
    Credentials,
    /// A query or a fragment.
    #[error(
        "a URL of a store has no '?' and no '#'; what the store needs to be told is set in the environment"
    )]
    Query,
    /// A bucket's name that no store gives.
    #[error(
        "the bucket's name must be 1 to {MAX_NAME_BYTES} letters, digits, '-', '_' and '.', and begin with a letter or digit"
    )]
    Bucket,
    /// A prefix that would mean different things to different stores.
    #[error(
        "the prefix must be names between single '/', of letters, digits, '-', '_', '.' and '=', none of them '.' or '..'"
    )]
    Prefix,
}

impl StoreUrl {
    /// Returns `true` if a text means a store, well written or not, and no folder.
    #[must_use]
    pub fn is_store_url(text: &str) -> bool {
        text.contains(SEPARATOR)
    }

    /// The kind of store.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The bucket or container.
    #[must_use]
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The key of what has this name under the prefix.
    #[must_use]
    pub fn key_of(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }

    /// The same, with the store: what it is shown as.
    #[must_use]
    pub fn shown_key_of(&self, name: &str) -> String {
        format!("{}{SEPARATOR}{}/{}", self.scheme, self.bucket, self.key_of(name))
    }
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        let (scheme, rest) =
            text.split_once(SEPARATOR).ok_or_else(|| StoreUrlError::Scheme(String::new()))?;
        let scheme = match scheme {
            "s3" => Scheme::S3,
            "gs" => Scheme::Google,
            "az" => Scheme::Azure,
            // The text there is not repeated unless it looks like one.
            other if other.len() <= 16 && other.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                return Err(StoreUrlError::Scheme(other.to_owned()));
            }
            _ => return Err(StoreUrlError::Scheme(String::new())),
        };
        if rest.contains('@') {
            return Err(StoreUrlError::Credentials);
        }
        if rest.contains(['?', '#']) {
            return Err(StoreUrlError::Query);
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if !is_name(bucket, "-_.") || !bucket.starts_with(|first: char| first.is_ascii_alphanumeric()) {
            return Err(StoreUrlError::Bucket);
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_part = |part: &str| is_name(part, "-_.=") && part != "." && part != "..";
        if prefix.len() > MAX_NAME_BYTES || !(prefix.is_empty() || prefix.split('/').all(is_part)) {
            return Err(StoreUrlError::Prefix);
        }
        Ok(Self { scheme, bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

fn is_name(text: &str, marks: &str) -> bool {
    let is_of_it = |one: char| one.is_ascii_alphanumeric() || marks.contains(one);
    (1..=MAX_NAME_BYTES).contains(&text.len()) && text.chars().all(is_of_it)
}

impl fmt::Display for Scheme {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::S3 => "s3",
            Self::Google => "gs",
            Self::Azure => "az",
        })
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.shown_key_of("").trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_a_bucket_and_what_lies_under_its_prefix() {
        for (text, shown, key) in [
            ("s3://bucket", "s3://bucket", "main.head"),
            ("gs://bucket/", "gs://bucket", "main.head"),
            ("az://heads/a/b.c/", "az://heads/a/b.c", "a/b.c/main.head"),
        ] {
            let url: StoreUrl = text.parse().unwrap();
            assert_eq!((url.to_string().as_str(), url.key_of("main.head").as_str()), (shown, key));
        }
    }

    #[test]
    fn what_is_not_one_is_refused_without_being_repeated() {
        let scheme = |name: &str| StoreUrlError::Scheme(name.to_owned());
        for (text, expected) in [
            ("https://bucket/x", scheme("https")),
            ("S3://bucket", scheme("S3")),
            ("secret key://bucket", scheme("")),
            ("bucket/x", scheme("")),
            ("s3://key:secret@bucket/x", StoreUrlError::Credentials),
            ("s3://bucket/x?sig=secret", StoreUrlError::Query),
            ("s3://bucket/x#secret", StoreUrlError::Query),
            ("s3://", StoreUrlError::Bucket),
            ("s3:///x", StoreUrlError::Bucket),
            ("s3://.x", StoreUrlError::Bucket),
            ("s3://buck:et", StoreUrlError::Bucket),
            ("s3://bucket//x", StoreUrlError::Prefix),
            ("s3://bucket/x//", StoreUrlError::Prefix),
            ("s3://bucket/../x", StoreUrlError::Prefix),
            ("s3://bucket/a b", StoreUrlError::Prefix),
            ("s3://bucket/%41", StoreUrlError::Prefix),
        ] {
            let error = text.parse::<StoreUrl>().unwrap_err();
            assert_eq!(error, expected, "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
