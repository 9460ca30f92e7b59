//! The body of an answer that follows, made by a task of its own.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::Frame;
use tokio::sync::mpsc;

use crate::limits::MESSAGES_AHEAD;

/// A source of messages for as long as both sides last.
pub(crate) trait MessageSource: Send + 'static {
    /// Returns the next message, or `None` at the end; called only once the connection has room for it.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;

    /// Returns the last message, once the peer has left the one before untaken for too long.
    fn given_up(&mut self) -> impl Future<Output = Bytes> + Send;
}

/// The body of an answer that follows: the next message is made only once the connection has room for it.
pub(crate) fn follow_body<S: MessageSource>(speaker: S) -> Body {
    let (sender, receiver) = mpsc::channel(MESSAGES_AHEAD);
    tokio::spawn(send_messages(speaker, sender));
    Body::new(FollowBody { receiver })
}

/// Speaks from a task of its own, so that a peer that takes nothing cannot stop the clock. The speaker's memory is given back before its
/// last word is taken.
async fn send_messages<S: MessageSource>(mut speaker: S, sender: mpsc::Sender<Bytes>) {
    loop {
        let room = tokio::select! {
            biased;
            room = sender.reserve() => room,
            last = speaker.given_up() => {
                drop(speaker);
                let _gone = sender.send(last).await.is_err();
                return;
            }
        };
        let Ok(room) = room else { return };
        let said = tokio::select! {
            said = speaker.next() => said,
            () = sender.closed() => return,
        };
        let Some(said) = said else { return };
        room.send(said);
    }
}

struct FollowBody {
    receiver: mpsc::Receiver<Bytes>,
}

impl hyper::body::Body for FollowBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
