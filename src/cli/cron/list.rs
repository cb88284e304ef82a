//! `peacrab cron list`, `show`, `next` and `history`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde_json::{Value, json};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Planner, texts};
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::limits::cli::COLUMNS_DEFAULT;
use crate::cli::terminal::print;
use crate::schedule::edit::find;
use crate::schedule::show::{self, Listed};
use crate::schedule::{Job, Phase, Run};
use crate::text::{escape_json, reveal};

/// Columns of a column in the list of jobs, but for the last one.
const LIST_CRON_COLUMNS: usize = 28;

const ENGLISH: Language = Language::English;

/// Lists the jobs, the next one first.
pub fn print_jobs(planner: &Planner<'_>, json: bool) -> Result<()> {
    let mut jobs = planner.read()?.jobs;
    if jobs.is_empty() && !json {
        return print::line(texts::NO_JOBS);
    }
    let (now_ms, zone) = (planner.now_ms, &planner.zone);
    let next = |job: &Job| {
        if job.enabled {
            show::next_run(job, now_ms, zone).unwrap_or(i64::MAX)
        } else {
            i64::MAX
        }
    };
    jobs.sort_by_cached_key(|job| (next(job), !job.enabled));
    if json {
        let lines = jobs.iter().map(|job| as_line(&job_as_json(planner, job)));
        return print::out(&lines.collect::<String>());
    }
    let listed: Vec<Listed> = jobs
        .iter()
        .map(|job| show::list(job, now_ms, zone, ENGLISH))
        .collect();
    let rows = listed.into_iter().map(|job| {
        let title = match job.note {
            Some(note) => format!("[{note}] {}", job.title),
            None => job.title,
        };
        [job.id, job.next, job.schedule, title]
    });
    print_table(["ID", "NEXT RUN", "WHEN", "JOB"], rows.collect())?;
    if jobs.iter().any(|job| job.enabled) {
        planner.tell_gateway();
    }
    Ok(())
}

/// Shows all of a job.
pub fn print_job(planner: &Planner<'_>, name: &str, json: bool) -> Result<()> {
    let jobs = planner.read()?;
    let job = find(&jobs.jobs, name, ENGLISH)?;
    if json {
        return print::json(&job_as_json(planner, job).to_string());
    }
    let listed = show::list(job, planner.now_ms, &planner.zone, ENGLISH);
    let row = |name: &str, value: &str| format!("  {name:<9}  {}\n", reveal(value));
    let mut text = format!("{}  {}\n", print::bold(&job.id), reveal(&listed.title));
    text += &row("when", &listed.schedule);
    if let crate::schedule::Schedule::Cron { expr, tz } = &job.schedule {
        let zone = tz.as_deref().unwrap_or(planner.zone.name());
        text += &row("cron", &format!("{expr} ({zone})"));
    }
    text += &row("next run", &listed.next);
    if job.enabled {
        let runs = show::next_runs(job, planner.now_ms, &planner.zone, 3);
        for at_ms in runs.iter().skip(1) {
            text += &row("", &planner.time(*at_ms));
        }
    }
    if let Some(run) = job.state.runs.last() {
        text += &row("last run", &describe_run(planner, run));
    }
    if let Some(why) = job.disabled_because() {
        let enable = format!("{} cron enable {}", planner.peacrab(), job.id);
        text += &row("disabled", &texts::disabled_because(why, &enable));
    }
    text += &row("action", &texts::action(job));
    text += &row("result to", &planner.destination(job));
    let mut rules = vec![if job.catch_up {
        "a missed run is made up for, once"
    } else {
        "a missed run is left out"
    }];
    if job.delete_after_run {
        rules.push("the job is removed after its first run");
    }
    text += &row("rules", &rules.join("; "));
    print::out(&text)?;
    print::out(&format!("\n{}\n", reveal(&job.payload.message)))
}

