//! The grammar of Authentication-Results: RFC 8601 (section 2.2) with the white space and comments of RFC 5322 (section
//! 3.2.2) and the values of RFC 2045 (section 5.1), in UTF-8 (RFC 8616). PURE.
//!
//! A sender can put text into such a field: the server writes the envelope's sender and names from signatures into it. So
//! a field is read as a whole, or not at all. What servers write although the grammar has no place for it is taken where
//! it cannot change what the rest means: a semicolon at the end, a property without a type, and signs in a value that it
//! would have to put in quotation marks.

/// What one field says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    /// The server that says it, in lower case.
    pub server: String,
    /// The checks that it made; empty for "none".
    pub methods: Vec<Method>,
}

/// A check and what came of it. Names are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Such as `dkim`.
    pub name: String,
    /// The version of the method; 1 where the field names none.
    pub version: u32,
    /// Such as `pass`.
    pub result: String,
    /// Names with their types, such as `header.d`, and values as they stand in the field.
    pub properties: Vec<(String, String)>,
}

/// The methods of which the result counts.
const CHECKS: [&str; 3] = ["dkim", "spf", "dmarc"];

/// The version of the field that is understood.
const VERSION: u32 = 1;

/// Reads the name of the server that wrote a field, in lower case. `None` where the name or its end is unclear.
pub fn server(value: &str) -> Option<String> {
    Cursor(value).head().map(|(server, _)| server)
}

impl Results {
    /// Reads a field; `None` unless all of it has the form of one, in version 1.
    pub fn parse(value: &str) -> Option<Self> {
        let mut cursor = Cursor(value);
        let (server, version) = cursor.head()?;
        if version != VERSION {
            return None;
        }
        let mut methods = Vec::new();
        while cursor.take(';') {
            cursor.skip()?;
            if cursor.0.is_empty() && !methods.is_empty() {
                break;
            }
            let name = cursor.keyword()?;
            cursor.skip()?;
            if name == "none" && methods.is_empty() && cursor.0.is_empty() {
                return Some(Self { server, methods });
            }
            methods.push(cursor.method(name)?);
        }
        (cursor.0.is_empty() && !methods.is_empty()).then_some(Self { server, methods })
    }
}

/// What is left of a field.
struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    /// The server's name and the version, up to the first semicolon or the end.
    fn head(&mut self) -> Option<(String, u32)> {
        self.skip()?;
        let server = if self.0.starts_with('"') {
            self.quoted()?
        } else {
            self.run(is_token)?
        };
        let is_apart = self.skip()?;
        let version = match self.number() {
            Some(version) if is_apart => version?,
            Some(_) => return None,
            None => VERSION,
        };
        self.skip()?;
        let is_end = self.0.is_empty() || self.0.starts_with(';');
        (is_end && !server.is_empty()).then(|| (server.to_lowercase(), version))
    }

    /// A method after its name, up to the next semicolon or the end.
    fn method(&mut self, name: String) -> Option<Method> {
        let version = if self.take('/') {
            self.skip()?;
            let version = self.number()??;
            self.skip()?;
            version
        } else {
            VERSION
        };
        self.equals()?;
        // Some servers write what they know beside the checks as if it were one: `client-ip=192.0.2.1`.
        let result = if CHECKS.contains(&name.as_str()) {
            self.keyword()?
        } else {
            self.run(is_value)?.to_ascii_lowercase()
        };
        let mut properties = Vec::new();
        loop {
            let is_apart = self.skip()?;
            if self.0.is_empty() || self.0.starts_with(';') {
                break;
            }
            if !is_apart {
                return None;
            }
            properties.push(self.property()?);
        }
        Some(Method {
            name,
            version,
            result,
            properties,
        })
    }

    /// A property, or the reason, which has no type.
    fn property(&mut self) -> Option<(String, String)> {
        let mut name = self.keyword()?;
        self.skip()?;
        if self.take('.') {
            self.skip()?;
            name = format!("{name}.{}", self.keyword()?);
            self.skip()?;
        }
        self.equals()?;
        let mut value = if self.0.starts_with('"') {
            self.quoted()?
        } else {
            self.run(is_value).unwrap_or_default()
        };
        // The part of an address before the @ may be in quotation marks, and have others in it.
        if self.0.starts_with('@') {
            value += &self.run(is_value)?;
        }
        Some((name, value))
    }

    fn equals(&mut self) -> Option<()> {
        if !self.take('=') {
            return None;
        }
        self.skip().map(|_| ())
    }

    fn take(&mut self, char: char) -> bool {
        let rest = self.0.strip_prefix(char);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// The characters for which `is_part` holds; `None` for not one.
    fn run(&mut self, is_part: impl Fn(char) -> bool) -> Option<String> {
        let end = self.0.find(|char| !is_part(char)).unwrap_or(self.0.len());
        let (run, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        (!run.is_empty()).then(|| run.to_owned())
    }

    /// A name (RFC 5321, section 4.1.2), in lower case. Some servers write an underscore into theirs.
    fn keyword(&mut self) -> Option<String> {
        let word = self.run(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_'))?;
        (!word.ends_with('-')).then(|| word.to_ascii_lowercase())
    }

    /// A number, where there is one; within that `None` for one that is too large.
    fn number(&mut self) -> Option<Option<u32>> {
        Some(self.run(|char| char.is_ascii_digit())?.parse().ok())
    }

    /// A text in quotation marks, without them.
    fn quoted(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut chars = self.0.strip_prefix('"')?.chars();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => text.extend([chars.next().filter(|char| is_text(*char))?]),
                char if is_text(char) => text.push(char),
                _ => return None,
            }
        }
        self.0 = chars.as_str();
        Some(text)
    }

    /// Passes white space and comments, which may have others in them. Whether there were any; `None` for a comment
    /// that does not end, or in which a quotation mark is open: servers copy senders into comments, and one could end it.
    fn skip(&mut self) -> Option<bool> {
        let before = self.0.len();
        loop {
            self.0 = self.0.trim_start_matches([' ', '\t']);
            if !self.0.starts_with('(') {
                return Some(self.0.len() < before);
            }
            let (mut depth, mut is_quoted) = (0_usize, false);
            let mut chars = self.0.chars();
            loop {
                match chars.next()? {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    '"' => is_quoted = !is_quoted,
                    '\\' => {
                        chars.next().filter(|char| is_text(*char) && *char != '"')?;
                    }
                    char if is_text(char) => {}
                    _ => return None,
                }
                if depth == 0 {
                    break;
                }
            }
            if is_quoted {
                return None;
            }
            self.0 = chars.as_str();
        }
    }
}

/// Whether a character may be in a comment or between quotation marks. Lines are joined already.
fn is_text(char: char) -> bool {
    char == '\t' || !char.is_control()
}

/// Whether a character may be in a value without quotation marks (RFC 2045, section 5.1; RFC 8616).
fn is_token(char: char) -> bool {
    !char.is_control() && !char.is_whitespace() && !r#"()<>@,;:\"/[]?="#.contains(char)
}

/// Whether a character may be in a property's value without quotation marks: what has no meaning behind a value.
fn is_value(char: char) -> bool {
    !char.is_control() && !char.is_whitespace() && !r#"();\""#.contains(char)
}

#[cfg(test)]
mod tests;
