//! Stories that drive the real program: its command line, its files and a model that plays a script.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may fail by panicking and say what it could not try"
)]

#[path = "../harness/mod.rs"]
mod harness;

mod agent;
mod approved;
mod background;
mod backup;
mod channels;
mod command_line;
mod commands;
mod config;
mod cron;
mod cross_build;
mod custom;
mod day;
mod device;
mod disk;
mod doctor;
mod fake;
mod fake_dingtalk;
mod fake_discord;
mod fake_feishu;
mod fake_irc;
mod fake_mail;
mod fake_matrix;
mod fake_mochat;
mod fake_qq;
mod fake_slack;
mod fake_systemd;
mod fake_telegram;
mod fake_whatsapp;
mod faults;
mod first_conversation;
mod gateway;
mod http;
mod import;
mod kill;
mod layout;
mod make;
mod mcp;
mod mcp_login;
mod mcp_questions;
mod memory;
mod memory_days;
mod memory_kill;
mod models;
mod obeyed;
mod odd_models;
mod onboard;
mod one_home;
mod outside;
mod places;
mod prompt;
mod release_key;
mod responses;
mod secrets;
mod service;
mod signin;
mod skills;
mod terminal;
mod update;
mod usage;
mod watch;
mod web;
mod windows;
