//! What channels are made of: the traits that they implement, and what several of them need.

pub mod adapter;
pub mod buttons;
pub mod choices;
pub mod health;
pub mod markdown;
pub mod names;
pub mod presses;
pub mod relayed;
pub mod rest;
pub mod service;
pub mod sink;
pub mod stream;
pub mod texts;
