//! Floor 3: the configuration file, and the paths in the home folder.

pub mod agents;
pub mod channels;
pub mod check;
pub mod home;
pub mod key;
pub mod load;
pub mod nearest;
pub mod resolve;
pub mod schema;
pub mod settings;
pub mod table;
pub mod text;
pub mod texts;

pub use check::QuietHours;
pub use home::Home;
pub use load::{Current, Loaded, load};
pub use schema::Config;