/// Shows the coming runs of all jobs in their order.
pub fn print_next(planner: &Planner<'_>, number: usize, json: bool) -> Result<()> {
    let jobs = planner.read()?.jobs;
    let (now_ms, zone) = (planner.now_ms, &planner.zone);
    let enabled = jobs.iter().enumerate().filter(|(_, job)| job.enabled);
    let first = |(index, job)| Some(Reverse((show::next_run(job, now_ms, zone)?, index)));
    let mut coming: BinaryHeap<Reverse<(i64, usize)>> = enabled.filter_map(first).collect();
    let mut rows = Vec::new();
    let mut lines = String::new();
    for _ in 0..number {
        let Some(Reverse((at_ms, index))) = coming.pop() else {
            break;
        };
        let Some(job) = jobs.get(index) else {
            break;
        };
        let phase = Phase {
            created_ms: job.created_at_ms,
            id: &job.id,
        };
        let is_last = job.delete_after_run;
        let after = job.schedule.next_after(at_ms.max(now_ms), &phase, zone);
        if let Some(after) = after.filter(|_| !is_last) {
            coming.push(Reverse((after, index)));
        }
        if json {
            let value = json!({"id": job.id, "name": job.title(), "at": planner.rfc3339(at_ms)});
            lines += &as_line(&value);
            continue;
        }
        let left = if at_ms <= now_ms {
            "now".to_owned()
        } else {
            show::left(at_ms - now_ms, ENGLISH)
        };
        rows.push([planner.time(at_ms), left, job.id.clone(), job.title()]);
    }
    match (json, rows.is_empty()) {
        (true, _) => print::out(&lines),
        (false, true) => print::line(texts::NOTHING_PLANNED),
        (false, false) => print_table(["NEXT RUN", "", "ID", "JOB"], rows),
    }
}

/// Shows the last runs of a job, or of all, the newest first.
pub fn print_history(
    planner: &Planner<'_>,
    name: Option<&str>,
    number: usize,
    json: bool,
) -> Result<()> {
    let jobs = planner.read()?.jobs;
    let chosen = match name {
        Some(name) => std::slice::from_ref(find(&jobs, name, ENGLISH)?),
        None => jobs.as_slice(),
    };
    let runs = chosen
        .iter()
        .flat_map(|job| job.state.runs.iter().map(move |run| (job, run)));
    let mut runs: Vec<(&Job, &Run)> = runs.collect();
    runs.sort_by_key(|(_, run)| Reverse(run.begun_ms));
    runs.truncate(number);
    if json {
        let lines = runs.iter().map(|(job, run)| {
            let mut value = run_as_json(planner, run);
            value["id"] = job.id.clone().into();
            value["name"] = job.title().into();
            as_line(&value)
        });
        return print::out(&lines.collect::<String>());
    }
    if runs.is_empty() {
        return print::line(texts::NO_RUNS);
    }
    let rows = runs.iter().map(|(job, run)| {
        let outcome = describe_outcome(run);
        [
            planner.time(run.begun_ms),
            outcome,
            job.id.clone(),
            job.title(),
        ]
    });
    print_table(["RUN", "OUTCOME", "ID", "JOB"], rows.collect())?;
    let failed = runs
        .iter()
        .filter_map(|(job, run)| Some((job, run, run.error.as_ref()?)));
    for (index, (job, run, error)) in failed.enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        let time = planner.time(run.begun_ms);
        print::out(&format!("{gap}{} {time}: {}\n", job.id, reveal(error)))?;
    }
    Ok(())
}

impl Planner<'_> {
    fn time(&self, at_ms: i64) -> String {
        show::time(at_ms, self.now_ms, &self.zone, ENGLISH)
    }

    fn rfc3339(&self, at_ms: i64) -> String {
        self.zone.at(at_ms.div_euclid(1000)).to_rfc3339()
    }
}

fn describe_run(planner: &Planner<'_>, run: &Run) -> String {
    let mut text = format!("{}, {}", planner.time(run.begun_ms), describe_outcome(run));
    if let Some(error) = &run.error {
        text += ": ";
        text += error;
    }
    text
}

