//! The HTTP server for programs and browsers, as the gateway's other side: its health, and its figures.

mod hooks;
mod page;
mod parts;

use std::path::{Component, Path};
use std::sync::{Arc, Weak};

use serde_json::Value;

use super::Gateway;
use crate::base::access::{Role, Rules};
use crate::base::chat::Usage;
use crate::base::error::{Error, Result};
use crate::base::message::SessionKey;
use crate::board::reading::Reading;
use crate::channels::http::hook::HookCall;
use crate::channels::http::{self, Figure, FigureKind, Host, Part, Said};
use crate::channels::kit::health::Task;
use crate::gateway::files;
use crate::store::state::pairing::pages::Visitor;
use crate::store::state::usage::sum;
use crate::sys::memory::page_bytes;

/// The gateway for the HTTP server, which outlives it by the time of its end.
pub struct Insight(Weak<Gateway>);

impl Insight {
    /// For a gateway whose threads are being started.
    pub fn new(gateway: &Arc<Gateway>) -> Self {
        Self(Arc::downgrade(gateway))
    }

    /// The gateway, unless it ends.
    fn gateway(&self) -> Result<Arc<Gateway>> {
        let gateway = self.0.upgrade().filter(|gateway| !gateway.is_stopping());
        gateway.ok_or_else(|| Error::Failed("the gateway stops".to_owned()))
    }
}

impl Host for Insight {
    fn trouble(&self) -> Option<String> {
        match self.0.upgrade() {
            Some(gateway) => gateway.trouble(),
            None => Some("the gateway has ended".to_owned()),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let gateway = self.0.upgrade();
        gateway.map_or_else(Vec::new, |gateway| gateway.figures())
    }

    fn agents(&self) -> Vec<String> {
        let Some(gateway) = self.0.upgrade() else {
            return Vec::new();
        };
        let live = gateway.live();
        let agents = live.agents.all().iter();
        agents.map(|one| one.profile.id.clone()).collect()
    }

    fn hook(&self, call: HookCall) -> Result<()> {
        self.gateway()?.take_hook(call)
    }

    fn role_of(&self, visitor: &Visitor) -> Option<Role> {
        self.0.upgrade()?.role_of_visitor(visitor)
    }

    fn said(&self, session: &SessionKey, most: usize) -> Vec<Said> {
        let gateway = self.0.upgrade();
        gateway.map_or_else(Vec::new, |gateway| gateway.said_in(session, most))
    }

    fn conversations(&self, visitor: &Visitor) -> Vec<String> {
        let gateway = self.0.upgrade();
        gateway.map_or_else(Vec::new, |gateway| gateway.conversations_of(visitor))
    }

    fn show(&self, part: &Part, visitor: &Visitor, role: Role) -> Result<Value> {
        self.gateway()?.show_part(part, visitor, role)
    }

    fn load(&self, visitor: &Visitor, path: &str, most: u64) -> Result<Vec<u8>> {
        self.gateway()?.load_file(visitor, path, most)
    }

    fn store(&self, visitor: &Visitor, place: (&str, bool), bytes: &[u8]) -> Result<()> {
        let (path, _) = place;
        files::check_target(path, visitor.language)?;
        // Folders that are missing are made on the way, also on one that leads out in the end.
        let is_up = |part: Component<'_>| part == Component::ParentDir;
        if Path::new(path).components().any(is_up) {
            return Err(Error::Usage(format!("{path}: write it without ..")));
        }
        self.gateway()?.store_file(visitor, place, bytes)
    }
}

/// Figures in the order of their output.
#[derive(Default)]
struct Figures(Vec<Figure>);

impl Figures {
    /// Adds numbers that need no label, without those that are not known.
    fn gauges(&mut self, gauges: &[(&'static str, &'static str, Option<f64>)]) {
        for (name, help, value) in gauges {
            let values = value.iter().map(|value| (String::new(), *value));
            self.each(FigureKind::Gauge, (name, help), "", values);
        }
    }

    /// Adds a number of each thing that has one. Without a `label` there is one thing.
    fn each(
        &mut self,
        kind: FigureKind,
        (name, help): (&'static str, &'static str),
        label: &'static str,
        values: impl Iterator<Item = (String, f64)>,
    ) {
        for (of, value) in values {
            let labels = match label {
                "" => Vec::new(),
                label => vec![(label, of)],
            };
            self.0.push(Figure {
                name,
                help,
                kind,
                labels,
                value,
            });
        }
    }

