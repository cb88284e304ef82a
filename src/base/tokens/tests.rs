use proptest::prelude::*;

use super::*;

/// Texts of our own, each below a line with its name and its tokens in `o200k_base`, as the npm package
/// `gpt-tokenizer` 4.0.0 counts them.
const SAMPLES: &str = include_str!("samples.txt");

#[test]
fn every_sample_is_estimated_within_15_percent() {
    let mut samples = 0;
    for sample in SAMPLES.split("=== ").skip(1) {
        let (head, text) = sample.split_once('\n').unwrap();
        let (name, tokens) = head.split_once(' ').unwrap();
        let tokens: f64 = tokens.parse().unwrap();
        let estimated = estimate(text.trim_end());
        let error = 100.0 * (estimated as f64 / tokens - 1.0);
        println!("{name:14} {tokens:4} tokens, estimated {estimated:4} ({error:+.1} %)");
        assert!(error.abs() <= 15.0, "{name}: {error:+.1} %");
        samples += 1;
    }
    assert_eq!(samples, 14);
}

#[test]
fn small_texts_have_the_tokens_that_one_would_count() {
    for (text, tokens) in [
        ("", 0),
        ("hi", 1),
        ("Hello world", 2),
        ("12345678", 3),
        ("    ", 1),
        ("getUserName", 3),
        ("你好", 2),
        ("🦀", 2),
    ] {
        let estimated = estimate(text);
        assert!(
            estimated.abs_diff(tokens) <= 1 && (estimated == 0) == text.is_empty(),
            "{text:?}: {estimated}"
        );
    }
}

#[test]
fn a_megabyte_of_anything_is_counted_at_once() {
    for text in ["a", " ", "1", "-", "ä", "你", "🦀", "aB", "\n"] {
        let text = text.repeat(1024 * 1024 / text.len());
        assert!(estimate(&text) <= text.len());
    }
}

proptest! {
    #[test]
    fn letters_count_at_once_as_one_by_one(text in "([a-z]{1,12}|[A-Zä_. 1\\n-]){0,40}") {
        let mut scan = Scan::default();
        for char in text.chars() {
            scan.add(char);
        }
        prop_assert_eq!(estimate(&text), scan.cost.div_ceil(UNIT) as usize);
    }

    #[test]
    fn a_text_has_at_least_the_tokens_of_its_beginning(text in "(\\PC|[ -~]|[a-z]{1,9} |\\n){0,60}", part in 0.0..1.0f64) {
        let end = text.floor_char_boundary((text.len() as f64 * part) as usize);
        let (all, beginning) = (estimate(&text), estimate(&text[..end]));
        prop_assert!(beginning <= all);
        // Nor does a cut cost more than the piece it goes through.
        // Accents before the cut make the words behind it dearer.
        let reach = ACCENT_REACH as usize * 17 / 100;
        prop_assert!(beginning + estimate(&text[end..]) + reach + 3 >= all);
        prop_assert!(all <= 2 * text.chars().count());
    }
}
