//! A week with 20 power cuts, and a checker that knows what was promised.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;

use super::*;
use crate::harness::gateway::Gateway;
use crate::harness::model::say;

const STEP: Duration = Duration::from_mins(30);
const STEPS: usize = 7 * 48;
const CUTS: usize = 20;

/// What a job promises.
struct Promise {
    id: &'static str,
    /// Its planned times, in milliseconds since 1970.
    planned: Vec<i64>,
    catches_up: bool,
    /// What stands in the chat after each run.
    says: String,
    /// The time up to which its runs are accounted for.
    seen_to: i64,
    /// Runs that have to come.
    must: BTreeSet<i64>,
    /// Runs that a power cut may have ended.
    may: BTreeSet<i64>,
    /// Power cuts during a run.
    cuts: usize,
    /// How each run ended.
    ended: BTreeMap<i64, String>,
}

impl Promise {
    fn new(id: &'static str, planned: impl Iterator<Item = i64>, says: &str) -> Self {
        Self {
            id,
            planned: planned.collect(),
            catches_up: true,
            says: says.to_owned(),
            seen_to: 0,
            must: BTreeSet::new(),
            may: BTreeSet::new(),
            cuts: 0,
            ended: BTreeMap::new(),
        }
    }

    /// The latest planned time that has passed and is not accounted for.
    fn due(&self, now: i64) -> Option<i64> {
        let passed = self.planned.iter().rev().find(|planned| **planned <= now);
        passed.copied().filter(|planned| *planned > self.seen_to)
    }

    /// The gateway runs and the clock has come to this time.
    fn runs_at(&mut self, now: i64) {
        if let Some(planned) = self.due(now) {
            let is_in_time = planned == now;
            if self.catches_up || (is_in_time && !self.may.contains(&planned)) {
                self.must.insert(planned);
            }
        }
        self.seen_to = now;
    }

    /// The power goes at this time, just when the jobs are due.
    fn is_cut_at(&mut self, now: i64) {
        if let Some(planned) = self.due(now) {
            self.may.insert(planned);
            self.cuts += 1;
        }
    }

    fn read(&mut self, home: &Home) {
        self.ended.extend(runs(home, self.id));
    }

    /// The planned times of the runs that were done.
    fn done(&self) -> BTreeSet<i64> {
        let done = self.ended.iter().filter(|(_, status)| *status == "ok");
        done.map(|(planned, _)| *planned).collect()
    }

    /// How often it was said.
    fn count(&self, texts: &[String]) -> usize {
        texts
            .iter()
            .filter(|text| text.contains(&self.says))
            .count()
    }

    fn is_kept(&self) -> bool {
        let is_done = |planned| self.ended.get(planned).is_some_and(|status| status == "ok");
        self.must.iter().all(is_done)
    }
}

/// Random numbers that are the same in each run of the test (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % most
    }
}

/// The jobs, and what they promise.
fn plan(clock: &Turned) -> (Vec<Value>, Vec<Promise>) {
    let begin = clock.now_ms();
    let hours = |step: usize, first: i64| {
        (0..)
            .map(move |count| begin + 3_600_000 * (first + step as i64 * count))
            .take(7 * 24 / step)
    };
    let mut promises = vec![
        Promise::new("water", hours(3, 3), "⏰ water"),
        Promise::new("report", hours(24, 7), "Here is the report."),
        Promise::new("backup", hours(2, 1), "backup is done"),
        Promise::new("pills", hours(4, 4), "⏰ pills"),
    ];
    promises[3].catches_up = false;
    let mut pills = job(clock, "pills", every(4 * HOUR), reminder("pills"));
    pills["catchUp"] = json!(false);
    let line = "echo x >> backups; echo backup is done";
    let mut jobs = vec![
        job(clock, "water", every(3 * HOUR), reminder("water")),
        job(clock, "report", cron("0 7 * * *"), turn("report")),
        job(clock, "backup", cron("0 1-23/2 * * *"), command(line)),
        pills,
    ];
    for (number, id) in ["once0", "once1", "once2", "once3", "once4", "once5"]
        .into_iter()
        .enumerate()
    {
        let after = HOUR * (25 * number as u32 + 5);
        let planned = begin + after.as_millis() as i64;
        promises.push(Promise::new(
            id,
            std::iter::once(planned),
            &format!("⏰ {id}"),
        ));
        jobs.push(job(clock, id, at(clock, after), reminder(id)));
    }
    (jobs, promises)
}

