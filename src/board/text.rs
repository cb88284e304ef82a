//! PURE: readings and their history in words, as Markdown for a chat.

use std::fmt::Write;

use super::history::{Course, History, Quantity, samples_per_column};
use super::reading::{Disk, Interface, Load, Memory, Reading, Temperature, Throttling};
use super::units::{amount, hundredths, span, tenths};
use crate::limits::board::SAMPLE_INTERVAL;

const UNKNOWN: &str = "not known here";

/// How the machine is, a line for each quantity, with a small line below it where there is a
/// history.
pub fn status(machine: &str, reading: &Reading, history: &History) -> String {
    let up = reading.uptime.map_or(UNKNOWN.to_owned(), |seconds| {
        format!("up {}", span(seconds))
    });
    let below = |quantity| {
        let course = history.course(quantity);
        course.map_or_else(String::new, |course| drawn(quantity, &course))
    };
    let mut text = format!("**{machine}**, {up}\n");
    let mut line = |name: &str, value: Option<String>, below: &str| {
        let value = value.as_deref().unwrap_or(UNKNOWN);
        let _ = writeln!(text, "- {name}: {value}{below}");
    };
    let hottest = temperature(&reading.temperatures);
    line("Temperature", hottest, &below(Quantity::Temperature));
    line("Throttling", reading.throttling.map(throttling), "");
    let load = reading.load.as_ref().map(load);
    line("Load", load, &below(Quantity::Load));
    line(
        "Memory",
        reading.memory.map(memory),
        &below(Quantity::Memory),
    );
    line("Disk", reading.disk.map(disk), &below(Quantity::Disk));
    for one in &reading.interfaces {
        line(&format!("Network `{}`", one.name), Some(interface(one)), "");
    }
    let traffic = below(Quantity::Traffic);
    if !traffic.is_empty() {
        let _ = writeln!(text, "- {}{traffic}", name(Quantity::Traffic));
    }
    if Quantity::ALL
        .into_iter()
        .any(|one| history.course(one).is_some())
    {
        let _ = writeln!(
            text,
            "\nThe small lines show the last {}.",
            covered(history)
        );
    }
    text
}

/// The last 24 hours in numbers.
pub fn history(history: &History) -> String {
    let minutes = SAMPLE_INTERVAL.as_secs() / 60;
    if history.count() < 2 {
        return format!(
            "There is no history yet: it begins when the gateway runs, which takes a sample every \
             {minutes} minutes and keeps 24 hours."
        );
    }
    let each = samples_per_column(history.count()) as u64 * minutes;
    let mut text = format!(
        "The last {}, oldest first. Each value is the highest of {each} minutes; - is a gap.\n",
        covered(history)
    );
    for quantity in Quantity::ALL {
        let _ = write!(text, "- {}: ", name(quantity));
        let Some(course) = history.course(quantity) else {
            let _ = writeln!(text, "{UNKNOWN}");
            continue;
        };
        let columns = course.columns.iter();
        let values: Vec<String> = columns
            .map(|value| value.map_or("-".to_owned(), |value| shown(quantity, value)))
            .collect();
        let _ = writeln!(
            text,
            "mean {}{}{}  \n  {}",
            shown(quantity, course.mean),
            unit(quantity),
            drawn(quantity, &course),
            values.join(" ")
        );
    }
    text
}

/// A course on a line of its own, below what it belongs to: the spaces make a line break.
fn drawn(quantity: Quantity, course: &Course) -> String {
    let (least, most) = (shown(quantity, course.least), shown(quantity, course.most));
    let range = match least == most {
        true => format!("always {most}"),
        false => format!("{least} to {most}"),
    };
    format!("  \n  `{}` {range}{}", course.line(), unit(quantity))
}

fn name(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Temperature => "Temperature",
        Quantity::Load => "Load",
        Quantity::Memory => "Memory used",
        Quantity::Disk => "Disk used",
        Quantity::Traffic => "Network in and out, in 15 minutes",
    }
}

