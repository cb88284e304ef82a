//! PURE: values as curves over time or over numbers, with round ticks and a legend.
//!
//! The text is short and in English: the font has no Chinese, which fits into the message beside the picture.

mod axis;

use super::{Canvas, Rgb};
use crate::base::zone::Zone;
use crate::text::truncate_chars;

use super::{CURVES_MAX, NAME_CHARS};
use axis::Scale;
pub use axis::format_value;

/// Width and height of a plot: sharp on a phone, and a few kB.
const PLOT_SIZE: (u32, u32) = (720, 400);

const PAPER: Rgb = Rgb(252, 252, 252);
const GRID: Rgb = Rgb(222, 222, 222);
const INK: Rgb = Rgb(60, 60, 60);
const COLOURS: [Rgb; CURVES_MAX] = [
    Rgb(31, 119, 180),
    Rgb(230, 97, 1),
    Rgb(44, 140, 44),
    Rgb(190, 30, 45),
    Rgb(117, 80, 160),
    Rgb(120, 86, 75),
];
/// Pixels between the parts of a plot.
const SPACE: i32 = 8;
/// Pixels of a curve's pen.
const PEN: u32 = 2;

/// A curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// The unit of its values; may be empty.
    pub unit: String,
    /// Where it goes, from left to right. A value that is not finite is a gap.
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    fn values(&self) -> impl Iterator<Item = f64> {
        let values = self.points.iter().map(|(_, value)| *value);
        values.filter(|value| value.is_finite())
    }

    /// The least value, the greatest and the last one; `None` when there is no value.
    pub fn summary(&self) -> Option<(f64, f64, f64)> {
        let last = self.values().last()?;
        Some((
            self.values().fold(last, f64::min),
            self.values().fold(last, f64::max),
            last,
        ))
    }

    fn legend(&self) -> String {
        let name = truncate_chars(&self.name, NAME_CHARS);
        let Some((least, most, last)) = self.summary() else {
            return format!("{name}: no values");
        };
        let [least, most, last] = [least, most, last].map(|value| format_value(value, 0.0));
        let text = format!("{name}  min {least}  max {most}  last {last} {}", self.unit);
        text.trim_end().to_owned()
    }
}

/// What lies to the right.
#[derive(Clone, Copy, Debug)]
pub enum Across<'a> {
    /// Seconds since 1970, shown in this zone.
    Time(&'a Zone),
    /// Numbers.
    Numbers,
}

/// A plot. At most `CURVES_MAX` curves are drawn.
#[derive(Clone, Debug)]
pub struct Plot<'a> {
    /// The curves.
    pub curves: &'a [Curve],
    /// The left and the right end.
    pub range: (f64, f64),
    /// What lies to the right.
    pub across: Across<'a>,
}

/// The rectangle in which the curves are.
#[derive(Clone, Copy)]
struct Area {
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

impl Plot<'_> {
    /// Draws it.
    pub fn draw(&self) -> Canvas {
        let (width, height) = PLOT_SIZE;
        let mut canvas = Canvas::new(width, height, PAPER).with_text_times(2);
        let line = canvas.cell().1;
        let curves = self.curves.get(..CURVES_MAX).unwrap_or(self.curves);
        for (index, (curve, colour)) in curves.iter().zip(COLOURS).enumerate() {
            let y = SPACE / 2 + index as i32 * line;
            canvas.fill(
                (SPACE, y + line / 3),
                (line as u32 / 2, line as u32 / 2),
                colour,
            );
            canvas.text(SPACE * 2 + line / 2, y, &curve.legend(), INK);
        }
        // One scale for each unit: the first two have their ticks at the left and at the right.
        // What has no values needs none beside what has.
        let mut units: Vec<&str> = Vec::new();
        let has_values = |curve: &Curve| curve.summary().is_some();
        let any_values = curves.iter().any(has_values);
        for curve in curves {
            if has_values(curve) == any_values && !units.contains(&curve.unit.as_str()) {
                units.push(&curve.unit);
            }
        }
        let scale_of = |unit: &str| {
            let values = curves.iter().filter(|curve| curve.unit == unit);
            Scale::of_values(values.flat_map(Curve::values), unit == "%")
        };
        let scales: Vec<Scale> = units.iter().map(|unit| scale_of(unit)).collect();
        let margin = |index: usize| {
            let labels = scales.get(index).map(Scale::labels).unwrap_or_default();
            let widths = labels.iter().map(|(_, label)| canvas.text_width(label));
            widths.max().map_or(SPACE * 2, |width| width + SPACE * 2)
        };
        let area = Area {
            left: margin(0),
            right: width as i32 - margin(1),
            top: SPACE * 2 + curves.len().max(1) as i32 * line,
            bottom: height as i32 - SPACE * 2 - line,
        };
        for (side, scale) in scales.iter().take(2).enumerate() {
            draw_values(&mut canvas, area, scale, side == 0);
        }
        self.draw_across(&mut canvas, area);
        let (left, right) = (area.left, area.right);
        canvas.line((left, area.top), (left, area.bottom), 1, INK);
        canvas.line((left, area.bottom), (right, area.bottom), 1, INK);
        for (curve, colour) in curves.iter().zip(COLOURS) {
            let unit = units.iter().position(|unit| *unit == curve.unit);
            if let Some(scale) = unit.and_then(|unit| scales.get(unit)) {
                self.draw_curve(&mut canvas, area, (curve, scale), colour);
            }
        }
        canvas
    }

