//! Following a ledger: Server-Sent Events from a position on, for as long as both sides last.
//!
//! Followers that are behind read pages of the log; those at its end share one [`Tail`](tail::Tail) per ledger, which
//! reads and writes each event once for all of them. Each goes at the pace of its peer and holds no more than what the
//! connection has not taken yet, so that a slow one costs nobody anything.

mod follower;
mod messages;
mod tail;
mod watcher;

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use std::convert::Infallible;

use axum::body::Bytes;
use hyper::body::Frame;

pub(crate) use follower::Follower;
pub(crate) use tail::Tails;
pub(crate) use watcher::{Standing, Watcher};

/// Who has something to say for as long as both sides last.
pub(crate) trait Speaks: Send + 'static {
    /// What is said next; asked for only once the connection has room for it. `None` at the end.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// The body of an answer that follows: the next message is made only once the connection has room for it.
pub(crate) enum FollowBody<S> {
    Idle(Box<S>),
    Working(Pin<Box<dyn Future<Output = Next<S>> + Send>>),
    Ended,
}

/// Who speaks, unless they have ended, and what they say.
type Next<S> = (Box<S>, Option<Bytes>);

impl<S: Speaks> FollowBody<S> {
    pub(crate) fn new(speaker: S) -> Self {
        Self::Idle(Box::new(speaker))
    }
}

impl<S: Speaks> hyper::body::Body for FollowBody<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            match mem::replace(&mut *self, Self::Ended) {
                Self::Ended => return Poll::Ready(None),
                Self::Idle(mut speaker) => {
                    let next = async move {
                        let said = speaker.next().await;
                        (speaker, said)
                    };
                    *self = Self::Working(Box::pin(next));
                }
                Self::Working(mut next) => match next.as_mut().poll(cx) {
                    Poll::Pending => {
                        *self = Self::Working(next);
                        return Poll::Pending;
                    }
                    Poll::Ready((_, None)) => return Poll::Ready(None),
                    Poll::Ready((speaker, Some(bytes))) => {
                        *self = Self::Idle(speaker);
                        return Poll::Ready(Some(Ok(Frame::data(bytes))));
                    }
                },
            }
        }
    }
}
