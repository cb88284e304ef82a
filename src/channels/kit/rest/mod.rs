//! What calls to a service's API share.

pub mod rates;
