//! Any text is a table that can be drawn, or has no number in it.

use peacrab::base::zone::Zone;
use peacrab::text::picture::csv;
use peacrab::text::picture::plot::{Across, Plot};

pub fn run(bytes: &[u8]) {
    let zone = Zone::utc();
    let Some(table) = csv::read(&String::from_utf8_lossy(bytes), &zone) else {
        return;
    };
    let plot = Plot {
        curves: &table.curves,
        range: table.range,
        across: match table.is_timed {
            true => Across::Time(&zone),
            false => Across::Numbers,
        },
    };
    plot.draw();
}
