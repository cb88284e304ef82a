//! device: the state of the board, now and in the last 24 hours.

use std::sync::Arc;

use crate::base::chat::{ToolResult, ToolSpec};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::board::Board;

use super::arguments::Arguments;
use super::{Context, Tool};

pub(super) const DEVICE: ToolSpec = ToolSpec::fixed(
    "device",
    "How this machine is: temperature, throttling, load, memory, disk, uptime, network. history is its last 24 hours.",
    r#"{"type":"object","properties":{"action":{"enum":["status","history"]}},"required":["action"]}"#,
)
.read_only();

/// Reads the board.
pub(super) struct Device(pub Arc<Board>);

impl Tool for Device {
    fn run(&self, _: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        let text = match arguments.text("action", "status or history")?.as_ref() {
            "status" => self.0.format_status(Language::English),
            "history" => self.0.format_history(),
            other => {
                return Err(Error::Failed(format!(
                    "action wants status or history, not {other:?}"
                )));
            }
        };
        Ok(ToolResult::new(text))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::tests::Bench;

    #[test]
    fn the_board_is_read_where_there_is_one() {
        let mut bench = Bench::new(16_000);
        let status = json!({"action": "status"});
        assert!(
            bench
                .fails("device", status.clone())
                .starts_with("there is no tool \"device\"")
        );
        bench.put("tree/proc/loadavg", "0.50 0.40 0.30 1/88 2093");
        let board = Board::new(&bench.path("tree"), bench.top.path());
        bench.toolbox = bench.toolbox.with_board(Arc::new(board));
        assert_eq!(bench.toolbox.specs().len(), 8);
        assert!(bench.toolbox.is_read_only("device"));
        let told = bench.succeeds("device", status);
        assert!(
            told.contains("\n- Load: 0.50, 0.40, 0.30 over 1, 5, 15 minutes\n"),
            "{told}"
        );
        assert!(told.contains("\n- Memory: not available\n"), "{told}");
        let told = bench.succeeds("device", json!({"action": "history"}));
        assert!(told.contains("begins when the gateway runs"), "{told}");
        for (arguments, error) in [
            (json!({}), "the parameter action is missing"),
            (
                json!({"action": "reboot"}),
                "action wants status or history",
            ),
        ] {
            assert!(bench.fails("device", arguments).starts_with(error));
        }
    }
}
