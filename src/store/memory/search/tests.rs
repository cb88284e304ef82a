//! The search over files as they are.

use std::io::BufReader;

use super::*;

type File<'f> = (&'f str, Option<NaiveDate>, Vec<u8>, bool);

struct Files<'f>(Vec<File<'f>>);

impl Sources for Files<'_> {
    fn each(&mut self, visit: &mut dyn FnMut(Source<'_>) -> Result<()>) -> Result<()> {
        for (place, date, content, is_journal) in &self.0 {
            visit(Source {
                place,
                date: *date,
                reader: &mut BufReader::new(content.as_slice()),
                lines: is_journal.then_some(MessageLines {
                    kind: |line| match line.starts_with(b"{\"role\":\"tool\"") {
                        true => LineKind::Other,
                        false => LineKind::Message,
                    },
                    decode,
                }),
            })?;
        }
        Ok(())
    }
}

fn decode(line: &[u8]) -> Option<Message> {
    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
    Some(Message {
        who: "person",
        time: DateTime::parse_from_rfc3339(value["timestamp"].as_str()?).ok(),
        text: value["content"].as_str()?.to_owned(),
    })
}

fn line(time: &str, content: &str) -> String {
    format!(
        "{}\n",
        serde_json::json!({"role": "user", "content": content, "timestamp": time})
    )
}

fn find(query: &str, days: Option<usize>, files: Vec<File<'_>>) -> Vec<Hit> {
    let today = NaiveDate::from_ymd_opt(2026, 11, 23).unwrap();
    let query = Query::parse(query, days, today).unwrap();
    search(&query, &mut Files(files), &Cancel::new()).unwrap()
}

fn texts(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.text.as_str()).collect()
}

#[test]
fn paragraphs_and_items_are_found_with_their_dates() {
    let history = "# History\n\n[2026-03-01 09:00] The fan was\nreplaced.\n- with screws\n\n[2026-03-02 10:00] Tea.\n";
    let note = "- 10:00 a fan\n  of tea\n- 11:00 cake";
    let day = NaiveDate::from_ymd_opt(2026, 11, 22);
    let files = || {
        vec![
            ("memory/HISTORY.md", None, history.into(), false),
            ("memory/2026-11-22.md", day, note.into(), false),
        ]
    };
    let hits = find("screws", None, files());
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].text, "- with screws");
    assert_eq!(hits[0].time.unwrap().to_string(), "2026-03-01 09:00:00");
    let hits = find("FAN", None, files());
    assert_eq!(
        texts(&hits),
        [
            "- 10:00 a fan of tea",
            "[2026-03-01 09:00] The fan was replaced."
        ]
    );
    assert_eq!(hits[0].place, "memory/2026-11-22.md");
    assert_eq!(texts(&find("fan 2026-03", None, files())).len(), 1);
    assert_eq!(
        texts(&find("fan", Some(7), files())),
        ["- 10:00 a fan of tea"]
    );
    assert_eq!(find("", Some(7), files()).len(), 2);
    assert_eq!(find("2026-03-02", None, files()).len(), 1);
    assert!(find("screwdriver", None, files()).is_empty());
}

#[test]
fn messages_are_ranked_by_rare_words_then_phrases_and_the_newest_first() {
    let mut journal = String::new();
    for day in 1..=20 {
        journal += &line(
            &format!("2026-10-{day:02}T08:00:00Z"),
            "what is the weather today",
        );
    }
    journal += &line(
        "2026-09-01T08:00:00Z",
        "the weather station has the address 10.0.0.7",
    );
    journal += &line(
        "2026-09-02T08:00:00Z",
        "address of the station: a weather vane",
    );
    journal +=
        r#"{"role":"user","content":"\u5929\u6c14 weather","timestamp":"2026-09-03T08:00:00Z"}"#;
    journal += "\nnot json about a station\n{\"role\":\"tool\",\"content\":\"station station\",\"timestamp\":\"2026-09-01T08:00:00Z\"}\n";
    let files = || vec![("telegram:1", None, journal.clone().into_bytes(), true)];
    let hits = find("weather station", None, files());
    assert_eq!(hits.len(), HITS);
    assert!(
        texts(&hits)[..2]
            .iter()
            .all(|text| text.contains("station")),
        "{hits:?}"
    );
    assert_eq!(hits[3].time.unwrap().to_string(), "2026-10-20 08:00:00");
    let hits = find("\"weather station\" address", None, files());
    assert!(hits[0].text.starts_with("the weather station"), "{hits:?}");
    assert_eq!(find("天气", None, files()).len(), 1);
    assert_eq!(find("weather 2026-10-07", None, files()).len(), 1);
    assert_eq!(find("2026-09", None, files()).len(), 3);
    assert_eq!(find("station", Some(3), files()).len(), 0);
}

#[test]
fn a_hit_is_short_shows_the_word_and_is_there_once() {
    let long = format!("{}the needle{}", "hay ".repeat(5000), " hay".repeat(5000));
    let twice = line("2026-09-01T08:00:00Z", &long).repeat(2);
    let hits = find("needle", None, vec![("a", None, twice.into(), true)]);
    assert_eq!(hits.len(), 1);
    assert!(hits[0].text.contains("the needle") && hits[0].text.len() <= HIT_BYTES + 10);
    let paragraph = "word ".repeat(3000);
    let hits = find("word", None, vec![("a", None, paragraph.into(), false)]);
    assert!(!hits.is_empty());
}

#[test]
fn a_rare_word_among_very_many_messages_is_found_first() {
    let mut journal = line(
        "2026-09-01T08:00:00Z",
        "weather: the thermostat \"is\" broken",
    );
    for number in 0..20_000 {
        journal += &line(
            "2026-10-01T08:00:00Z",
            &format!("weather {number} and weather"),
        );
    }
    journal += &line("2026-11-01T08:00:00Z", "the weather of the thermostat");
    let hits = find(
        "weather thermostat",
        None,
        vec![("a", None, journal.into(), true)],
    );
    let expected = [
        "the weather of the thermostat",
        "weather: the thermostat \"is\" broken",
    ];
    assert_eq!(texts(&hits)[..2], expected);
}

#[test]
fn a_search_that_is_cancelled_ends() {
    let query = Query::parse("x", None, NaiveDate::default()).unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    let files = vec![("a", None, b"- y\n".repeat(5000), false)];
    let ended = search(&query, &mut Files(files), &cancel);
    assert!(matches!(ended, Err(crate::base::error::Error::Stopped)));
}
