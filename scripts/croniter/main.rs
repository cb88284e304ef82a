//! Prints the next planned times of cron lines, for compare.py: reads lines of a zone, an instant in seconds
//! since 1970 and a cron line, with tabs between; writes the next three instants, or the error.

#![expect(clippy::print_stdout, reason = "a tool for a script")]

use std::io::{self, BufRead};

use peacrab::base::zone::Zone;
use peacrab::schedule::{Phase, Schedule};

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        println!(
            "{}",
            answer(&line?).unwrap_or_else(|| "error: not a question".to_owned())
        );
    }
    Ok(())
}

fn answer(line: &str) -> Option<String> {
    let mut parts = line.splitn(3, '\t');
    let zone = Zone::find(parts.next()?)?;
    let mut after = parts.next()?.parse::<i64>().ok()?.checked_mul(1000)?;
    let schedule = Schedule::Cron {
        expr: parts.next()?.to_owned(),
        tz: None,
    };
    if let Err(error) = schedule.check() {
        return Some(format!("error: {error}"));
    }
    let phase = Phase {
        created_ms: 0,
        id: "",
    };
    let mut times = Vec::new();
    for _ in 0..3 {
        after = schedule.next_after(after, &phase, &zone)?;
        times.push((after / 1000).to_string());
    }
    Some(times.join(" "))
}