    fn board(&mut self, reading: &Reading) {
        let sensors = reading.temperatures.iter();
        let sensors = sensors.map(|one| (one.sensor.clone(), f64::from(one.millidegrees) / 1000.0));
        let name = "board_temperature_celsius";
        let help = "Temperature of a sensor of the board.";
        self.each(FigureKind::Gauge, (name, help), "sensor", sensors);
        let load = reading.load.as_ref();
        let (memory, disk) = (reading.memory.as_ref(), reading.disk.as_ref());
        self.gauges(&[
            (
                "board_load1",
                "Processes that run or wait for it, on average over a minute.",
                load.map(|load| f64::from(load.averages[0]) / 100.0),
            ),
            (
                "board_memory_available_bytes",
                "Memory that programs could get without swapping.",
                memory.map(|memory| memory.available as f64),
            ),
            (
                "board_memory_total_bytes",
                "All memory of the board.",
                memory.map(|memory| memory.total as f64),
            ),
            (
                "board_disk_free_bytes",
                "What can still be written to the disk of the home folder.",
                disk.map(|disk| disk.free as f64),
            ),
            (
                "board_disk_total_bytes",
                "Size of that disk.",
                disk.map(|disk| disk.total as f64),
            ),
            (
                "board_uptime_seconds",
                "Time since the board was started.",
                reading.uptime.map(|uptime| uptime as f64),
            ),
        ]);
    }
}

impl Gateway {
    /// The rules of a channel about access; `None` for one that does not exist.
    pub(super) fn rules_of(&self, channel: &str) -> Option<Arc<Rules>> {
        match self.live().channels.named(channel) {
            Some(bot) => Some(bot.rules().into()),
            // The configuration names none of its clients: they have tokens, or are known on another channel.
            None => http::is_client(channel).then(Arc::default),
        }
    }

    /// What does not work, of what the gateway is for.
    fn trouble(&self) -> Option<String> {
        if self.is_stopping() {
            return Some("the gateway stops".to_owned());
        }
        // A channel that cannot be reached is the network's trouble, and /metrics has it.
        self.deliveries.iter().find_map(|(name, delivery)| {
            let outages = delivery.health().outages();
            let outage = outages.iter().find(|outage| outage.task == Task::Accept)?;
            Some(format!("{name}: cannot store messages: {}", outage.error))
        })
    }

    fn figures(&self) -> Vec<Figure> {
        let mut all = Figures::default();
        let load = *self.load.lock();
        let outbox = &self.parts.outbox;
        all.gauges(&[
            (
                "uptime_seconds",
                "Time since the gateway was started.",
                Some(self.since.elapsed().as_secs() as f64),
            ),
            (
                "turns_running",
                "Turns and commands that run.",
                Some(load.running as f64),
            ),
            (
                "turns_waiting",
                "Messages that wait for a turn.",
                Some(load.waiting as f64),
            ),
            (
                "messages_unsent",
                "Messages that wait for delivery.",
                Some(outbox.count() as f64),
            ),
            (
                "messages_set_aside",
                "Messages that could not be sent.",
                Some(outbox.count_aside() as f64),
            ),
            (
                "resident_bytes",
                "Memory of the gateway.",
                resident().map(|bytes| bytes as f64),
            ),
        ]);
        self.spent(&mut all);
        let as_figure = |is_so: bool| f64::from(u8::from(is_so));
        let reached = self.deliveries.iter().map(|(name, delivery)| {
            let is_well = delivery.health().outages().is_empty();
            ((*name).to_owned(), as_figure(is_well))
        });
        let help = "Whether nothing fails on a channel.";
        all.each(FigureKind::Gauge, ("channel_up", help), "channel", reached);
        let alarms = self.parts.watches.alarms().into_iter();
        let alarms = alarms.map(|(key, is_alarm)| (key, as_figure(is_alarm)));
        let help = "Whether a watch has an alarm.";
        all.each(FigureKind::Gauge, ("watch_alarm", help), "watch", alarms);
        all.board(&self.parts.board.reading());
        all.0
    }

    /// The tokens and the cost of this day.
    fn spent(&self, all: &mut Figures) {
        type Count = fn(&Usage) -> u64;
        const COUNTS: [(&str, &str, Count); 3] = [
            (
                "today_tokens_in_total",
                "Tokens that went to a model since midnight.",
                |usage| usage.input,
            ),
            (
                "today_tokens_out_total",
                "Tokens that came from a model since midnight.",
                |usage| usage.output,
            ),
            (
                "today_requests_total",
                "Requests to a model since midnight.",
                |usage| usage.requests,
            ),
        ];
        let models = self.live().agents.default_agent().usage_today();
        for (name, help, count) in COUNTS {
            let each = models.iter();
            let each = each.map(|(model, usage)| (model.clone(), count(usage) as f64));
            all.each(FigureKind::Counter, (name, help), "model", each);
        }
        let cost = sum(&models).cost as f64 / 1e9;
        let help = "Cost since midnight in US dollars, as far as prices are known.";
        let cost = std::iter::once((String::new(), cost));
        all.each(
            FigureKind::Counter,
            ("today_cost_usd_total", help),
            "",
            cost,
        );
    }
}

/// Memory that this process has in the machine's, in bytes (proc_pid_statm(5)).
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_process_is_known() {
        assert!(resident().is_some_and(|bytes| bytes > 100_000));
    }
}
