//! The replica that a policy cache makes of its messages, and the position of it.

use std::time::{Duration, Instant};

use bitacora_formats::{Micros, parse_time};
use bitacora_governance::{Executor, PredictedCall, Prediction, Replica, StatePatch};
use serde_json::Value;

use crate::event_stream::{EventStream, StreamMessage};

/// Longer than news takes on a busy machine.
const NEWS_TIMEOUT: Duration = Duration::from_secs(15);

/// A replica, and what it was told.
pub(crate) struct ReplicaView {
    pub(crate) replica: Replica,
    pub(crate) position: u64,
    /// The time of the service's clock before the state was looked at.
    pub(crate) time: Micros,
    /// Every piece, as it was sent.
    pub(crate) pieces: Vec<Value>,
    /// The number of them that came with the last change.
    pub(crate) pieces_at_once: usize,
}

impl ReplicaView {
    /// Returns the replica of one answer.
    pub(crate) fn of_answer(answer: &Value) -> Self {
        let mut told = Self::nothing(&answer["executor"]);
        for piece in answer["pieces"].as_array().unwrap() {
            told.take(piece);
        }
        told.stand_at(answer);
        told
    }

    /// Returns the replica of the beginning of a watch, with the first message beside it.
    pub(crate) fn of_watch(stream: &mut EventStream) -> (Self, Value) {
        let first = stream.message();
        assert_eq!(first.kind.as_deref(), Some("state"), "{first:?}");
        let begin = first.data.as_ref().unwrap()["begin"].clone();
        let mut told = Self::nothing(&begin["executor"]);
        told.take_change(stream, first);
        (told, begin)
    }

    fn nothing(executor: &Value) -> Self {
        let executor: Executor = serde_json::from_value(executor.clone()).unwrap();
        let replica = Replica::new(executor);
        Self { replica, position: 0, time: Micros(0), pieces: Vec::new(), pieces_at_once: 0 }
    }

    /// Hears the watch until it stands at this position.
    pub(crate) fn catch_up(&mut self, stream: &mut EventStream, position: u64) {
        let began = Instant::now();
        while self.position < position {
            assert!(began.elapsed() < NEWS_TIMEOUT, "it stands at {}, not at {position}", self.position);
            let message = stream.message();
            self.hear(stream, message);
        }
    }

    /// Takes in a message, and what belongs to it.
    pub(crate) fn hear(&mut self, stream: &mut EventStream, message: StreamMessage) {
        let news = message.data.as_ref().unwrap();
        assert!(news.get("begin").is_none(), "it began once: {news}");
        match message.kind.as_deref() {
            Some("state") => self.take_change(stream, message),
            Some("at") => {
                assert!(news.get("patch").is_none() && news.get("more").is_none(), "{news}");
                self.stand_at(news);
            }
            _ => panic!("{message:?}"),
        }
    }

    /// All pieces of a change are of one state.
    fn take_change(&mut self, stream: &mut EventStream, first: StreamMessage) {
        let (position, mut message) = (first.id.unwrap(), first);
        self.pieces_at_once = 0;
        loop {
            assert_eq!((message.kind.as_deref(), message.id), (Some("state"), Some(position)));
            let news = message.data.unwrap();
            self.take(&news["patch"]);
            self.pieces_at_once += 1;
            if news.get("more").is_none() {
                assert_eq!(news["position"], position.to_string());
                return self.stand_at(&news);
            }
            message = stream.message();
            assert!(message.data.as_ref().unwrap().get("begin").is_none(), "it begins once: {message:?}");
        }
    }

    fn take(&mut self, piece: &Value) {
        let patch: StatePatch = serde_json::from_value(piece.clone()).unwrap();
        assert!(!patch.is_empty() || self.pieces.is_empty(), "a piece without anything in it");
        self.replica.take(patch);
        self.pieces.push(piece.clone());
    }

    /// Neither the position nor the time goes back.
    fn stand_at(&mut self, news: &Value) {
        let position = news["position"].as_str().unwrap().parse().unwrap();
        let time = parse_time(news["time"].as_str().unwrap()).unwrap();
        assert!(position >= self.position && time >= self.time, "{news}");
        (self.position, self.time) = (position, time);
    }

    /// Predicts the decision about a call by the time that it was told last.
    pub(crate) fn predict(&self, call: &Value) -> Prediction {
        let request = call.to_string();
        let call = PredictedCall { request: request.as_bytes(), session: None, run: None };
        self.replica.predict(&call, (self.time, self.time)).unwrap()
    }

    /// The same in the words of an answer: the verdict, and why.
    pub(crate) fn said(&self, call: &Value) -> (String, String) {
        let predicted = self.predict(call);
        (predicted.verdict.as_str().to_owned(), predicted.reason_code.as_str().to_owned())
    }

    /// Everything that it was told, as one text.
    pub(crate) fn text(&self) -> String {
        self.pieces.iter().map(Value::to_string).collect()
    }
}
