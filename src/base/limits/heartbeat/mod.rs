//! Bounds of the heartbeat.
