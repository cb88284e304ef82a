//! Peacrab: a personal AI agent for single-board computers.
//!
//! The rooms in reading order, lowest floor first. A room imports only rooms on lower floors;
//! `tests/floors.rs` checks that. ARCHITECTURE.md has the map.

pub mod base;

pub mod sys;

pub mod text;

pub mod config;
pub mod net;

pub mod sandbox;

pub mod board;
pub mod store;
pub mod update;

pub mod schedule;

pub mod models;
pub mod tools;

pub mod agent;
pub mod channels;

pub mod gateway;

pub mod cli;
