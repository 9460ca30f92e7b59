//! One connection, from its first byte to its end.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tower_service::Service as _;

use crate::http::framing::{GuardedStream, LongBodies, Refusal, Verdict};
use crate::http::peer::{ConnectionSlot, Peer, PeerAddress};
use crate::http::phase::Phase;
use crate::http::pool::PoolPart;
use crate::limits::{ConnectionTimeouts, HTTP_BUFFER_BYTES};
use crate::metrics::Metrics;
use crate::problem::{Code, Problem};

/// The state that every connection needs.
#[derive(Clone)]
pub(crate) struct ConnectionContext {
    pub(crate) router: Router,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) patience: ConnectionTimeouts,
    pub(crate) phase: watch::Receiver<Phase>,
}

/// Serves the connection until its peer, its time, another one that needs its place, or the service's shutdown ends it.
pub(crate) async fn serve_connection<S>(
    stream: S,
    peer: Peer,
    place: Option<PoolPart>,
    context: ConnectionContext,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let ConnectionContext { router, metrics, patience, mut phase } = context;
    let verdict = Verdict::default();
    let long_bodies = LongBodies::default();
    let owner = ConnectionSlot(place.as_ref().map(PoolPart::owner));
    let address = place.as_ref().and_then(PoolPart::caller).map(PeerAddress);
    let guarded = GuardedStream::new(stream, patience, verdict.clone(), long_bodies.clone(), place);
    let service = ConnectionService {
        router,
        metrics,
        verdict,
        long_bodies,
        peer,
        address,
        owner,
        requests: Cell::new(0),
    };
    // The guard does what hyper's own timer would: hyper sees a head only once it is whole.
    let mut connection = pin!(
        hyper::server::conn::http1::Builder::new()
            .half_close(true)
            .max_buf_size(HTTP_BUFFER_BYTES)
            .serve_connection(guarded, service)
    );
    let draining = async |phase: &mut watch::Receiver<Phase>, wanted: Phase| {
        // The sender being gone means the service is.
        let _gone = phase.wait_for(|phase| *phase >= wanted).await.is_err();
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = draining(&mut phase, Phase::Draining) => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = draining(&mut phase, Phase::Cut) => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

struct ConnectionService {
    router: Router,
    metrics: Arc<Metrics>,
    verdict: Verdict,
    long_bodies: LongBodies,
    peer: Peer,
    address: Option<PeerAddress>,
    owner: ConnectionSlot,
    requests: Cell<u64>,
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let number = self.requests.get() + 1;
        self.requests.set(number);
        let refused = self.verdict.of(number);
        let refused = refused.map(Refusal::problem);
        request.extensions_mut().insert(self.long_bodies.of(number));
        request.extensions_mut().insert(self.peer);
        request.extensions_mut().insert(self.owner.clone());
        if let Some(address) = &self.address {
            request.extensions_mut().insert(address.clone());
        }
        let metrics = Arc::clone(&self.metrics);
        let mut router = self.router.clone();
        Box::pin(async move {
            let answer = match refused {
                Some(problem) => problem.into_response(),
                None => PanicCatcher(Box::pin(router.call(request)))
                    .await
                    .unwrap_or_else(|RequestPanic| internal_problem().into_response()),
            };
            metrics.count_answer(answer.status());
            Ok(answer)
        })
    }
}

fn internal_problem() -> Problem {
    Problem::new(
        Code::Internal,
        "a defect in the service ended this request; repeat the same request, it is accepted once",
    )
    .closing()
}

/// Turns a panic of the inner future into a value, so that its request gets an answer.
struct PanicCatcher<F>(Pin<Box<F>>);

struct RequestPanic;

impl<F: Future<Output = Result<Response<Body>, Infallible>>> Future for PanicCatcher<F> {
    type Output = Result<Response<Body>, RequestPanic>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // After a panic the inner future is never polled again, only dropped.
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx))) {
            Ok(Poll::Ready(Ok(response))) => Poll::Ready(Ok(response)),
            Ok(Poll::Ready(Err(never))) => match never {},
            Ok(Poll::Pending) => Poll::Pending,
            Err(_) => Poll::Ready(Err(RequestPanic)),
        }
    }
}

#[cfg(test)]
mod tests;
