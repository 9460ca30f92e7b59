//! The two helpers of commands on a service: show a resource, and act on it.

use std::fmt::Display;
use std::num::NonZeroUsize;

use bitacora_api::ActAnswer;
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::{ListPage, each_page, pages_to_show, pages_to_show_up_to};
use crate::ledger_access::service::{ServiceAnswer, ServiceClient, ServiceFailure, ServiceUse};
use crate::options::global::Global;
use crate::terminal::output::{Output, OutputError, printable};

/// The surroundings of a command: the global options, stdout, and the service once it is asked for the first time.
pub struct CommandContext {
    /// The options that every command takes.
    pub global: Global,
    /// The output of results.
    pub output: Output,
    purpose: ServiceUse,
    service: Option<ServiceClient>,
}

impl CommandContext {
    /// Returns a context whose service is opened on first use.
    pub fn new(global: Global) -> Self {
        let output = Output::stdout(global.wide);
        Self { global, output, purpose: ServiceUse::Person, service: None }
    }

    /// Sets how the service is asked. It counts for requests from the first one on.
    pub fn asking(&mut self, purpose: ServiceUse) -> &mut Self {
        self.purpose = purpose;
        self
    }

    /// Returns `true` if results are written as JSON.
    pub fn is_json(&self) -> bool {
        self.global.json
    }

    /// Returns the service, which is opened now where it is not open.
    pub fn service(&mut self) -> Result<&mut ServiceClient, CommandError> {
        let service = match self.service.take() {
            Some(service) => service,
            None => ServiceClient::open(&self.global, self.purpose)?,
        };
        Ok(self.service.insert(service))
    }

    /// Ends the service, which closes a folder.
    pub fn end(&mut self) -> Result<(), CommandError> {
        Ok(self.service.take().map_or(Ok(()), ServiceClient::end)?)
    }

    /// Returns the answer to a GET of this path below the ledger.
    pub fn get(&mut self, path: &str) -> Result<ServiceAnswer, CommandError> {
        Ok(self.service()?.get(path)?)
    }

    /// Returns the parsed answer.
    pub fn read<A: DeserializeOwned>(&mut self, path: &str) -> Result<A, CommandError> {
        Ok(self.get(path)?.read()?)
    }

    /// Writes an answer as it came.
    pub fn raw(&mut self, answer: &ServiceAnswer) -> Result<Exit, CommandError> {
        self.output.json_text(answer.text())?;
        Ok(Exit::Done)
    }

    /// Writes an answer: as it came with `--json`, else in the words of `write`.
    pub fn answer<A: DeserializeOwned>(
        &mut self,
        answer: &ServiceAnswer,
        write: impl FnOnce(&A, &mut Output) -> Result<(), OutputError>,
    ) -> Result<Exit, CommandError> {
        if self.is_json() {
            return self.raw(answer);
        }
        write(&answer.read()?, &mut self.output)?;
        Ok(Exit::Done)
    }

    /// Shows a resource.
    pub fn show<A: DeserializeOwned>(
        &mut self,
        path: &str,
        write: impl FnOnce(&A, &mut Output) -> Result<(), OutputError>,
    ) -> Result<Exit, CommandError> {
        let answer = self.get(path)?;
        self.answer(&answer, write)
    }

    /// Returns every page of a list, for people. With `--json` they are written as one document, and `None` is returned.
    pub fn pages<L: ListPage>(&mut self, path: &str) -> Result<Option<Vec<L>>, CommandError> {
        self.service()?;
        let Some(service) = &mut self.service else { return Ok(None) };
        pages_to_show(service, path, &self.global, &mut self.output)
    }

    /// Does the same for at most this many items.
    pub fn pages_up_to<L: ListPage>(
        &mut self,
        path: &str,
        most: NonZeroUsize,
    ) -> Result<Option<Vec<L>>, CommandError> {
        self.service()?;
        let Some(service) = &mut self.service else { return Ok(None) };
        pages_to_show_up_to(service, path, most.get(), &self.global, &mut self.output)
    }

    /// Returns all items of a list, whatever is shown of them.
    pub fn items<L: ListPage>(&mut self, path: &str) -> Result<Vec<L::Item>, CommandError> {
        let mut items = Vec::new();
        each_page(self.service()?, path, |_, page: L| {
            items.extend(page.into_items());
            Ok(())
        })?;
        Ok(items)
    }

    /// Sends an act.
    pub fn send(
        &mut self,
        method: &Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<ServiceAnswer, CommandError> {
        let json = body.map(serde_json::to_string).transpose().map_err(ServiceFailure::Request)?;
        Ok(self.service()?.exchange(method, path, json)?)
    }

    /// Sends an act, and writes its receipt: `recorded at position 7`.
    pub fn act(
        &mut self,
        method: &Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Exit, CommandError> {
        let answer = self.send(method, path, body)?;
        self.receipt(&answer)
    }

    /// Posts an act, and writes its receipt.
    pub fn post(&mut self, path: &str, body: &impl Serialize) -> Result<Exit, CommandError> {
        self.act(&Method::POST, path, Some(body))
    }

    /// Writes the receipt of an act.
    pub fn receipt(&mut self, answer: &ServiceAnswer) -> Result<Exit, CommandError> {
        self.answer(answer, |act: &ActAnswer, output| {
            output.line(format_args!("recorded at position {}", printable(&act.position)))
        })
    }

    /// Writes a document as one line of JSON.
    pub fn print(&mut self, document: &impl Serialize) -> Result<Exit, CommandError> {
        let json = serde_json::to_string(document).map_err(ServiceFailure::Request)?;
        self.output.json_text(&json)?;
        Ok(Exit::Done)
    }

    /// Writes a line for people: nothing with `--json`.
    pub fn say(&mut self, line: impl Display) -> Result<(), CommandError> {
        if !self.is_json() {
            self.output.line(printable(&line.to_string()))?;
        }
        Ok(())
    }
}
