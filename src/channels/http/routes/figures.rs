//! The figures of the gateway as texts: for Prometheus, and as JSON. PURE.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::channels::http::host::{Figure, FigureKind, Host};

/// The text format of Prometheus (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
pub fn for_prometheus(figures: &[Figure]) -> String {
    let mut text = String::new();
    let mut before = "";
    for figure in figures {
        let name = figure.name;
        if name != before {
            let kind = match figure.kind {
                FigureKind::Counter => "counter",
                FigureKind::Gauge => "gauge",
            };
            let _ = writeln!(text, "# HELP peacrab_{name} {}", figure.help);
            let _ = writeln!(text, "# TYPE peacrab_{name} {kind}");
            before = name;
        }
        let labels: Vec<String> = figure
            .labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escape(value)))
            .collect();
        let labels = match labels.as_slice() {
            [] => String::new(),
            labels => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(text, "peacrab_{name}{labels} {}", figure.value);
    }
    text
}

fn escape(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// All figures as JSON: a number, or a list of numbers with their labels.
pub fn as_json(host: &dyn Host) -> Value {
    let mut members = Map::new();
    for figure in host.figures() {
        let Figure {
            name,
            labels,
            value,
            ..
        } = figure;
        if labels.is_empty() {
            members.insert(name.to_owned(), json!(value));
            continue;
        }
        let mut one = Map::new();
        for (label, text) in labels {
            one.insert(label.to_owned(), text.into());
        }
        one.insert("value".to_owned(), json!(value));
        let list = members.entry(name).or_insert_with(|| json!([]));
        list.as_array_mut()
            .into_iter()
            .for_each(|list| list.push(Value::Object(one.clone())));
    }
    json!({
        "version": crate::update::current(),
        "agents": host.agents(),
        "trouble": host.trouble(),
        "figures": members,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_prometheus_reads_them() {
        let figure = |name, labels: &[(&'static str, &str)], value| Figure {
            name,
            help: "Some help.",
            kind: FigureKind::Gauge,
            labels: labels.iter().map(|(l, v)| (*l, (*v).to_owned())).collect(),
            value,
        };
        let text = for_prometheus(&[
            figure("a", &[], 1.0),
            figure("b", &[("x", "q\"\\\n")], 0.5),
            figure("b", &[("x", "y"), ("z", "")], 2e9),
        ]);
        assert_eq!(
            text,
            "# HELP peacrab_a Some help.\n# TYPE peacrab_a gauge\npeacrab_a 1\n# HELP peacrab_b Some help.\n\
             # TYPE peacrab_b gauge\npeacrab_b{x=\"q\\\"\\\\\\n\"} 0.5\npeacrab_b{x=\"y\",z=\"\"} 2000000000\n"
        );
    }
}
