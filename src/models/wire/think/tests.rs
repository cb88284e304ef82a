use super::*;
use proptest::prelude::*;

fn part(pieces: &[&str]) -> (String, String) {
    part_of(Source::Api, pieces)
}

fn part_of(source: Source, pieces: &[&str]) -> (String, String) {
    let mut think = Think::new(source);
    let (mut taken_back, mut text) = (String::new(), String::new());
    for piece in pieces {
        let more = think.push(piece);
        if std::mem::take(&mut think.was_reasoning) {
            taken_back += &std::mem::take(&mut text);
        }
        text += &more;
    }
    let rest = think.finish();
    if think.was_reasoning {
        taken_back += &std::mem::take(&mut text);
    }
    (taken_back + &think.thoughts, text + &rest)
}

#[test]
fn reasoning_whose_opening_mark_was_in_the_template_is_no_text() {
    for (said, thoughts, text) in [
        ("why so\n</think>\n\nbecause", "why so\n", "because"),
        ("\n</think>\n\nbecause", "\n", "because"),
        ("<think>why</think>because", "why", "because"),
        ("plain", "", "plain"),
        ("why</think>", "why", ""),
    ] {
        for source in [Source::Server, Source::Reasoner] {
            let expected = (thoughts.to_owned(), text.to_owned());
            assert_eq!(part_of(source, &[said]), expected, "{source:?} {said}");
        }
    }
    let inline = "why</think>because";
    assert_eq!(
        part_of(Source::Reasoner, &[inline]),
        ("why".to_owned(), "because".to_owned())
    );
    for quotation in [
        "The tag `</think>`\nends it.",
        "```\n</think>\n```\nends it.",
        "a </think> within a line",
    ] {
        let expected = (String::new(), quotation.to_owned());
        assert_eq!(part_of(Source::Server, &[quotation]), expected);
    }
    let quotation = "The end is\n</think>\nin XML.";
    assert_eq!(
        part(&[quotation]).1,
        quotation,
        "an official API has no templates"
    );
}

#[test]
fn every_familys_marks_are_known_in_any_letters() {
    for (said, thoughts, text) in [
        ("<think>a<think>b</think>c</think>d", "a<think>bc", "d"),
        ("<think>a<think>b</think>c", "a<think>b", "c"),
        (
            "<think>the `<think>` tag</think>c",
            "the `<think>` tag",
            "c",
        ),
        (
            "<think>a<think>b<think>c</think>d</think>e</think>f",
            "a<think>b<think>cde",
            "f",
        ),
        ("<THINK>a</THINK>b", "a", "b"),
        ("<thinking>a</think>b", "a", "b"),
        ("<think>a</thought>b", "a", "b"),
        ("<|think|>a<|end|>b", "a", "b"),
        ("<Thinking>a</thinking>\nb", "a", "b"),
        ("a.\n<Think>b</Think>\nc", "b", "a.\nc"),
        ("<|begin_of_thought|>a<|end_of_thought|>b", "a", "b"),
        ("<longcat_think>a</longcat_think>b", "a", "b"),
        ("<unused94>thought\na<unused95>b", "thought\na", "b"),
        ("<|open|>think<|sep|>a<|close|>think<|sep|>b", "a", "b"),
        ("<think>a</think>\n<answer>b</answer>", "a", "b"),
        ("<think>a</think><ANSWER>\nb\n</ANSWER>\n", "a", "b\n\n"),
        ("<think>a</think><answer> is a tag", "a", "is a tag"),
        (
            "<think>a</think>The `</answer>` tag",
            "a",
            "The `</answer>` tag",
        ),
        (
            "Here is my thought process:a Here is my response:b",
            "a ",
            "b",
        ),
        (
            "Here are my reasoning steps:a[BEGIN FINAL RESPONSE]b",
            "a",
            "b",
        ),
        (
            "The <answer> tag </answer>",
            "",
            "The <answer> tag </answer>",
        ),
    ] {
        let expected = (thoughts.to_owned(), text.to_owned());
        assert_eq!(part_of(Source::Server, &[said]), expected, "{said}");
        let letters: Vec<String> = said.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(part_of(Source::Server, &letters), expected, "{said}");
    }
}

#[test]
fn of_channels_only_the_final_one_is_text() {
    let said = "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>final<|message|>because<|return|>";
    let expected = ("why".to_owned(), "because".to_owned());
    assert_eq!(part_of(Source::Server, &[said]), expected);
    let preamble = "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.ls <|constrain|>json<|message|>{}<|call|>";
    let mut think = Think::new(Source::Server);
    let text = think.push(preamble) + &think.finish();
    assert_eq!(text, "I look.");
    assert_eq!(think.take_directed(), "to=functions.ls <|constrain|>json{}");
}

#[test]
fn reasoning_at_the_beginning_is_parted_from_the_text() {
    for (stream, thoughts, text) in [
        ("plain", "", "plain"),
        ("<think>why</think>\n\nbecause", "why", "because"),
        ("\n<thinking>why</thinking>because", "why", "because"),
        ("<thought>why", "why", ""),
        ("<think></think>x", "", "x"),
        ("<thin", "", "<thin"),
        ("<p>x</p>", "", "<p>x</p>"),
        (
            "the tag <think> is no reasoning",
            "",
            "the tag <think> is no reasoning",
        ),
        ("", "", ""),
    ] {
        assert_eq!(part(&[stream]), (thoughts.to_owned(), text.to_owned()));
    }
}

proptest! {
    #[test]
    fn the_cuts_between_pieces_do_not_matter(
        parts in prop::collection::vec(
            prop_oneof![
                Just("<think>"), Just("</think>"), Just("</thi"), Just("é"), Just("a "), Just("\n"),
                Just("`"), Just("<|channel|>"), Just("final"), Just("<|message|>"), Just("<|end|>"),
                Just("<THINK>"), Just("<answer>"), Just("</answer>"), Just("</Think>"),
                Just("analysis"), Just("assistant"), Just("<|start|>assistant"), Just("to=ls"), Just("\""), Just("> "),
            ],
            0..12,
        ),
        cut in 0_usize..80,
        source in prop_oneof![
            Just(Source::Api), Just(Source::Server), Just(Source::Reasoner), Just(Source::Harmony),
        ],
    ) {
        let stream = parts.concat();
        let mut cut = cut.min(stream.len());
        while !stream.is_char_boundary(cut) {
            cut -= 1;
        }
        let (left, right) = stream.split_at(cut);
        prop_assert_eq!(part_of(source, &[left, right]), part_of(source, &[&stream]));
    }
}
