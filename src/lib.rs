//! Peacrab: a personal AI agent for single-board computers.
//!
//! The rooms in reading order, lowest floor first. A room imports only rooms on lower floors;
//! `tests/floors.rs` checks that. ARCHITECTURE.md has the map.

// Floor 0: every bound of the program, and locks.
pub mod limits;
pub mod sync;

// Floor 1: errors, time, secrets and other basics.
pub mod access;
pub mod approval;
pub mod cancel;
pub mod checksum;
pub mod clock;
pub mod emulator;
pub mod error;
pub mod json;
pub mod language;
pub mod overstrike;
pub mod secret;
pub mod text;
pub mod tokens;

// Floor 2: messages of people and of the model; system calls; time zones.
pub mod chat;
pub mod message;
pub mod sys;
pub mod zone;

// Floor 3: the configuration, and connections.
pub mod config;
pub mod net;

// Floor 4: HTTP, pages of the web, Markdown, pictures, the workspace's files, confined commands, the event queue, append-only files.
pub mod append_log;
pub mod bus;
pub mod confine;
pub mod files;
pub mod html;
pub mod http;
pub mod markup;
pub mod picture;

// Floor 5: what is stored on disk, the state of the board, skills, jobs, releases of this program, servers of tools, and sign-ins with subscriptions.
pub mod board;
pub mod cron;
pub mod inbox;
pub mod mcp;
pub mod memory;
pub mod outbox;
pub mod session;
pub mod signin;
pub mod skills;
pub mod state;
pub mod update;
pub mod watch;

// Floor 6: the models and their tools.
pub mod provider;
pub mod tools;

// Floor 7: the agent, and the channels on which people reach it.
pub mod agent;
pub mod channels;

// Floor 8: the daemon that connects them.
pub mod gateway;

// Floor 9: the command line.
pub mod cli;
