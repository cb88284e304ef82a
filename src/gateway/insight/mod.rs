//! The HTTP server for programs and browsers, as the gateway's other side: its health, and its figures.

mod hooks;
mod page;
mod parts;

use std::sync::{Arc, Weak};

use serde_json::Value;

use super::Gateway;
use crate::base::access::{Role, Rules};
use crate::base::error::{Error, Result};
use crate::base::message::SessionKey;
use crate::board::reading::Reading;
use crate::channels::http::hook::HookCall;
use crate::channels::http::{self, Figure, FigureKind, Host, Part, Said};
use crate::channels::kit::health::Task;
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
        self.gateway()?.store_file(visitor, place, bytes)
    }
}

/// Figures in the order of their output.
#[derive(Default)]
struct Figures(Vec<Figure>);

impl Figures {
    fn add(&mut self, kind: FigureKind, (name, help): (&'static str, &'static str), value: f64) {
        let labels = Vec::new();
        self.0.push(Figure {
            name,
            help,
            kind,
            labels,
            value,
        });
    }

    fn gauge(&mut self, name: &'static str, help: &'static str, value: f64) {
        self.add(FigureKind::Gauge, (name, help), value);
    }

    /// Adds a number of each thing that has one.
    fn each(
        &mut self,
        kind: FigureKind,
        (name, help): (&'static str, &'static str),
        label: &'static str,
        values: impl Iterator<Item = (String, f64)>,
    ) {
        for (of, value) in values {
            self.0.push(Figure {
                name,
                help,
                kind,
                labels: vec![(label, of)],
                value,
            });
        }
    }

    fn board(&mut self, reading: &Reading) {
        let sensors = reading.temperatures.iter();
        let sensors = sensors.map(|one| (one.sensor.clone(), f64::from(one.millidegrees) / 1000.0));
        let help = "Temperature of a sensor of the board.";
        self.each(
            FigureKind::Gauge,
            ("board_temperature_celsius", help),
            "sensor",
            sensors,
        );
        if let Some(load) = &reading.load {
            let [minute, ..] = load.averages;
            let help = "Processes that run or wait for it, on average over a minute.";
            self.gauge("board_load1", help, f64::from(minute) / 100.0);
        }
        if let Some(memory) = &reading.memory {
            let help = "Memory that programs could get without swapping.";
            self.gauge(
                "board_memory_available_bytes",
                help,
                memory.available as f64,
            );
            self.gauge(
                "board_memory_total_bytes",
                "All memory of the board.",
                memory.total as f64,
            );
        }
        if let Some(disk) = &reading.disk {
            let help = "What can still be written to the disk of the home folder.";
            self.gauge("board_disk_free_bytes", help, disk.free as f64);
            self.gauge(
                "board_disk_total_bytes",
                "Size of that disk.",
                disk.total as f64,
            );
        }
        if let Some(uptime) = reading.uptime {
            self.gauge(
                "board_uptime_seconds",
                "Time since the board was started.",
                uptime as f64,
            );
        }
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
        let uptime = self.since.elapsed().as_secs() as f64;
        all.gauge(
            "uptime_seconds",
            "Time since the gateway was started.",
            uptime,
        );
        all.gauge(
            "turns_running",
            "Turns and commands that run.",
            load.running as f64,
        );
        all.gauge(
            "turns_waiting",
            "Messages that wait for a turn.",
            load.waiting as f64,
        );
        let unsent = self.parts.outbox.count() as f64;
        all.gauge(
            "messages_unsent",
            "Messages that wait for delivery.",
            unsent,
        );
        let aside = self.parts.outbox.count_aside() as f64;
        all.gauge(
            "messages_set_aside",
            "Messages that could not be sent.",
            aside,
        );
        if let Some(bytes) = resident() {
            all.gauge("resident_bytes", "Memory of the gateway.", bytes as f64);
        }
        self.spent(&mut all);
        let is_reached =
            |(name, delivery): (&&'static str, &crate::channels::delivery::Delivery)| {
                let is_well = delivery.health().outages().is_empty();
                ((*name).to_owned(), f64::from(u8::from(is_well)))
            };
        let help = "Whether nothing fails on a channel.";
        let reached = self.deliveries.iter().map(is_reached);
        all.each(FigureKind::Gauge, ("channel_up", help), "channel", reached);
        let help = "Whether a watch has an alarm.";
        let alarms = self.parts.watches.alarms().into_iter();
        let alarms = alarms.map(|(key, is_alarm)| (key, f64::from(u8::from(is_alarm))));
        all.each(FigureKind::Gauge, ("watch_alarm", help), "watch", alarms);
        all.board(&self.parts.board.reading());
        all.0
    }

    /// The tokens and the cost of this day.
    fn spent(&self, all: &mut Figures) {
        let models = self.live().agents.default_agent().usage_today();
        let of = |value: fn(&crate::base::chat::Usage) -> u64| {
            let each = models.iter();
            each.map(move |(model, usage)| (model.clone(), value(usage) as f64))
        };
        let counter = FigureKind::Counter;
        let help = "Tokens that went to a model since midnight.";
        all.each(
            counter,
            ("today_tokens_in", help),
            "model",
            of(|usage| usage.input),
        );
        let help = "Tokens that came from a model since midnight.";
        all.each(
            counter,
            ("today_tokens_out", help),
            "model",
            of(|usage| usage.output),
        );
        let help = "Requests to a model since midnight.";
        all.each(
            counter,
            ("today_requests", help),
            "model",
            of(|usage| usage.requests),
        );
        let cost = sum(&models).cost as f64 / 1e9;
        let help = "Cost since midnight in US dollars, as far as prices are known.";
        all.add(counter, ("today_cost_usd", help), cost);
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
