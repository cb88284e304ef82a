//! Floor 3: the configuration file, and where things lie.

pub mod home;
pub mod schema;

pub use home::Home;
pub use schema::Config;
