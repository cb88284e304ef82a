//! The HTTP server of a program without the feature `http`.

use std::path::Path;
use std::sync::Arc;

use super::Opened;
use crate::base::error::{Error, Result};
use crate::config::schema::Http;
use crate::store::state::Pairing;

/// Refuses an HTTP server that is enabled.
pub fn check(config: &Http) -> Result<()> {
    match config.enabled {
        true => Err(Error::Config(
            "http.enabled is true, but this program was built without HTTP".to_owned(),
        )),
        false => Ok(()),
    }
}

/// The same at the start.
pub fn open(config: &Http, _: &Arc<Pairing>, _: &Path) -> Result<Option<Opened>> {
    check(config).map(|()| None)
}
