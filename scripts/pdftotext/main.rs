//! Prints the text of the PDF document on standard input for compare.py.

#![expect(clippy::print_stdout, reason = "a tool for a script")]

use std::io::{self, Read};

use peacrab::text::documents::{self, Kind, TEXT_BYTES};

fn main() -> io::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    let mut page = Some(1);
    while let Some(first) = page {
        page = match documents::read(Kind::Pdf, &bytes, first) {
            Ok(read) => {
                debug_assert!(read.text.len() < 2 * TEXT_BYTES);
                print!("{}", read.text);
                read.next
            }
            Err(why) => {
                println!("[{why}]");
                None
            }
        };
    }
    Ok(())
}
