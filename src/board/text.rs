//! PURE: readings and their history as Markdown for a chat.

use std::fmt::Write;

use super::history::{Course, History, Quantity, samples_per_column};
use super::reading::{Disk, Interface, Load, Memory, Reading, Temperature, Throttle, Throttling};
use super::texts;
use super::units::{format_amount, format_span, hundredths, tenths};
use crate::base::language::Language;
use crate::base::limits::board::SAMPLE_INTERVAL;
use crate::text::picture::plot::format_value as short_value;

/// How the machine is: a line for each quantity, with a small line below it where there is a
/// history.
pub fn format_status(
    machine: &str,
    reading: &Reading,
    history: &History,
    language: Language,
) -> String {
    let (unknown, colon) = (texts::unknown(language), texts::colon(language));
    let up = reading
        .uptime
        .map_or(texts::uptime_unknown(language).to_owned(), |seconds| {
            texts::uptime(language, &format_span(seconds, language))
        });
    let below = |quantity| {
        let course = history.course(quantity);
        course.map_or_else(String::new, |course| draw(quantity, &course, language))
    };
    let mut text = format!("**{machine}**{}{up}\n", texts::pause(language));
    let mut line = |name: &str, value: Option<String>, below: &str| {
        let value = value.as_deref().unwrap_or(unknown);
        let _ = writeln!(text, "- {name}{colon}{value}{below}");
    };
    let hottest = format_temperature(&reading.temperatures, language);
    let name = texts::temperature(language);
    line(name, hottest, &below(Quantity::Temperature));
    let throttling = reading.throttling;
    let throttling = throttling.map(|bits| format_throttling(bits, language));
    line(texts::throttling(language), throttling, "");
    let load = reading.load.as_ref();
    let load = load.map(|load| format_load(load, language));
    line(texts::load(language), load, &below(Quantity::Load));
    let memory = reading.memory.map(|memory| format_memory(memory, language));
    line(texts::memory(language), memory, &below(Quantity::Memory));
    let disk = reading.disk.map(|disk| format_disk(disk, language));
    line(texts::disk(language), disk, &below(Quantity::Disk));
    for interface in &reading.interfaces {
        let name = texts::network(language, &interface.name);
        line(&name, Some(format_interface(interface, language)), "");
    }
    let traffic = below(Quantity::Network);
    if !traffic.is_empty() {
        let _ = writeln!(text, "- {}{traffic}", name_of(Quantity::Network, language));
    }
    if Quantity::ALL
        .into_iter()
        .any(|quantity| history.course(quantity).is_some())
    {
        let covered = format_span(covered_seconds(history), language);
        let _ = writeln!(text, "\n{}", texts::lines_show(language, &covered));
    }
    text
}

/// The last 24 hours in numbers, for the model.
pub fn format_history(history: &History) -> String {
    let language = Language::English;
    let minutes = SAMPLE_INTERVAL.as_secs() / 60;
    if history.count() < 2 {
        return format!(
            "There is no history yet: it begins when the gateway runs, which takes a sample every \
             {minutes} minutes and keeps a week."
        );
    }
    let each = samples_per_column(history.count()) as u64 * minutes;
    let mut text = format!(
        "The last {}, oldest first. Each value is the highest of {each} minutes; - is a gap.\n",
        format_span(covered_seconds(history), language)
    );
    for quantity in Quantity::ALL {
        let _ = write!(text, "- {}: ", name_of(quantity, language));
        let Some(course) = history.course(quantity) else {
            let _ = writeln!(text, "{}", texts::unknown(language));
            continue;
        };
        let columns = course.columns.iter();
        let values: Vec<String> = columns
            .map(|value| value.map_or("-".to_owned(), |value| format_value(quantity, value)))
            .collect();
        let _ = writeln!(
            text,
            "mean {}{}{}  \n  {}",
            format_value(quantity, course.mean),
            unit_of(quantity),
            draw(quantity, &course, language),
            values.join(" ")
        );
    }
    text
}

/// A course on a line of its own below its value: the spaces make a line break.
fn draw(quantity: Quantity, course: &Course, language: Language) -> String {
    let (least, most) = (course.least, course.most);
    let (least, most) = (format_value(quantity, least), format_value(quantity, most));
    let range = match least == most {
        true => texts::range_always(language, &most),
        false => texts::range(language, &least, &most),
    };
    format!("  \n  `{}` {range}{}", course.line(), unit_of(quantity))
}

fn name_of(quantity: Quantity, language: Language) -> &'static str {
    match quantity {
        Quantity::Temperature => texts::temperature(language),
        Quantity::Load => texts::load(language),
        Quantity::Memory => texts::memory_used(language),
        Quantity::Disk => texts::disk_used(language),
        Quantity::Network => texts::traffic(language),
    }
}

fn unit_of(quantity: Quantity) -> String {
    match quantity.unit() {
        "" => String::new(),
        unit => format!(" {unit}"),
    }
}

fn format_value(quantity: Quantity, value: f32) -> String {
    let step = match quantity {
        Quantity::Temperature | Quantity::Network => 0.1,
        Quantity::Load => 0.01,
        Quantity::Memory | Quantity::Disk => 1.0,
    };
    short_value(f64::from(value), step)
}

