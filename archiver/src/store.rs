//! A store, opened from its URL and what the environment says of it.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::list::PaginatedListStore;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig};

use crate::bounded_client::BoundedConnector;
use crate::limits::{
    CONNECT_TIMEOUT, MAX_ANSWER_BYTES, MAX_RETRIES, MAX_RETRY_PAUSE, MAX_SAID_CHARS, MAX_STORE_ANSWER_BYTES,
    REQUEST_TIMEOUT, RETRY_TIMEOUT, TRANSFER_RETRY_TIMEOUT, TRANSFER_TIMEOUT,
};
use crate::store_url::{Scheme, StoreUrl};

/// Variables of the environment that say of a store what it needs, by the beginnings of their names; and two that the
/// clouds set under names of their own.
const PREFIXES: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];
const OTHERS: [&str; 2] = ["SERVICE_ACCOUNT", "IDENTITY_ENDPOINT"];

/// The reasons for which a store is not opened. Nothing was asked of it yet.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The settings in the environment do not make a client.
    #[error("{url}: {what}; set what this store needs in the environment")]
    Settings {
        /// The URL of the store.
        url: StoreUrl,
        /// The fault of the settings.
        what: String,
    },
    /// A folder that cannot be used.
    #[error("{folder}: {what}; archives cannot lie there")]
    Folder {
        /// The path of the folder.
        folder: String,
        /// The fault of the folder.
        what: String,
    },
    /// The system gave no thread to talk to it.
    #[error("{place}: no thread to talk to it: {source}")]
    Thread {
        /// The place of the store.
        place: String,
        /// The error of the system.
        source: io::Error,
    },
}

/// The settings of stores in the environment: credentials, regions, endpoints. Shown by their names alone.
#[derive(Clone, Default)]
pub struct StoreSettings(Vec<(String, String)>);

impl StoreSettings {
    /// Those of this process.
    #[must_use]
    pub fn from_environment() -> Self {
        let texts = std::env::vars_os()
            .filter_map(|(name, value)| name.into_string().ok().zip(value.into_string().ok()));
        texts.collect()
    }
}

impl FromIterator<(String, String)> for StoreSettings {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Self {
        let is_ours =
            |name: &str| PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || OTHERS.contains(&name);
        Self(variables.into_iter().filter(|(name, _)| is_ours(name)).collect())
    }
}

impl fmt::Debug for StoreSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// The bounds of one request to a store: its time, and the bytes taken of its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    answer_bytes: usize,
    request: Duration,
    retry: Duration,
}

impl Bounds {
    /// For a tree head.
    pub(crate) const HEADS: Self =
        Self { answer_bytes: MAX_ANSWER_BYTES, request: REQUEST_TIMEOUT, retry: RETRY_TIMEOUT };
    /// For a piece of an archive, and for lists of them.
    pub(crate) const ARCHIVES: Self = Self {
        answer_bytes: MAX_STORE_ANSWER_BYTES,
        request: TRANSFER_TIMEOUT,
        retry: TRANSFER_RETRY_TIMEOUT,
    };
}

/// A client of a store, and what it lists names by, a page at a time.
pub(crate) struct OpenedStore {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) pages: Arc<dyn PaginatedListStore>,
}

impl OpenedStore {
    fn of(store: impl ObjectStore + PaginatedListStore) -> Self {
        let store = Arc::new(store);
        Self { pages: Arc::clone(&store) as _, store }
    }
}

