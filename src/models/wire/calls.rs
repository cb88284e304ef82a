//! Puts the pieces of a stream's tool calls together. Servers number them in many ways: not at all, all
//! as the first, each piece as another; some repeat ids and names, and some tell the name last.

use serde_json::value::RawValue;

use super::written::{Written, bare_name};
use crate::base::chat::{ToolCall, ToolSpec};
use crate::base::json;

/// A piece of a call. What the server does not tell is empty.
#[derive(Debug, Default)]
pub struct Piece {
    /// The call's number.
    pub index: Option<u64>,
    /// The call's id.
    pub id: String,
    /// The tool, or a part of its name.
    pub name: String,
    /// A part of the arguments.
    pub arguments: String,
    /// Gemini's signature.
    pub signature: Option<String>,
}

/// A call that is not complete yet.
#[derive(Debug, Default)]
struct Call {
    piece: Piece,
    progress: Progress,
    /// Where in the arguments those begin that repeat what stands before them, and may stand for all.
    repeated: Option<usize>,
}

/// How far the arguments' brackets have come.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    begun: bool,
}

impl Progress {
    fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = self.in_string,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => {
                    self.depth += 1;
                    self.begun = true;
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_complete(self) -> bool {
        self.begun && self.depth == 0 && !self.in_string
    }
}

/// The calls of an answer.
#[derive(Debug, Default)]
pub struct Calls(Vec<Call>);

impl Calls {
    /// Whether no piece of a call has come.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a call has a name, without which it is none.
    pub fn has_name(&self) -> bool {
        self.0.iter().any(Call::has_name)
    }

    /// Adds a piece, and returns the bytes that the calls have grown by.
    pub fn push(&mut self, piece: Piece, tools: &[ToolSpec]) -> usize {
        let is_stub = piece.id.is_empty() && piece.name.is_empty() && piece.arguments.is_empty();
        let place = self.place(&piece, tools);
        let Some(call) = place.and_then(|place| self.0.get_mut(place)) else {
            // A stub announces what comes in the pieces after it, or nothing.
            if is_stub {
                return 0;
            }
            let mut call = Call {
                piece,
                ..Call::default()
            };
            call.progress.push(&call.piece.arguments);
            let size = call.size();
            self.0.push(call);
            return size;
        };
        let before = call.size();
        call.add(piece);
        call.size().saturating_sub(before)
    }

    /// Adds calls that are whole, or as whole as they get.
    pub fn extend(&mut self, written: Vec<Written>) {
        self.0.extend(written.into_iter().map(|call| Call {
            piece: Piece {
                name: call.name,
                arguments: call.arguments,
                ..Piece::default()
            },
            ..Call::default()
        }));
    }

    /// The call that a piece belongs to; `None` for a new one. An id says it best, then the index, then
    /// that the last call is not complete.
    fn place(&self, piece: &Piece, tools: &[ToolSpec]) -> Option<usize> {
        let last = self.0.len().checked_sub(1)?;
        let by_id = self.0.iter().rposition(|call| call.piece.id == piece.id);
        let by_id = by_id.filter(|_| !piece.id.is_empty());
        if let Some(place) = by_id.filter(|place| !self.0[*place].is_other(piece, tools)) {
            return (!self.0[place].is_followed_by(piece)).then_some(place);
        }
        let by_index = self
            .0
            .iter()
            .rposition(|call| call.piece.index == piece.index);
        let by_index = by_index.filter(|_| piece.index.is_some());
        let open = (!self.0[last].progress.is_complete()).then_some(last);
        let is_bare = piece.name.is_empty();
        // Arguments do not go on behind their last bracket.
        let by_index = match by_index {
            Some(place) if is_bare && self.0[place].progress.is_complete() => {
                open.filter(|_| !piece.arguments.is_empty()).or(Some(place))
            }
            other => other,
        };
        let candidate = by_index.or(match piece.index {
            // A number that counts pieces instead of calls.
            Some(_) if !is_bare => open.filter(|_| self.0[last].piece.name.is_empty()),
            _ if is_bare && piece.id.is_empty() => Some(last),
            _ => open,
        })?;
        let call = &self.0[candidate];
        let is_complete = call.progress.is_complete();
        let is_same_id =
            piece.id.is_empty() || call.piece.id.is_empty() || call.piece.id == piece.id;
        let fits = match (is_bare, is_same_id) {
            (true, true) => true,
            (true, false) => !is_complete && !piece.arguments.is_empty(),
            (false, true) => {
                let is_nameless = call.piece.name.is_empty();
                let is_repeated = call.piece.name == piece.name
                    && (piece.arguments.is_empty() || call.piece.arguments == piece.arguments);
                is_nameless || is_repeated || !is_complete && !call.is_other(piece, tools)
            }
            (false, false) => false,
        };
        fits.then_some(candidate)
    }