fn unit(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Temperature => " °C",
        Quantity::Load => "",
        Quantity::Memory | Quantity::Disk => " %",
        Quantity::Traffic => " kB",
    }
}

fn shown(quantity: Quantity, value: i32) -> String {
    match quantity {
        Quantity::Temperature => tenths(value),
        Quantity::Load => hundredths(value.unsigned_abs()),
        Quantity::Memory | Quantity::Disk | Quantity::Traffic => value.to_string(),
    }
}

/// What time the samples of a history cover.
fn covered(history: &History) -> String {
    span(history.count() as u64 * SAMPLE_INTERVAL.as_secs())
}

fn temperature(all: &[Temperature]) -> Option<String> {
    let hottest = all.first()?;
    let mut text = format!(
        "{} °C (`{}`",
        tenths(hottest.millidegrees / 100),
        hottest.sensor
    );
    if all.len() > 1 {
        let _ = write!(text, ", the hottest of {}", all.len());
    }
    text.push(')');
    Some(text)
}

fn throttling(bits: Throttling) -> String {
    let listed = |words: Vec<&str>| match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(", "),
    };
    let now = listed(bits.now().collect());
    match listed(bits.earlier().collect()).as_str() {
        "none" => now,
        earlier => format!("{now}; earlier: {earlier}"),
    }
}

fn load(load: &Load) -> String {
    let [one, five, fifteen] = load.averages.map(hundredths);
    let mut text = format!("{one}, {five}, {fifteen} over 1, 5, 15 minutes");
    if let Some(count) = load.processors {
        let plural = if count == 1 { "" } else { "s" };
        let _ = write!(text, ", {count} processor{plural}");
    }
    text
}

fn memory(memory: Memory) -> String {
    let mut text = format!(
        "{} free of {}",
        amount(memory.available),
        amount(memory.total)
    );
    push_used(&mut text, memory.used_percent());
    if memory.swap_total > 0 {
        let used = memory.swap_total.saturating_sub(memory.swap_free);
        let _ = write!(
            text,
            ", swap {} of {} used",
            amount(used),
            amount(memory.swap_total)
        );
    }
    text
}

fn disk(disk: Disk) -> String {
    let mut text = format!("{} free of {}", amount(disk.free), amount(disk.total));
    push_used(&mut text, disk.used_percent());
    if disk.is_read_only {
        text.push_str(", **read-only: nothing can be written**");
    }
    text
}

fn push_used(text: &mut String, percent: Option<u8>) {
    if let Some(percent) = percent {
        let _ = write!(text, " ({percent} % used)");
    }
}

fn interface(interface: &Interface) -> String {
    let mut text = interface
        .state
        .clone()
        .unwrap_or_else(|| "state unknown".to_owned());
    if let Some(address) = interface.address {
        let _ = write!(text, ", {address}");
    }
    if let Some(signal) = interface.signal {
        let _ = write!(text, ", signal {signal} dBm");
    }
    for (bytes, direction) in [(interface.received, "in"), (interface.sent, "out")] {
        if let Some(bytes) = bytes {
            let _ = write!(text, ", {} {direction}", amount(bytes));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_firmware_bits_are_words() {
        let words = |bits| throttling(Throttling(bits));
        assert_eq!(words(0), "none");
        assert_eq!(words(0x50005), "under-voltage, throttled");
        assert_eq!(words(0x50000), "none; earlier: under-voltage, throttled");
        let all = "under-voltage; earlier: frequency capped, throttled, soft temperature limit";
        assert_eq!(words(0xf_0001), all);
        assert_eq!(words(0xfff0_fff0), "none");
    }

    #[test]
    fn a_card_that_can_only_be_read_is_said() {
        let card = Disk {
            total: 0,
            free: 0,
            is_read_only: true,
        };
        assert_eq!(
            disk(card),
            "0 bytes free of 0 bytes, **read-only: nothing can be written**"
        );
    }
}