impl Chance {
    /// The steps at whose ends the power goes: full hours, at which something is due.
    fn cuts(&mut self) -> BTreeSet<usize> {
        let mut cuts = BTreeSet::new();
        while cuts.len() < CUTS {
            cuts.insert(2 * self.below(STEPS as u64 / 2 - 10) as usize + 1);
        }
        cuts
    }
}

#[test]
fn a_week_with_twenty_power_cuts_runs_every_job_as_promised() {
    let clock = Turned::at("2027-03-01T00:00:00Z");
    let scene = scene(&clock, |_| say("Here is the report."));
    let (mut jobs, mut promises) = plan(&clock);
    // A chat takes about one message a second: the jobs have several.
    let others = [1002, 1003, 1004].map(|id| scene.telegram.person(id, "Ben", None));
    for (job, other) in [1, 2, 3].into_iter().zip([1002, 1003, 1004]) {
        jobs[job]["payload"]["channel"] = json!("telegram");
        jobs[job]["payload"]["to"] = json!(other.to_string());
    }
    let said = || {
        let mut texts = scene.texts();
        texts.extend(
            others
                .iter()
                .flat_map(|person| scene.texts_in(person.chat())),
        );
        texts
    };
    write(&scene.home, &jobs);

    let mut chance = Chance(7);
    let cuts = chance.cuts();
    let mut down = 0;
    let mut gateway: Option<Gateway> = Some(scene.start());
    gateway.as_ref().unwrap().wait_for_log("ready");
    for step in 0..STEPS {
        clock.forward(STEP);
        let now = clock.now_ms();
        if cuts.contains(&step)
            && let Some(running) = gateway.take()
        {
            // Not a wait for something, but the instant at which the power goes.
            std::thread::sleep(Duration::from_millis(chance.below(120)));
            running.kill();
            promises
                .iter_mut()
                .for_each(|promise| promise.is_cut_at(now));
            promises
                .iter_mut()
                .for_each(|promise| promise.read(&scene.home));
            down = chance.below(17) as usize;
            clock.reboot();
        } else if gateway.is_none() && down > 0 {
            down -= 1;
            continue;
        }
        if gateway.is_none() && down == 0 {
            gateway = Some(scene.start());
        }
        if gateway.is_some() {
            promises.iter_mut().for_each(|promise| promise.runs_at(now));
            wait_until(&format!("what is due in step {step} has run"), || {
                promises.iter_mut().all(|promise| {
                    promise.read(&scene.home);
                    promise.is_kept()
                })
            });
        }
    }
    for promise in &promises {
        let is_said = |texts: &[String]| promise.count(texts) >= promise.done().len();
        wait_until(&format!("{} is said", promise.says), || is_said(&said()));
    }
    gateway.unwrap().stop().ends_with(0);
    check(&scene, &promises, &said());
}

fn check(scene: &Scene, promises: &[Promise], texts: &[String]) {
    for promise in promises {
        let id = promise.id;
        let done = promise.done();
        assert!(done.is_superset(&promise.must), "{id}: {done:?}");
        let unexpected: Vec<_> = done
            .iter()
            .filter(|planned| !promise.must.contains(planned) && !promise.may.contains(planned))
            .collect();
        assert!(unexpected.is_empty(), "{id}: {unexpected:?}");
        // What the channel has taken when the power goes, it may get again.
        let said = promise.count(texts);
        assert!(
            (done.len()..=done.len() + promise.cuts).contains(&said),
            "{id}: {said} messages for {} runs and {} power cuts",
            done.len(),
            promise.cuts
        );
        let failed = promise.ended.values().filter(|status| *status == "error");
        assert_eq!(failed.count(), 0, "{id}");
    }
    let count = |id: &str| promises.iter().find(|promise| promise.id == id).unwrap();
    let reports = count("report");
    let asked = scene.model.requests().len();
    assert!(
        asked <= reports.must.len() + 2 * reports.cuts,
        "{asked} requests"
    );
    let backups = fs::read_to_string(scene.home.workspace("backups")).unwrap();
    let (backups, promised) = (backups.lines().count(), count("backup"));
    assert!(
        (promised.must.len()..=promised.must.len() + 2 * promised.cuts).contains(&backups),
        "{backups} backups"
    );
}