/// How a run ended, how long it took, and how late it was.
fn describe_outcome(run: &Run) -> String {
    let mut text = show::describe_end(run, ENGLISH).to_owned();
    if run.duration_ms > 0 {
        text += &match run.duration_ms {
            0..10_000 => format!(", {:.1} s", run.duration_ms as f64 / 1000.0),
            longer => format!(", {}", show::span(longer, ENGLISH)),
        };
    }
    let late_ms = run.begun_ms.saturating_sub(run.planned_ms);
    if run.planned_ms > 0 && late_ms >= 60_000 {
        text += &format!(", {} late", show::span(late_ms, ENGLISH));
    }
    text
}

fn job_as_json(planner: &Planner<'_>, job: &Job) -> Value {
    let next = show::next_run(job, planner.now_ms, &planner.zone).filter(|_| job.enabled);
    let payload = &job.payload;
    json!({
        "id": job.id,
        "name": job.name,
        "enabled": job.enabled,
        "schedule": job.schedule,
        "when": crate::schedule::when::describe(&job.schedule, &planner.zone, ENGLISH),
        "next": next.map(|next| planner.rfc3339(next)),
        "kind": payload.kind,
        "message": payload.message,
        "deliver": payload.deliver.word(),
        "to": payload.chat().map(|chat| chat.to_string()),
        "agent": payload.agent,
        "model": payload.model,
        "session": payload.session,
        "catchUp": job.catch_up,
        "disabledBecause": job.disabled_because(),
        "once": job.delete_after_run,
        "last": job.state.runs.last().map(|run| run_as_json(planner, run)),
    })
}

fn run_as_json(planner: &Planner<'_>, run: &Run) -> Value {
    json!({
        "planned": planner.rfc3339(run.planned_ms),
        "begun": planner.rfc3339(run.begun_ms),
        "status": run.status,
        "durationMs": run.duration_ms,
        "error": run.error,
        "unshown": run.unshown,
    })
}

fn as_line(value: &Value) -> String {
    format!("{}\n", escape_json(&value.to_string()))
}

/// Prints rows below a heading; the last column has what is left of the terminal's width, or of a
/// line of 80 in a file.
fn print_table<const COLUMNS: usize>(
    heading: [&str; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
) -> Result<()> {
    let mut widths = heading.map(UnicodeWidthStr::width);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width()).min(LIST_CRON_COLUMNS);
        }
    }
    let columns = match print::columns() {
        usize::MAX => COLUMNS_DEFAULT,
        columns => columns,
    };
    let taken: usize = widths.iter().take(COLUMNS - 1).map(|width| width + 2).sum();
    if let Some(last) = widths.last_mut() {
        *last = columns.saturating_sub(taken).max(LAST_COLUMNS_MIN);
    }
    let mut text = String::new();
    let line = |cells: &[String; COLUMNS]| {
        let cells = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| fit(cell, *width));
        let line = cells.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned()
    };
    text += &format!("{}\n", print::dim(&line(&heading.map(str::to_owned))));
    for row in &rows {
        text += &line(row);
        text.push('\n');
    }
    print::out(&text)
}

/// Columns of the last column on the narrowest terminal.
const LAST_COLUMNS_MIN: usize = 12;

/// A text in exactly so many columns, cut with an ellipsis or filled with spaces.
fn fit(text: &str, columns: usize) -> String {
    let text = reveal(text);
    let width = text.width();
    if width <= columns {
        return format!("{text}{}", " ".repeat(columns - width));
    }
    let mut room = columns.saturating_sub(1);
    let fits = |char: &char| {
        let columns = char.width().unwrap_or(0);
        let is_fitting = columns <= room;
        room = room.saturating_sub(columns);
        is_fitting
    };
    let kept: String = text.chars().take_while(fits).collect();
    let left = columns.saturating_sub(kept.width() + 1);
    format!("{}…{}", kept, " ".repeat(left))
}