    /// The calls, without those that have no name. Ids that the server does not give are made up.
    pub fn finish(self, nonce: u32) -> Vec<ToolCall> {
        let named = self.0.into_iter().filter(Call::has_name);
        let calls = named
            .map(Call::settled)
            .map(|piece| ToolCall {
                id: piece.id,
                name: bare_name(&piece.name).to_owned(),
                arguments: match piece.arguments.trim() {
                    "" => "{}".to_owned(),
                    _ => piece.arguments,
                },
                signature: piece.signature,
            })
            .collect();
        with_own_ids(calls, nonce)
    }
}

/// Gives each call an id of its own, by which its result is found.
pub fn with_own_ids(mut calls: Vec<ToolCall>, nonce: u32) -> Vec<ToolCall> {
    for number in 0..calls.len() {
        let (before, rest) = calls.split_at_mut(number);
        let id = &mut rest[0].id;
        if id.is_empty() || before.iter().any(|call| call.id == *id) {
            *id = format!("call_{nonce:08x}_{number}");
        }
    }
    calls
}

impl Call {
    /// Bytes that it holds, itself among them.
    fn size(&self) -> usize {
        let Piece {
            id,
            name,
            arguments,
            signature,
            ..
        } = &self.piece;
        let signature = signature.as_ref().map_or(0, String::len);
        size_of::<Self>() + id.len() + name.len() + arguments.len() + signature
    }

    fn has_name(&self) -> bool {
        !bare_name(&self.piece.name).is_empty()
    }

    /// Whether a piece names another tool.
    fn is_other(&self, piece: &Piece, tools: &[ToolSpec]) -> bool {
        let is_tool = |name: &str| tools.iter().any(|tool| tool.name == bare_name(name));
        let (own, other) = (&self.piece.name, &piece.name);
        own != other && is_tool(own) && is_tool(other) && !other.starts_with(own.as_str())
    }

    /// Whether a piece is another call of the same tool, to which the server gives the same id.
    fn is_followed_by(&self, piece: &Piece) -> bool {
        let (own, new) = (self.piece.arguments.trim(), piece.arguments.trim());
        let is_whole = self.progress.is_complete() && own != "{}";
        is_whole
            && !piece.name.is_empty()
            && new.starts_with('{')
            && !matches!(new, "{}")
            && own != new
    }

    fn add(&mut self, piece: Piece) {
        let own = &mut self.piece;
        if own.id.is_empty() {
            own.id = piece.id;
        }
        // A name may come in parts, as it grows, or again and again.
        if piece.name.starts_with(own.name.as_str()) {
            own.name = piece.name;
        } else {
            own.name += &piece.name;
        }
        own.signature = piece.signature.or(own.signature.take());
        let is_complete = self.progress.is_complete();
        let new = piece.arguments.trim();
        if is_complete && new.starts_with('{') {
            // Some begin with `{}`, and some tell the whole again at the end.
            if new == "{}" {
                return;
            }
            own.arguments.clear();
            (self.progress, self.repeated) = (Progress::default(), None);
        }
        // Some tell all so far in each piece. A part that only looks so is known by what comes next.
        let known = &own.arguments[self.repeated.unwrap_or(0)..];
        if known.starts_with('{') && piece.arguments.starts_with(known) {
            own.arguments.drain(..self.repeated.unwrap_or(0));
            self.repeated = Some(own.arguments.len());
            self.progress = Progress::default();
        } else if self.repeated.take().is_some() {
            self.progress = Progress::default();
            self.progress.push(&own.arguments);
        }
        own.arguments += &piece.arguments;
        self.progress.push(&piece.arguments);
    }