    fn x(&self, area: Area, at: f64) -> i32 {
        let (from, to) = self.range;
        place(at, (from, to), (area.left, area.right))
    }

    fn draw_across(&self, canvas: &mut Canvas, area: Area) {
        let ticks = match self.across {
            Across::Time(zone) => axis::times(self.range, zone),
            Across::Numbers => Scale::over(self.range.0, self.range.1).labels(),
        };
        let (top, bottom) = (area.top, area.bottom);
        let mut free = 0;
        for (at, label) in ticks {
            if at < self.range.0 || at > self.range.1 {
                continue;
            }
            let x = self.x(area, at);
            canvas.line((x, top), (x, bottom), 1, GRID);
            let width = canvas.text_width(&label);
            let start = (x - width / 2).clamp(0, (canvas.size().0 as i32 - width).max(0));
            if start >= free {
                free = canvas.text(start, bottom + SPACE, &label, INK) + SPACE * 2;
            }
        }
    }

    fn draw_curve(
        &self,
        canvas: &mut Canvas,
        area: Area,
        (curve, scale): (&Curve, &Scale),
        colour: Rgb,
    ) {
        let mut before = None;
        for (at, value) in &curve.points {
            if !value.is_finite() || !(self.range.0..=self.range.1).contains(at) {
                before = None;
                continue;
            }
            let y = place(*value, (scale.low, scale.high), (area.bottom, area.top));
            let point = (self.x(area, *at), y);
            canvas.line(before.unwrap_or(point), point, PEN, colour);
            before = Some(point);
        }
    }
}

/// Where a value is between two pixels, as it is between two values.
fn place(value: f64, (low, high): (f64, f64), (first, last): (i32, i32)) -> i32 {
    let share = if high > low {
        (value - low) / (high - low)
    } else {
        0.5
    };
    f64::from(first)
        .mul_add(1.0 - share, f64::from(last) * share)
        .round() as i32
}

