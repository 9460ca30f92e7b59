//! A store that speaks as much S3 as anchors and archives need, with faults on demand.
//! Objects are read, in ranges too, written, also in parts, listed and removed, with ETags and conditions. Signatures are not looked at.

mod uploads;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use self::uploads::Uploads;

/// The bucket that there is.
const BUCKET: &str = "heads";
/// The largest object that it takes, in bytes.
const MAX_OBJECT_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of an answer that is too large on purpose.
const HUGE_BYTES: usize = 64 * 1024 * 1024;

/// The faults that a request can suffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum S3Fault {
    /// This status, and nothing done.
    Status(u16),
    /// It is done, and the answer comes after this time.
    Slow(Duration),
    /// The connection ends before anything is done.
    CutBefore,
    /// It is done, and the connection ends without an answer.
    CutAfter,
    /// An answer that is longer than anybody wants, with this status.
    Huge(u16),
}

/// The requests that a fault befalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum S3Request {
    /// GET and HEAD.
    Read,
    /// PUT, POST and DELETE.
    Write,
}

/// A store on a port of its own. Dropping it closes the port.
#[derive(Debug)]
pub struct LoopbackS3 {
    address: SocketAddr,
    shared: Arc<Mutex<S3State>>,
}

#[derive(Debug, Default)]
struct S3State {
    /// Content and the number of the write that made it.
    objects: BTreeMap<String, (Vec<u8>, u64)>,
    uploads: Uploads,
    writes: u64,
    requests: u64,
    /// Connections that ended while it was down.
    dropped: u64,
    /// Those to come, and how often each.
    faults: Vec<(S3Request, S3Fault, u32)>,
    ignores_conditions: bool,
    withholds_tags: bool,
    is_down: bool,
    is_over: bool,
}

impl LoopbackS3 {
    /// Starts it, empty.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Mutex::new(S3State::default()));
        let store = Self { address, shared: Arc::clone(&shared) };
        thread::spawn(move || {
            for stream in listener.incoming() {
                if locked(&shared).is_over {
                    return;
                }
                let shared = Arc::clone(&shared);
                thread::spawn(move || stream.and_then(|stream| serve(&stream, &shared)));
            }
        });
        Ok(store)
    }

    /// A place in the bucket.
    #[must_use]
    pub fn url(&self, prefix: &str) -> String {
        format!("s3://{BUCKET}/{prefix}")
    }

    /// Returns the environment that a client needs to reach it.
    #[must_use]
    pub fn environment(&self) -> [(String, String); 4] {
        [
            ("AWS_ENDPOINT", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_ACCESS_KEY_ID", "loopback".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "c2VjcmV0IG9mIGxvb3BiYWNr".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }

    /// Returns the content of an object; `None` if there is no such object.
    #[must_use]
    pub fn object(&self, key: &str) -> Option<Vec<u8>> {
        locked(&self.shared).objects.get(key).map(|(bytes, _)| bytes.clone())
    }

    /// Puts an object there, whatever there was.
    pub fn put(&self, key: &str, bytes: &[u8]) {
        locked(&self.shared).write(key, bytes.to_vec());
    }

    /// The names of all objects.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        locked(&self.shared).objects.keys().cloned().collect()
    }

    /// Takes an object away.
    pub fn remove(&self, key: &str) {
        locked(&self.shared).objects.remove(key);
    }

    /// Uploads in parts that were begun and not ended.
    #[must_use]
    pub fn unfinished_uploads(&self) -> usize {
        locked(&self.shared).uploads.len()
    }

    /// Returns the number of writes that took effect.
    #[must_use]
    pub fn writes(&self) -> u64 {
        locked(&self.shared).writes
    }

    /// Returns the number of requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        locked(&self.shared).requests
    }

    /// Returns the number of connections that ended because it was down.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        locked(&self.shared).dropped
    }

    /// The next `times` requests of this kind end like that.
    pub fn fail(&self, request: S3Request, fault: S3Fault, times: u32) {
        locked(&self.shared).faults.push((request, fault, times));
    }

    /// No faults any more.
    pub fn heal(&self) {
        locked(&self.shared).faults.clear();
    }

    /// Sets whether every connection ends before a word is said.
    pub fn set_down(&self, is_down: bool) {
        locked(&self.shared).is_down = is_down;
    }

    /// It writes whatever the conditions of a request are, as some stores do.
    pub fn ignore_conditions(&self) {
        locked(&self.shared).ignores_conditions = true;
    }

    /// Its answers name no versions of objects, as some stores' do not.
    pub fn withhold_tags(&self) {
        locked(&self.shared).withholds_tags = true;
    }
}