/// Opens a store; no request is sent before something is asked of it.
pub(crate) fn open(
    url: &StoreUrl,
    settings: &StoreSettings,
    bounds: Bounds,
) -> Result<OpenedStore, StoreError> {
    // An earlier call has chosen the same.
    let _chosen_before = rustls::crypto::ring::default_provider().install_default().is_err();
    let bucket = url.bucket();
    let connector = BoundedConnector { max_answer_bytes: bounds.answer_bytes };
    let opened = match url.scheme() {
        Scheme::S3 => {
            // For copies to a name that must be free: S3 compares when an upload in parts is completed.
            let builder = AmazonS3Builder::new().with_config(AmazonS3ConfigKey::CopyIfNotExists, "multipart");
            let builder = builder.with_bucket_name(bucket).with_http_connector(connector);
            let set = |builder: AmazonS3Builder, key, value| builder.with_config(key, value);
            let builder = settings.apply(builder, AmazonS3ConfigKey::Client, set, bounds);
            let builder = builder.with_retry(retries(bounds));
            builder.build().map(OpenedStore::of)
        }
        Scheme::Google => {
            let builder = GoogleCloudStorageBuilder::new();
            let builder = builder.with_bucket_name(bucket).with_http_connector(connector);
            let set = |builder: GoogleCloudStorageBuilder, key, value| builder.with_config(key, value);
            let builder = settings.apply(builder, GoogleConfigKey::Client, set, bounds);
            let builder = builder.with_retry(retries(bounds));
            builder.build().map(OpenedStore::of)
        }
        Scheme::Azure => {
            let builder = MicrosoftAzureBuilder::new();
            let builder = builder.with_container_name(bucket).with_http_connector(connector);
            let set = |builder: MicrosoftAzureBuilder, key, value| builder.with_config(key, value);
            let builder = settings.apply(builder, AzureConfigKey::Client, set, bounds);
            let builder = builder.with_retry(retries(bounds));
            builder.build().map(OpenedStore::of)
        }
    };
    opened.map_err(|error| StoreError::Settings { url: url.clone(), what: error_text(&error) })
}

impl StoreSettings {
    /// Tells a builder what it understands of them, and how long it may wait.
    fn apply<B, K: std::str::FromStr>(
        &self,
        mut builder: B,
        of_client: impl Fn(ClientConfigKey) -> K,
        set: impl Fn(B, K, String) -> B,
        bounds: Bounds,
    ) -> B {
        for (name, value) in &self.0 {
            if let Ok(key) = name.to_ascii_lowercase().parse() {
                builder = set(builder, key, value.clone());
            }
        }
        let millis = |time: Duration| format!("{}ms", time.as_millis());
        builder = set(builder, of_client(ClientConfigKey::ConnectTimeout), millis(CONNECT_TIMEOUT));
        set(builder, of_client(ClientConfigKey::Timeout), millis(bounds.request))
    }
}

fn retries(bounds: Bounds) -> RetryConfig {
    let backoff = BackoffConfig { max_backoff: MAX_RETRY_PAUSE, ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: MAX_RETRIES, retry_timeout: bounds.retry }
}

/// Returns the store's error and its root cause, in one line that is not too long.
pub(crate) fn error_text(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut first: &dyn Error = error;
    while let Some(source) = first.source() {
        first = source;
    }
    let first = first.to_string();
    if !text.contains(&first) {
        text.push_str(": ");
        text.push_str(&first);
    }
    let words: Vec<&str> = text.split(|one: char| one.is_whitespace() || one.is_control()).collect();
    let line: String = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_SAID_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> StoreSettings {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn each_scheme_opens_with_what_the_environment_says_of_it() {
        let key = "c2VjcmV0";
        let said = settings(&[
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", key),
            ("AZURE_STORAGE_ACCOUNT_NAME", "account"),
            ("AZURE_STORAGE_ACCOUNT_KEY", key),
            ("HOME", "/nobody"),
        ]);
        for url in ["s3://bucket/x", "gs://bucket", "az://container/x"] {
            let opened = open(&url.parse().unwrap(), &said, Bounds::HEADS);
            assert!(opened.is_ok(), "{url}: {:?}", opened.err());
        }
        assert!(!format!("{said:?}").contains(key), "{said:?}");
        assert!(!format!("{said:?}").contains("HOME"), "{said:?}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let opened = open(&"az://container/x".parse().unwrap(), &settings(&[]), Bounds::HEADS);
        let error = opened.err().unwrap();
        assert!(error.to_string().contains("az://container/x"), "{error}");
        assert!(error.to_string().to_lowercase().contains("account"), "{error}");
        let wrong = settings(&[("AWS_CONDITIONAL_PUT", "dynamo")]);
        assert!(matches!(
            open(&"s3://bucket".parse().unwrap(), &wrong, Bounds::HEADS),
            Err(StoreError::Settings { .. })
        ));
    }
}
