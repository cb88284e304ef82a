//! `/plot`: the history of the board, or a table of the workspace, as a picture.

use std::fmt::Display;
use std::io::Read;
use std::path::Path;

use super::{Answer, Asking, button, in_rows, texts};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::CommandButton;
use crate::board::plot::{Asked, Wrong, format_span, in_words, parse};
use crate::gateway::commands::texts::list_comma;
use crate::gateway::cron::zone_of;
use crate::gateway::files::in_workspace;
use crate::text::markup::{inline_code, plain};
use crate::text::picture::csv;
use crate::text::picture::plot::{Across, Curve, Plot, format_value};

/// Bytes of a file with a table.
const CSV_BYTES: usize = 512 * 1024;

/// The spans that have a button, in seconds.
const SPANS: [u64; 3] = [6 * 3600, 24 * 3600, 7 * 24 * 3600];

/// The text of the least, the largest and the last value of a curve.
type Words = fn(Language, &dyn Display, &dyn Display, &dyn Display) -> String;

impl Asking<'_> {
    pub(in crate::gateway) fn plot(&self) -> Result<Answer> {
        let (board, language) = (&self.gateway.parts.board, self.language);
        let names = board.names();
        let asked = parse(self.argument, &names).map_err(|wrong| {
            Error::Usage(match wrong {
                Wrong::Span(span) => texts::plot_span(language, &inline_code(&span)),
                Wrong::Name(name, None) => texts::plot_unknown(language, &inline_code(&name)),
                Wrong::Name(name, Some(near)) => {
                    texts::plot_near(language, &inline_code(&name), &inline_code(&near))
                }
            })
        })?;
        match asked {
            Asked::List => Ok(self.list_series(&board.listed_names())),
            Asked::Csv(file) => self.plot_table(&file),
            Asked::History(names, seconds) => self.plot_history(&names, seconds),
        }
    }

    /// What there is to see, with a button for each that the board reports.
    fn list_series(&self, names: &[String]) -> Answer {
        let language = self.language;
        let mut text = texts::plot_list(language).to_owned();
        let mut buttons = Vec::new();
        for name in names {
            let curve = self.gateway.parts.board.series(name, SPANS[1]);
            let values = curve
                .as_ref()
                .and_then(|curve| self.describe(curve, texts::plot_values));
            if values.is_some() || self.gateway.parts.board.is_reported(name) {
                buttons.push(button(name, format!("/plot {name}")));
            }
            let values = values.unwrap_or_else(|| self.describe_missing(name));
            text.push_str(&format!("\n- {}: {values}", inline_code(name)));
        }
        Answer {
            text,
            buttons: in_rows(buttons),
            ..Answer::default()
        }
    }

    fn plot_history(&self, names: &[String], seconds: u64) -> Result<Answer> {
        let language = self.language;
        let zone = zone_of(&self.gateway.live().cron.tz);
        let plotted = self.gateway.parts.board.plot(names, seconds, &zone);
        let Some((curves, png)) = plotted else {
            let board = &self.gateway.parts.board;
            let missing = |name: &&String| !board.is_reported(name);
            let Some(name) = names.iter().find(missing) else {
                return Err(Error::Failed(texts::plot_no_values(language).to_owned()));
            };
            let mut text = texts::plot_missing(language, &inline_code(name));
            let there = board.names_with_values(seconds);
            if !there.is_empty() {
                let there: Vec<_> = there.iter().map(|name| inline_code(name)).collect();
                let there = there.join(list_comma(language));
                text = format!("{text} {}", texts::plot_there(language, &there));
            }
            return Err(Error::Failed(text));
        };
        let joined = names.join(" ");
        let others = SPANS.into_iter().filter(|span| *span != seconds);
        let buttons: Vec<CommandButton> = others
            .map(|span| {
                button(
                    &format_span(span),
                    format!("/plot {joined} {}", format_span(span)),
                )
            })
            .collect();
        Ok(Answer {
            text: self.describe_all(&curves, texts::plot_values),
            buttons: vec![buttons],
            files: vec![self.gateway.parts.outgoing.store("plot.png", &png)?],
            ..Answer::default()
        })
    }

    fn plot_table(&self, file: &str) -> Result<Answer> {
        let file = in_workspace(file);
        let language = self.language;
        let gateway = self.gateway;
        let hosted = gateway.agent_for(&gateway.live(), &self.message.session, Some(self.message));
        let workspace = hosted.workspace()?;
        let mut bytes = Vec::new();
        let opened = workspace.open_read(Path::new(file))?;
        let read = opened.take(CSV_BYTES as u64 + 1).read_to_end(&mut bytes);
        read.map_err(Error::io("read", file))?;
        if bytes.len() > CSV_BYTES {
            return Err(Error::TooLarge {
                what: file.to_owned(),
                limit: CSV_BYTES,
            });
        }
        let zone = zone_of(&gateway.live().cron.tz);
        let table = csv::read(&String::from_utf8_lossy(&bytes), &zone);
        let Some(table) = table else {
            return Err(Error::Usage(texts::plot_no_table(
                language,
                &inline_code(file),
            )));
        };
        let plot = Plot {
            curves: &table.curves,
            range: table.range,
            across: match table.is_timed {
                true => Across::Time(&zone),
                false => Across::Numbers,
            },
        };
        let mut text = self.describe_all(&table.curves, texts::plot_table_values);
        if table.left_out > 0 {
            text.push_str(&format!(
                "\n{}",
                texts::plot_left_out(language, &table.left_out)
            ));
        }
        Ok(Answer {
            text,
            files: vec![
                gateway
                    .parts
                    .outgoing
                    .store("plot.png", &plot.draw().png())?,
            ],
            ..Answer::default()
        })
    }

    fn describe_all(&self, curves: &[Curve], words: Words) -> String {
        let lines = curves.iter().map(|curve| {
            let values = self
                .describe(curve, words)
                .unwrap_or_else(|| self.describe_missing(&curve.name));
            format!("{}: {values}", plain(&curve.name))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Why a name has no values.
    fn describe_missing(&self, name: &str) -> String {
        if self.gateway.parts.board.is_reported(name) {
            texts::plot_nothing_yet(self.language).to_owned()
        } else {
            texts::plot_not_reported(self.language).to_owned()
        }
    }

    /// The values of a curve in words.
    fn describe(&self, curve: &Curve, words: Words) -> Option<String> {
        let (least, most, last) = curve.summary()?;
        let is_of_board = self.gateway.parts.board.names().contains(&curve.name);
        let [least, most, last] = [least, most, last].map(|value| {
            let word = in_words(&curve.name, value, self.language);
            if let Some(word) = word.filter(|_| is_of_board) {
                return word.to_owned();
            }
            let value = format_value(value, 0.0);
            format!("{value} {}", curve.unit).trim_end().to_owned()
        });
        Some(match least == most {
            // One value, or the same all the time.
            true => last,
            false => words(self.language, &least, &most, &last),
        })
    }
}