impl Drop for LoopbackS3 {
    fn drop(&mut self) {
        locked(&self.shared).is_over = true;
        let _woken = TcpStream::connect(self.address);
    }
}

impl S3State {
    fn write(&mut self, key: &str, bytes: Vec<u8>) {
        self.writes += 1;
        self.objects.insert(key.to_owned(), (bytes, self.writes));
    }

    fn take_fault(&mut self, request: S3Request) -> Option<S3Fault> {
        let (_, fault, times) = self.faults.iter_mut().find(|(of, _, times)| *of == request && *times > 0)?;
        *times -= 1;
        Some(*fault)
    }

    fn answer(&mut self, asked: &S3HttpRequest) -> S3HttpResponse {
        let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
        let query = Query(query);
        let key = match path.strip_prefix(&format!("/{BUCKET}")) {
            None => return S3HttpResponse::error(404, "NoSuchBucket"),
            Some(rest) => unescaped(rest.trim_start_matches('/')),
        };
        match asked.method.as_str() {
            "GET" if query.has("list-type") => self.list(&query),
            "GET" | "HEAD" => self.read(&key, asked),
            "POST" if query.has("delete") => self.remove_all(asked),
            "POST" if query.has("uploads") => {
                let id = self.uploads.begin(&key);
                S3HttpResponse::xml(format!(
                    "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                ))
            }
            "POST" => self.complete(&key, asked, &query),
            "DELETE" => {
                match query.number("uploadId") {
                    Some(id) => self.uploads.give_up(id),
                    None => drop(self.objects.remove(&key)),
                }
                S3HttpResponse { status: 204, ..S3HttpResponse::default() }
            }
            _ if query.has("uploadId") => self.put_part(asked, &query),
            _ => self.put(&key, asked),
        }
    }

    fn read(&self, key: &str, asked: &S3HttpRequest) -> S3HttpResponse {
        let Some((bytes, number)) = self.objects.get(key) else {
            return S3HttpResponse::error(404, "NoSuchKey");
        };
        let etag = Some(format!("\"{number}\""));
        if asked.header("if-match").is_some_and(|expected| Some(expected) != etag.as_deref()) {
            return S3HttpResponse::error(412, "PreconditionFailed");
        }
        let Some(range) = asked.header("range").and_then(|range| range.strip_prefix("bytes=")) else {
            return S3HttpResponse { status: 200, etag, body: bytes.clone(), ..S3HttpResponse::default() };
        };
        let (first, last) = range.split_once('-').unwrap_or((range, ""));
        let first: usize = first.parse().unwrap_or(0);
        let end = last.parse().map_or(bytes.len(), |last: usize| bytes.len().min(last + 1));
        let Some(body) = bytes.get(first..end) else { return S3HttpResponse::error(416, "InvalidRange") };
        let content_range = Some(format!("bytes {first}-{}/{}", end.saturating_sub(1), bytes.len()));
        S3HttpResponse { status: 206, etag, content_range, body: body.to_vec() }
    }

    fn holds(&self, key: &str, asked: &S3HttpRequest) -> Result<(), S3HttpResponse> {
        let etag = self.objects.get(key).map(|(_, number)| format!("\"{number}\""));
        let holds = match (asked.header("if-match"), asked.header("if-none-match")) {
            (Some(_), _) if etag.is_none() => return Err(S3HttpResponse::error(404, "NoSuchKey")),
            (Some(expected), _) => etag.as_deref() == Some(expected),
            (None, Some(_)) => etag.is_none(),
            (None, None) => true,
        };
        if holds || self.ignores_conditions {
            Ok(())
        } else {
            Err(S3HttpResponse::error(412, "PreconditionFailed"))
        }
    }

    fn put(&mut self, key: &str, asked: &S3HttpRequest) -> S3HttpResponse {
        if let Err(refused) = self.holds(key, asked) {
            return refused;
        }
        self.write(key, asked.body.clone());
        S3HttpResponse {
            status: 200,
            etag: Some(format!("\"{}\"", self.writes)),
            ..S3HttpResponse::default()
        }
    }

    fn put_part(&mut self, asked: &S3HttpRequest, query: &Query<'_>) -> S3HttpResponse {
        let source = asked.header("x-amz-copy-source").map(|source| {
            let key = unescaped(source.trim_start_matches('/'));
            let key = key.strip_prefix(&format!("{BUCKET}/")).map(str::to_owned);
            key.and_then(|key| self.objects.get(&key)).map(|(bytes, _)| bytes.clone())
        });
        let bytes = match &source {
            Some(None) => return S3HttpResponse::error(404, "NoSuchKey"),
            Some(Some(copied)) => copied.clone(),
            None => asked.body.clone(),
        };
        let (id, number) = (query.number("uploadId"), query.number("partNumber"));
        let number = number.and_then(|number| u32::try_from(number).ok());
        let put = id.zip(number).is_some_and(|(id, number)| self.uploads.put(id, number, bytes));
        match (put, source) {
            (false, _) => S3HttpResponse::error(404, "NoSuchUpload"),
            (true, Some(_)) => {
                S3HttpResponse::xml("<CopyPartResult><ETag>\"part\"</ETag></CopyPartResult>".to_owned())
            }
            (true, None) => {
                S3HttpResponse { status: 200, etag: Some("\"part\"".to_owned()), ..S3HttpResponse::default() }
            }
        }
    }

    fn complete(&mut self, key: &str, asked: &S3HttpRequest, query: &Query<'_>) -> S3HttpResponse {
        if let Err(refused) = self.holds(key, asked) {
            return refused;
        }
        let completed = query.number("uploadId").and_then(|id| self.uploads.complete(id));
        let Some((key, bytes)) = completed else { return S3HttpResponse::error(404, "NoSuchUpload") };
        self.write(&key, bytes);
        S3HttpResponse::xml(format!(
            "<CompleteMultipartUploadResult><ETag>\"{}\"</ETag></CompleteMultipartUploadResult>",
            self.writes
        ))
    }

    fn list(&self, query: &Query<'_>) -> S3HttpResponse {
        let prefix = query.text("prefix").unwrap_or_default();
        let (mut folders, mut xml) = (Vec::new(), String::new());
        for (key, (bytes, number)) in self.objects.iter().filter(|(key, _)| key.starts_with(&prefix)) {
            let rest = key.get(prefix.len()..).unwrap_or_default();
            match rest.split_once('/') {
                Some((folder, _)) => folders.push(format!("{prefix}{folder}/")),
                None => {
                    xml += &format!(
                        "<Contents><Key>{key}</Key><Size>{}</Size><LastModified>2026-01-01T00:00:00Z</LastModified><ETag>\"{number}\"</ETag></Contents>",
                        bytes.len()
                    );
                }
            }
        }
        folders.dedup();
        xml.extend(
            folders.iter().map(|it| format!("<CommonPrefixes><Prefix>{it}</Prefix></CommonPrefixes>")),
        );
        S3HttpResponse::xml(format!("<ListBucketResult>{xml}</ListBucketResult>"))
    }

    fn remove_all(&mut self, asked: &S3HttpRequest) -> S3HttpResponse {
        let body = String::from_utf8_lossy(&asked.body).into_owned();
        let keys = body.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
        let mut xml = String::new();
        for (key, _) in keys {
            self.objects.remove(key);
            xml += &format!("<Deleted><Key>{key}</Key></Deleted>");
        }
        S3HttpResponse::xml(format!("<DeleteResult>{xml}</DeleteResult>"))
    }
}

/// The query of a path: the text behind the `?`.
struct Query<'a>(&'a str);

impl Query<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.parse().ok()
    }

    fn text(&self, name: &str) -> Option<String> {
        self.value(name).map(unescaped)
    }
}

