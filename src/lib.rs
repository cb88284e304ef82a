//! Peacrab: a personal AI agent that lives in a single-board computer.
//!
//! The rooms in reading order, lowest floor first. A room imports only rooms on lower floors;
//! `tests/floors.rs` fails on one that climbs. ARCHITECTURE.md has the map.

// Floor 0: every bound of the program, and locks.
pub mod limits;
pub mod sync;

// Floor 1: what everything may use.
pub mod approval;
pub mod cancel;
pub mod clock;
pub mod error;
pub mod json;
pub mod language;
pub mod secret;
pub mod text;

// Floor 2: the words between people, us and the model; the system.
pub mod chat;
pub mod message;
pub mod sys;

// Floor 3: the configuration, and connections.
pub mod config;
pub mod net;

// Floor 4: the network, Markdown, the workspace's files, confined commands, the queues and the logs.
pub mod append_log;
pub mod bus;
pub mod confine;
pub mod files;
pub mod http;
pub mod markup;

// Floor 5: what is kept, and how the board is.
pub mod board;
pub mod inbox;
pub mod outbox;
pub mod session;
pub mod state;

// Floor 6: the models, and what they can use.
pub mod provider;
pub mod tools;

// Floor 7: the agent, and where people reach it.
pub mod agent;
pub mod channels;

// Floor 8: what wires them together.
pub mod gateway;

// Floor 9: the command line.
pub mod cli;