/// The time that the samples of a history cover.
fn covered_seconds(history: &History) -> u64 {
    history.count() as u64 * SAMPLE_INTERVAL.as_secs()
}

fn format_temperature(all: &[Temperature], language: Language) -> Option<String> {
    let hottest = all.first()?;
    let degrees = tenths(hottest.millidegrees / 100);
    Some(match all.len() {
        1 => texts::one_sensor(language, &degrees, &hottest.sensor),
        count => texts::hottest_sensor(language, &degrees, &hottest.sensor, &count),
    })
}

fn format_throttling(bits: Throttling, language: Language) -> String {
    let list = |reasons: Vec<Throttle>| {
        let names = reasons.into_iter().map(|reason| match reason {
            Throttle::UnderVoltage => texts::under_voltage(language),
            Throttle::FrequencyCapped => texts::frequency_capped(language),
            Throttle::Throttled => texts::throttled(language),
            Throttle::SoftLimit => texts::soft_limit(language),
        });
        names.collect::<Vec<_>>().join(texts::comma(language))
    };
    let none_or = |list: String| match list.is_empty() {
        true => texts::none(language).to_owned(),
        false => list,
    };
    let (now, earlier) = (bits.now().collect(), bits.earlier().collect());
    let (now, earlier) = (none_or(list(now)), list(earlier));
    if earlier.is_empty() {
        now
    } else {
        texts::throttled_earlier(language, &now, &earlier)
    }
}

fn format_load(load: &Load, language: Language) -> String {
    let [one, five, fifteen] = load.averages.map(hundredths);
    let averages = texts::averages(language, &one, &five, &fifteen);
    match load.processors {
        None => averages,
        Some(1) => averages + texts::one_processor(language),
        Some(count) => averages + &texts::processors(language, &count),
    }
}

fn format_memory(memory: Memory, language: Language) -> String {
    let amount = |bytes| format_amount(bytes, language);
    let mut text = texts::free_of(language, &amount(memory.available), &amount(memory.total));
    push_used(&mut text, memory.used_percent(), language);
    if memory.swap_total > 0 {
        let used = amount(memory.swap_total.saturating_sub(memory.swap_free));
        text += &texts::swap(language, &used, &amount(memory.swap_total));
    }
    text
}

fn format_disk(disk: Disk, language: Language) -> String {
    let amount = |bytes| format_amount(bytes, language);
    let mut text = texts::free_of(language, &amount(disk.free), &amount(disk.total));
    push_used(&mut text, disk.used_percent(), language);
    if disk.is_read_only {
        text += texts::read_only(language);
    }
    text
}

fn push_used(text: &mut String, percent: Option<u8>, language: Language) {
    if let Some(percent) = percent {
        *text += &texts::used(language, &percent);
    }
}

/// Load and memory in a line each.
pub fn format_busy(reading: &Reading, language: Language) -> String {
    let load = reading
        .load
        .as_ref()
        .map(|load| format_load(load, language));
    let memory = reading.memory.map(|memory| format_memory(memory, language));
    let lines = [
        (texts::load(language), load),
        (texts::memory(language), memory),
    ];
    let lines = lines
        .into_iter()
        .filter_map(|(name, value)| Some(format!("- {name}{}{}", texts::colon(language), value?)));
    lines.collect::<Vec<_>>().join("\n")
}

/// A network interface.
pub fn format_interface(interface: &Interface, language: Language) -> String {
    let mut text = match interface.state.as_deref() {
        Some("up") => texts::state_up(language),
        Some("down") => texts::state_down(language),
        None => texts::state_unknown(language),
        Some(other) => other,
    }
    .to_owned();
    if let Some(address) = interface.address {
        let _ = write!(text, "{}{address}", texts::pause(language));
    }
    if let Some(signal) = interface.signal {
        text += &texts::signal(language, &signal);
    }
    if let Some(bytes) = interface.received {
        text += &texts::received(language, &format_amount(bytes, language));
    }
    if let Some(bytes) = interface.sent {
        text += &texts::sent(language, &format_amount(bytes, language));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_firmware_bits_are_words() {
        let words = |bits| format_throttling(Throttling(bits), Language::English);
        assert_eq!(words(0), "none");
        assert_eq!(words(0x50005), "under-voltage, throttled");
        assert_eq!(words(0x50000), "none; earlier: under-voltage, throttled");
        let all = "under-voltage; earlier: frequency capped, throttled, soft temperature limit";
        assert_eq!(words(0xf_0001), all);
        assert_eq!(words(0xfff0_fff0), "none");
    }

    #[test]
    fn a_read_only_disk_is_named() {
        let card = Disk {
            total: 0,
            used: 0,
            free: 0,
            is_read_only: true,
        };
        assert_eq!(
            format_disk(card, Language::English),
            "0 bytes free of 0 bytes, **read-only: nothing can be written**"
        );
    }

    #[test]
    fn the_status_comes_in_chinese() {
        let load = Load {
            averages: [12, 8, 5],
            processors: Some(4),
        };
        assert_eq!(
            format_load(&load, Language::Chinese),
            "1、5、15 分钟平均：0.12、0.08、0.05，4 个处理器"
        );
        let status = format_status(
            "a board",
            &Reading::default(),
            &History::default(),
            Language::Chinese,
        );
        assert!(status.contains("- 温度：未知"), "{status}");
    }
}