/// The text without `%` escapes.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| after.get(..2).and_then(|two| std::str::from_utf8(two).ok()));
        let escaped = escaped.flatten().and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn locked(shared: &Mutex<S3State>) -> std::sync::MutexGuard<'_, S3State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One request a connection: no state of a connection outlives a fault.
fn serve(stream: &TcpStream, shared: &Mutex<S3State>) -> io::Result<()> {
    let mut held = locked(shared);
    if held.is_down {
        held.dropped += 1;
        return Ok(());
    }
    drop(held);
    let asked = S3HttpRequest::read(&mut BufReader::new(stream))?;
    let mut held = locked(shared);
    held.requests += 1;
    let fault = held.take_fault(asked.kind());
    let answer = match fault {
        Some(S3Fault::CutBefore) => return Ok(()),
        Some(S3Fault::Status(status)) => S3HttpResponse::error(status, "InternalError"),
        Some(S3Fault::Huge(status)) => S3HttpResponse {
            status,
            etag: Some("\"0\"".into()),
            body: vec![b'x'; HUGE_BYTES],
            ..S3HttpResponse::default()
        },
        None | Some(S3Fault::Slow(_) | S3Fault::CutAfter) => held.answer(&asked),
    };
    let answer = if held.withholds_tags { S3HttpResponse { etag: None, ..answer } } else { answer };
    drop(held);
    match fault {
        Some(S3Fault::CutAfter) => return Ok(()),
        Some(S3Fault::Slow(time)) => thread::sleep(time),
        _ => {}
    }
    answer.write(stream, asked.method == "HEAD")
}