/// Draws the ticks of a scale: with lines across at the left, without at the right.
fn draw_values(canvas: &mut Canvas, area: Area, scale: &Scale, is_left: bool) {
    let height = canvas.cell().1;
    for (value, label) in scale.labels() {
        let y = place(value, (scale.low, scale.high), (area.bottom, area.top));
        let x = if is_left {
            canvas.line((area.left, y), (area.right, y), 1, GRID);
            area.left - SPACE - canvas.text_width(&label)
        } else {
            area.right + SPACE
        };
        canvas.text(x, y - height / 2, &label, INK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::picture::tests::{assert_golden, decode};
    use proptest::prelude::*;

    const DAY: i64 = 86_400;
    /// 2026-11-22, midnight in Zurich.
    const MIDNIGHT: i64 = 1_795_302_000;

    fn curve(name: &str, unit: &str, points: impl Iterator<Item = (f64, f64)>) -> Curve {
        Curve {
            name: name.to_owned(),
            unit: unit.to_owned(),
            points: points.collect(),
        }
    }

    /// A value each five minutes of a day; a wave without chance.
    fn day(wave: impl Fn(f64) -> f64) -> impl Iterator<Item = (f64, f64)> {
        (0..288).map(move |sample| {
            let at = f64::from(sample) * 300.0;
            (MIDNIGHT as f64 + at, wave(at / DAY as f64))
        })
    }

    fn triangle(share: f64) -> f64 {
        (share * 6.0 % 2.0 - 1.0).abs()
    }

    fn of_day<'a>(curves: &'a [Curve], zone: &'a Zone) -> Plot<'a> {
        Plot {
            curves,
            range: (MIDNIGHT as f64, (MIDNIGHT + DAY) as f64),
            across: Across::Time(zone),
        }
    }

    #[test]
    fn a_day_of_temperature_with_a_gap_looks_as_it_did() {
        let zone = Zone::from_rule("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let wave = |share: f64| match share {
            0.5..0.6 => f64::NAN,
            _ => 45.0 + 18.0 * triangle(share),
        };
        let curves = [curve("temperature", "°C", day(wave))];
        let png = of_day(&curves, &zone).draw().png();
        assert!(png.len() < 8000, "{}", png.len());
        assert_golden("day", &png);
    }

    #[test]
    fn curves_of_two_units_have_a_scale_each() {
        let zone = Zone::utc();
        let curves = [
            curve("memory", "%", day(|share| 40.0 + 30.0 * triangle(share))),
            curve("load", "", day(|share| 3.5 * triangle(share * 3.0))),
            curve("network", "kB/s", day(|share| 900.0 * share)),
            curve("disk", "%", day(|_| 71.0)),
        ];
        assert_golden("units", &of_day(&curves, &zone).draw().png());
    }

    #[test]
    fn numbers_and_a_week_look_as_they_did() {
        let points =
            |step: f64| (0..50).map(move |row| (f64::from(row), f64::from(row * row) * step));
        let curves = [
            curve("a,b", "", points(1.0)),
            curve("negative", "", points(-0.5)),
        ];
        let plot = Plot {
            curves: &curves,
            range: (0.0, 49.0),
            across: Across::Numbers,
        };
        assert_golden("numbers", &plot.draw().png());
        let week = (0..2016).map(|sample| {
            let at = (MIDNIGHT - 6 * DAY) as f64 + f64::from(sample) * 300.0;
            (at, 20.0 + 20.0 * triangle(f64::from(sample % 288) / 288.0))
        });
        let zone = Zone::from_rule("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let curves = [curve("temperature", "°C", week)];
        let plot = Plot {
            range: ((MIDNIGHT - 6 * DAY) as f64, (MIDNIGHT + DAY) as f64),
            ..of_day(&curves, &zone)
        };
        let png = plot.draw().png();
        assert!(png.len() < 12_000, "{}", png.len());
        assert_golden("week", &png);
    }

    #[test]
    fn nothing_to_draw_is_said() {
        let zone = Zone::utc();
        let curves = [curve("humidity", "%", std::iter::empty())];
        assert_eq!(curves[0].legend(), "humidity: no values");
        assert_golden("empty", &of_day(&curves, &zone).draw().png());
    }

    #[test]
    fn what_has_no_values_gets_no_axis_beside_what_has() {
        let zone = Zone::utc();
        let drawn = |unit: &str| {
            let missing = curve("temperature", unit, std::iter::empty());
            let curves = [missing, curve("memory", "%", day(|share| share * 50.0))];
            of_day(&curves, &zone).draw().png()
        };
        assert!(drawn("°C") == drawn("%"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_values_are_drawn(
            points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..20),
            near in prop::collection::vec((0.0..1e6, -1e3..1e3), 0..20),
            range in any::<(f64, f64)>(),
            unit in "[a-z%]{0,3}",
        ) {
            let zone = Zone::from_rule("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
            let all = points.into_iter().chain(near);
            let curves = [curve("x", &unit, all.clone()), curve("y", "", all)];
            for range in [range, (0.0, 1e6)] {
                for across in [Across::Numbers, Across::Time(&zone)] {
                    let plot = Plot { curves: &curves, range, across };
                    prop_assert_eq!(decode(&plot.draw().png()).width, PLOT_SIZE.0 as usize);
                }
            }
        }
    }
}