    /// The call with its arguments told once.
    fn settled(mut self) -> Piece {
        let arguments = &mut self.piece.arguments;
        let is_json = |text: &str| json::borrowed_from_str::<&RawValue>(text).is_ok();
        let start = self.repeated.filter(|_| !is_json(arguments));
        // Some begin with an object that is empty.
        let empty = arguments
            .trim_start()
            .strip_prefix("{}")
            .map(str::trim_start);
        let empty = empty.filter(|rest| rest.starts_with('{'));
        let empty = empty.map(|rest| arguments.len() - rest.len());
        if let Some(start) = start.or(empty) {
            arguments.drain(..start);
        }
        self.piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    static TOOLS: [ToolSpec; 2] = [
        ToolSpec::fixed("ls", "", "{}"),
        ToolSpec::fixed("cat", "", "{}"),
    ];

    /// Pieces as `index id name arguments`, with `-` for what is missing.
    fn put_together(pieces: &[&str]) -> Vec<String> {
        let mut calls = Calls::default();
        for piece in pieces {
            let mut words = piece
                .splitn(4, ' ')
                .map(|word| if word == "-" { "" } else { word });
            let mut word = || words.next().unwrap_or_default().to_owned();
            let piece = Piece {
                index: word().parse().ok(),
                id: word(),
                name: word(),
                arguments: word(),
                signature: None,
            };
            calls.push(piece, &TOOLS);
        }
        let calls = calls.finish(1).into_iter();
        calls
            .map(|call| format!("{}{}", call.name, call.arguments))
            .collect()
    }

    #[test]
    fn calls_with_one_id_are_two_with_an_id_each() {
        let piece = |index, name: &str, arguments: &str| Piece {
            index,
            id: "x".to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            signature: None,
        };
        for index in [[None, None], [Some(0), Some(1)], [Some(0), Some(0)]] {
            for pieces in [&["{\"a\":1}"][..], &["{\"a\"", ":1}"]] {
                let mut calls = Calls::default();
                for (name, index, number) in [
                    ("ls", index[0], 1),
                    ("ls", index[1], 2),
                    ("cat", Some(2), 3),
                ] {
                    for part in pieces {
                        let part = part.replace('1', &number.to_string());
                        calls.push(piece(index, name, &part), &TOOLS);
                    }
                }
                let calls = calls.finish(1);
                let found: Vec<_> = calls
                    .iter()
                    .map(|call| (&*call.id, &*call.arguments))
                    .collect();
                let expected = [
                    ("x", "{\"a\":1}"),
                    ("call_00000001_1", "{\"a\":2}"),
                    ("call_00000001_2", "{\"a\":3}"),
                ];
                assert_eq!(found, expected, "{index:?}");
            }
        }
    }

    /// The same two calls, as servers stream them.
    const SAME: &[&[&str]] = &[
        // As the API has it, and with other numbers.
        &[
            "0 x ls -",
            "0 - - {\"a\":",
            "0 - - 1}",
            "1 y cat {\"b\"",
            "1 - - :2}",
        ],
        &["1 x ls {\"a\":1}", "2 y cat {\"b\":2}"],
        &["0 x ls {\"a\":", "1 y cat {\"b\"", "0 - - 1}", "1 - - :2}"],
        // No number, in all pieces or only in the later ones.
        &[
            "- x ls -",
            "- - - {\"a\":1",
            "- - - }",
            "- y cat {",
            "- - - \"b\":2}",
        ],
        &["0 x ls -", "- - - {\"a\":1}", "1 y cat {", "- - - \"b\":2}"],
        &["- - ls {\"a\":1}", "- - cat {\"b\":2}"],
        // All the first.
        &["0 x ls {\"a\":1}", "0 y cat {\"b\":2}"],
        &["0 - ls {\"a\":1}", "0 - cat {\"b\":2}"],
        &[
            "0 x ls -",
            "0 - - {\"a\":1}",
            "0 y cat -",
            "0 - - {\"b\":2}",
        ],
        &["0 x ls {\"a\":1}", "1 y cat {", "0 - - \"b\":2}"],
        // The number counts pieces.
        &[
            "0 x ls -",
            "1 - - {\"a\":",
            "2 - - 1}",
            "3 y cat -",
            "4 - - {\"b\":2}",
        ],
        &["0 x ls {\"a\":", "1 x - 1}", "2 y cat {\"b\":", "3 y - 2}"],
        // Ids and names come again, or the ids are new each time.
        &[
            "0 x ls {\"a\":",
            "0 x ls 1}",
            "1 y cat {\"b\":",
            "1 y cat 2}",
        ],
        &["0 x ls {\"a\":", "0 q - 1}", "1 y cat {\"b\":", "1 r - 2}"],
        &[
            "- - ls {\"a\":",
            "- - ls 1}",
            "- - cat {\"b\":",
            "- - cat 2}",
        ],
        // The name comes last, in parts, or as it grows.
        &[
            "0 x - {\"a\":1}",
            "0 - ls -",
            "1 y - {\"b\":2}",
            "1 - cat -",
        ],
        &["0 x l -", "0 - s {\"a\":1}", "1 y c -", "1 - at {\"b\":2}"],
        &[
            "0 x l -",
            "0 x ls {\"a\":1}",
            "1 y ca -",
            "1 y cat {\"b\":2}",
        ],
        // Stubs, and arguments that begin empty or come whole at the end.
        &[
            "0 - - -",
            "0 x ls {\"a\":1}",
            "1 - - -",
            "1 y cat {\"b\":2}",
            "2 - - -",
        ],
        &[
            "0 x ls {}",
            "0 - - {\"a\":1}",
            "1 y cat {}",
            "1 - - {\"b\":2}",
        ],
        &[
            "0 x ls {\"a\":1}",
            "1 y cat {\"b\":",
            "1 - - 2}",
            "1 y cat {\"b\":2}",
        ],
        &["0 x ls {\"a\":1}", "0 x - {}", "1 y cat {\"b\":2}"],
        // What servers put around a name.
        &[
            "0 x functions.ls:0 {\"a\":1}",
            "1 y cat<|channel|>commentary {\"b\":2}",
        ],
        // Each piece tells all so far.
        &[
            "0 x ls {\"a\":",
            "0 - - {\"a\":1",
            "0 - - {\"a\":1}",
            "1 y cat {\"b\":2",
            "1 y cat {\"b\":2}",
        ],
        &[
            "- - ls {",
            "- - - {\"a\"",
            "- - - {\"a\":1}",
            "- - cat {\"b\":",
            "- - - {\"b\":2}",
        ],
        &["0 x ls {}{\"a\":1}", "1 y cat {} {\"b\":2}"],
        &[
            "0 x ls {}",
            "0 - - {\"a\"",
            "0 - - :1}",
            "1 y cat {}",
            "1 - - {\"b\":2}",
        ],
        // One id for all.
        &["0 x ls {\"a\":1}", "1 x cat {\"b\":2}"],
    ];

    #[test]
    fn arguments_belong_where_any_human_would_put_them() {
        let two = ["ls{\"a\":1}", "cat{\"b\":2}"];
        for pieces in SAME {
            assert_eq!(put_together(pieces), two, "{pieces:?}");
        }
    }

    #[test]
    fn arguments_that_repeat_themselves_are_kept() {
        for (pieces, arguments) in [
            (
                &["0 x ls {\"a\":", "0 - - {\"a\":1}", "0 - - }"][..],
                r#"{"a":{"a":1}}"#,
            ),
            (&["0 x ls {\"a\":", "0 - - {\"a\":1}}"], r#"{"a":{"a":1}}"#),
            (
                &["0 x ls {\"a\":", "0 - - {\"a\":", "0 - - 1}}"],
                r#"{"a":{"a":1}}"#,
            ),
        ] {
            assert_eq!(
                put_together(pieces),
                [format!("ls{arguments}")],
                "{pieces:?}"
            );
        }
    }

    #[test]
    fn a_call_without_a_name_is_none() {
        for pieces in [
            &["0 x - {\"a\":1}"][..],
            &["0 - - -"],
            &["0 x - -", "1 - - {}"],
            &["0 x <|call|> {}"],
        ] {
            assert!(put_together(pieces).is_empty(), "{pieces:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_in_order_with_an_id_each_are_always_put_together(
            cuts in prop::collection::vec(0_usize..40, 0..6),
            index in prop_oneof![Just("-"), Just("0"), Just("7")],
        ) {
            let arguments = r#"{"a":"}{\"[","b":[{}]}"#;
            let mut cuts: Vec<_> = cuts.into_iter().filter(|cut| *cut < arguments.len()).collect();
            cuts.extend([0, arguments.len()]);
            cuts.sort_unstable();
            let call = |id: &str, name: &str| {
                let first = format!("{index} {id} {name} -");
                let rest = cuts.windows(2).map(|cut| format!("{index} - - {}", &arguments[cut[0]..cut[1]]));
                [first].into_iter().chain(rest).collect::<Vec<_>>()
            };
            let pieces = [call("x", "ls"), call("y", "cat")].concat();
            let pieces: Vec<_> = pieces.iter().map(String::as_str).collect();
            let expected = [format!("ls{arguments}"), format!("cat{arguments}")];
            prop_assert_eq!(put_together(&pieces), expected);
        }
    }
}
