//! Prints the tokens of pages for compare.py: reads lines of JSON with the element that a page begins in and the
//! page; writes the tokens of each as JSON.

#![expect(clippy::print_stdout, reason = "a tool for a script")]

use std::io::{self, BufRead};

use peacrab::text::html::{Sink, Tag, Tokenizer};
use serde_json::{Map, Value, json};

/// The tokens, with the characters between tags as one.
#[derive(Default)]
struct Tokens(Vec<Value>, String);

impl Tokens {
    fn end_text(&mut self) {
        if !self.1.is_empty() {
            self.0
                .push(json!(["Character", std::mem::take(&mut self.1)]));
        }
    }
}

impl Sink for Tokens {
    fn start(&mut self, tag: &Tag) {
        self.end_text();
        let attributes = tag
            .attributes()
            .map(|(name, value)| (name.to_owned(), json!(value)));
        let attributes: Map<String, Value> = attributes.collect();
        let mut token = vec![json!("StartTag"), json!(tag.name), json!(attributes)];
        token.extend(tag.is_closed.then_some(json!(true)));
        self.0.push(Value::Array(token));
    }

    fn end(&mut self, name: &str) {
        self.end_text();
        self.0.push(json!(["EndTag", name]));
    }

    fn text(&mut self, char: char) {
        self.1.push(char);
    }
}

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let (element, page): (String, String) = serde_json::from_str(&line?)?;
        let mut tokens = Tokens::default();
        let mut tokenizer = Tokenizer::within(&element);
        page.chars()
            .for_each(|char| tokenizer.push(char, &mut tokens));
        tokenizer.finish(&mut tokens);
        tokens.end_text();
        println!("{}", Value::Array(tokens.0));
    }
    Ok(())
}
