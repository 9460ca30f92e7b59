//! Following a ledger: Server-Sent Events from a position on, for as long as both sides last.
//!
//! Followers that are behind read pages of the log; those at its end share one [`Tail`](tail::Tail) per ledger, which
//! reads and writes each event once for all of them. Each goes at the pace of its peer and holds no more than what the
//! connection has not taken yet, so that a slow one costs nobody anything.

mod follower;
mod messages;
mod tail;

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use std::convert::Infallible;

use axum::body::Bytes;
use hyper::body::Frame;

pub(crate) use follower::Follower;
pub(crate) use tail::Tails;

/// The body of an answer that follows: the next message is made only once the connection has room for it.
pub(crate) enum FollowBody {
    Idle(Box<Follower>),
    Working(Pin<Box<dyn Future<Output = Next> + Send>>),
    Ended,
}

/// The follower, unless it has ended, and what it says.
type Next = (Box<Follower>, Option<Bytes>);

impl FollowBody {
    pub(crate) fn new(follower: Follower) -> Self {
        Self::Idle(Box::new(follower))
    }
}

impl hyper::body::Body for FollowBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            match mem::replace(&mut *self, Self::Ended) {
                Self::Ended => return Poll::Ready(None),
                Self::Idle(mut follower) => {
                    let next = async move {
                        let said = follower.next().await;
                        (follower, said)
                    };
                    *self = Self::Working(Box::pin(next));
                }
                Self::Working(mut next) => match next.as_mut().poll(cx) {
                    Poll::Pending => {
                        *self = Self::Working(next);
                        return Poll::Pending;
                    }
                    Poll::Ready((_, None)) => return Poll::Ready(None),
                    Poll::Ready((follower, Some(bytes))) => {
                        *self = Self::Idle(follower);
                        return Poll::Ready(Some(Ok(Frame::data(bytes))));
                    }
                },
            }
        }
    }
}
