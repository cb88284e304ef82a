//! The custom tools: whether they can be used.

use super::report::Row;
use crate::base::error::Result;
use crate::cli::Context;
use crate::cli::tools::{Checked, Custom};
use crate::config::Loaded;
use crate::store::state::ToolApproval;
use crate::text::count_of;

/// The custom tools of an agent; nothing when there are none, or they are turned off.
pub fn tools(context: &Context, loaded: &Loaded) -> Result<Option<Row>> {
    let custom = Custom::of(context, loaded)?;
    let checked = if custom.is_enabled() {
        custom.check()
    } else {
        Vec::new()
    };
    Ok((!checked.is_empty()).then(|| judge(&checked)))
}

fn judge(checked: &[Checked]) -> Row {
    let mut faults = checked.iter().filter_map(Checked::fault);
    if let Some(first) = faults.next() {
        let more = match faults.count() {
            0 => String::new(),
            more => format!(" (and {more} more: `peacrab tools check`)"),
        };
        return Row::warning("tools", format!("{first}{more}"));
    }
    let count = count_of(checked.len(), "custom tool", "custom tools");
    let waits = |one: &&Checked| !matches!(one.state, Ok((_, ToolApproval::Approved)));
    Row::ok(
        "tools",
        match checked.iter().filter(waits).count() {
            0 => count,
            waiting => format!("{count}, {waiting} not approved yet (`peacrab tools list`)"),
        },
    )
}
