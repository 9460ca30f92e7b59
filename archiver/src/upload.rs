//! An upload in pieces, which is asked from one thread and done on another.

use std::future::Future;
use std::sync::Arc;

use object_store::{Error, MultipartUpload};
use tokio::sync::Mutex;

/// An upload that was begun. Its pieces come one after the other, all of the same size but the last.
pub(crate) struct ObjectUpload(Arc<Mutex<Box<dyn MultipartUpload>>>);

impl ObjectUpload {
    pub(crate) fn new(begun: Box<dyn MultipartUpload>) -> Self {
        Self(Arc::new(Mutex::new(begun)))
    }

    pub(crate) fn put(&self, content: Vec<u8>) -> impl Future<Output = Result<(), Error>> + use<> {
        let upload = Arc::clone(&self.0);
        async move {
            let piece = upload.lock().await.put_part(content.into());
            piece.await
        }
    }

    pub(crate) fn complete(&self) -> impl Future<Output = Result<(), Error>> + use<> {
        let upload = Arc::clone(&self.0);
        async move { upload.lock().await.complete().await.map(|_| ()) }
    }

    pub(crate) fn abort(&self) -> impl Future<Output = Result<(), Error>> + use<> {
        let upload = Arc::clone(&self.0);
        async move { upload.lock().await.abort().await }
    }
}
