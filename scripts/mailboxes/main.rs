//! Prints how fields of mails are read, for compare.py: reads JSON strings, one a line; writes for each the text with its
//! encoded words decoded, and the name and the address of the one mailbox, or null.

#![expect(clippy::print_stdout, reason = "a tool for a script")]

use std::io::{self, BufRead};

use peacrab::channels::email::mime::{address::mailbox, words::decode_words};
use serde_json::json;

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let value: String = serde_json::from_str(&line?)?;
        let person = mailbox(&value).map(|person| json!([person.name, person.address]));
        println!("{}", json!([decode_words(&value), person]));
    }
    Ok(())
}