struct S3HttpRequest {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl S3HttpRequest {
    fn read(reader: &mut impl BufRead) -> io::Result<Self> {
        let line = line(reader)?;
        let mut words = line.split(' ').map(str::to_owned);
        let (method, path) = words.next().zip(words.next()).ok_or(io::ErrorKind::InvalidData)?;
        let mut headers = Vec::new();
        loop {
            let line = self::line(reader)?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut asked = Self { method, path, headers, body: Vec::new() };
        let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        if length > MAX_OBJECT_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        asked.body.resize(length, 0);
        reader.read_exact(&mut asked.body)?;
        Ok(asked)
    }

    fn kind(&self) -> S3Request {
        if matches!(self.method.as_str(), "GET" | "HEAD") { S3Request::Read } else { S3Request::Write }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.take(64 * 1024).read_line(&mut line)?;
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}

#[derive(Default)]
struct S3HttpResponse {
    status: u16,
    etag: Option<String>,
    content_range: Option<String>,
    body: Vec<u8>,
}

impl S3HttpResponse {
    fn error(status: u16, code: &str) -> Self {
        let body = format!("<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code></Error>");
        Self { status, body: body.into(), ..Self::default() }
    }

    fn xml(body: String) -> Self {
        Self { status: 200, body: body.into(), ..Self::default() }
    }

    fn write(&self, mut stream: &TcpStream, is_head: bool) -> io::Result<()> {
        let etag = self.etag.as_ref().map_or_else(String::new, |etag| format!("ETag: {etag}\r\n"));
        let range = self.content_range.as_ref();
        let range = range.map_or_else(String::new, |range| format!("Content-Range: {range}\r\n"));
        let head = format!(
            "HTTP/1.1 {} Said\r\nContent-Length: {}\r\n{etag}{range}Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nConnection: close\r\n\r\n",
            self.status,
            self.body.len(),
        );
        stream.write_all(head.as_bytes())?;
        if is_head { Ok(()) } else { stream.write_all(&self.body) }
    }
}
