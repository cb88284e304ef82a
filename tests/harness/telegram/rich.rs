//! Messages of blocks. <https://core.telegram.org/bots/api#inputrichmessage>

use serde_json::{Value, json};

use super::check::{Refusal, Shown};

/// Maximum characters, blocks, levels and columns of a table.
const CHARS: usize = 32_768;
const BLOCKS: usize = 500;
const LEVELS: usize = 16;
const COLUMNS: usize = 20;

/// Reads the blocks of a message; `None` if it has none. The text has a line for each block, and for each row.
pub(super) fn read(given: &Value) -> Result<Option<(Shown, Value)>, Refusal> {
    if given.is_null() {
        return Ok(None);
    }
    let mut reader = Reader::default();
    let mut blocks = given["blocks"].clone();
    reader.blocks(&mut blocks, 1)?;
    if reader.text.chars().count() > CHARS || reader.count > BLOCKS {
        return Err(Refusal::bad("RICH_MESSAGE_TOO_LONG"));
    }
    let shown = Shown {
        text: reader.text.trim().to_owned(),
        entities: Vec::new(),
        breaches: Vec::new(),
    };
    Ok(Some((shown, json!({"blocks": blocks}))))
}

#[derive(Default)]
struct Reader {
    text: String,
    count: usize,
}

impl Reader {
    fn blocks(&mut self, blocks: &mut Value, level: usize) -> Result<(), Refusal> {
        let blocks = blocks.as_array_mut().filter(|blocks| !blocks.is_empty());
        let blocks = blocks.ok_or_else(|| Refusal::bad("RICH_MESSAGE_EMPTY"))?;
        if level > LEVELS {
            return Err(Refusal::bad("RICH_MESSAGE_TOO_DEEP"));
        }
        blocks
            .iter_mut()
            .try_for_each(|block| self.block(block, level))
    }

    fn block(&mut self, block: &mut Value, level: usize) -> Result<(), Refusal> {
        self.count += 1;
        match block["type"].as_str().unwrap_or_default() {
            "paragraph" | "heading" | "pre" => self.words(&block["text"], level)?,
            "divider" => {}
            "blockquote" => self.blocks(&mut block["blocks"], level + 1)?,
            "list" => {
                let items = block["items"].as_array_mut();
                for item in items.ok_or_else(|| Refusal::bad("RICH_BLOCK_INVALID"))? {
                    self.count += 1;
                    let label = match (&item["has_checkbox"], item["value"].as_i64()) {
                        (Value::Bool(true), _) if item["is_checked"] == true => "☑".to_owned(),
                        (Value::Bool(true), _) => "☐".to_owned(),
                        (_, Some(number)) => format!("{number}."),
                        _ => "•".to_owned(),
                    };
                    self.text += &format!("{label} ");
                    self.blocks(&mut item["blocks"], level + 1)?;
                    item["label"] = json!(label);
                }
            }
            "table" => {
                let rows = block["cells"].as_array();
                for row in rows.ok_or_else(|| Refusal::bad("RICH_BLOCK_INVALID"))? {
                    self.count += 1;
                    let cells = row.as_array().filter(|cells| cells.len() <= COLUMNS);
                    for cell in cells.ok_or_else(|| Refusal::bad("RICH_TABLE_INVALID"))? {
                        self.words(&cell["text"], level)?;
                        self.text += " | ";
                    }
                    self.text += "\n";
                }
            }
            other => return Err(Refusal::bad(&format!("no rich block {other:?}"))),
        }
        self.text += "\n";
        Ok(())
    }

    fn words(&mut self, words: &Value, level: usize) -> Result<(), Refusal> {
        if level > LEVELS {
            return Err(Refusal::bad("RICH_MESSAGE_TOO_DEEP"));
        }
        match words {
            Value::String(text) => self.text += text,
            Value::Array(parts) => {
                for part in parts {
                    self.words(part, level)?;
                }
            }
            Value::Object(format) => {
                let known = ["bold", "italic", "strikethrough", "code"];
                let kind = format["type"].as_str().unwrap_or_default();
                if !known.contains(&kind) {
                    return Err(Refusal::bad(&format!("no rich text {kind:?}")));
                }
                self.words(&format["text"], level + 1)?;
            }
            other => return Err(Refusal::bad(&format!("no rich text {other}"))),
        }
        if self.text.contains("://") {
            return Err(Refusal::never(
                "the address in this text would be fetched for a preview".to_owned(),
            ));
        }
        Ok(())
    }
}
