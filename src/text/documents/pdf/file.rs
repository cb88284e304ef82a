//! The objects of a file by number.
//!
//! The tables that say where they are (ISO 32000-1, 7.5.4 and 7.5.8) are not read: all objects are found by
//! looking for them, as other readers do where a table is damaged. Of two with one number the later one counts.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::UNPACKED_BYTES;
use super::filter;
use super::object::{Lexer, Object, is_space};

/// Objects of a document.
const OBJECTS: usize = 1_000_000;
/// References that lead to references.
const HOPS: usize = 8;
/// Filters of one stream.
const FILTERS: usize = 8;

/// A place of an object.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Offset in the file, behind `obj`.
    File(usize),
    /// Number of an object stream, and offset in what it unpacks to.
    Stream(u32, usize),
}

/// A document's objects.
pub struct File<'a> {
    bytes: &'a [u8],
    places: BTreeMap<u32, Place>,
    /// The object in which the file ends.
    cut: Option<u32>,
    /// The members of the trailers; the last one first.
    trailers: Vec<Object>,
    unpacked: RefCell<BTreeMap<u32, Rc<Vec<u8>>>>,
    left: Cell<usize>,
}

/// An object and the data of a stream.
pub struct Found<'a> {
    /// The object; of a stream the dictionary.
    pub object: Object,
    /// The data as it is in the file.
    pub data: Option<&'a [u8]>,
}

impl<'a> File<'a> {
    /// Finds all objects.
    pub fn new(bytes: &'a [u8]) -> Self {
        let mut file = Self {
            bytes,
            places: BTreeMap::new(),
            cut: None,
            trailers: Vec::new(),
            unpacked: RefCell::default(),
            left: Cell::new(UNPACKED_BYTES),
        };
        let streams = file.scan();
        file.trailers.reverse();
        if !file.is_protected() {
            streams
                .into_iter()
                .for_each(|(number, at)| file.open_stream(number, at));
        }
        file
    }

    /// Whether a password is needed, or at least the empty one.
    pub fn is_protected(&self) -> bool {
        let is_null = |trailer: &Object| *self.resolve(trailer.get("Encrypt")) == Object::Null;
        !self.trailers.iter().all(is_null)
    }

    /// The member that the last trailer with such a one has.
    pub fn trailer(&self, name: &str) -> Object {
        let mut all = self.trailers.iter().map(|trailer| trailer.get(name));
        let found = all.find(|object| **object != Object::Null);
        found.cloned().unwrap_or(Object::Null)
    }

    /// The numbers of all objects.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.places.keys().copied()
    }

    /// Whether the file ends in the middle of an object.
    pub fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Whether all of an object is there.
    pub fn is_whole(&self, number: u32) -> bool {
        self.places.get(&number).is_some_and(|place| {
            let holder = match place {
                Place::File(_) => number,
                Place::Stream(stream, _) => *stream,
            };
            self.cut != Some(holder)
        })
    }

    /// Notes the objects in the file. Returns the streams that have objects in them, by number and place.
    fn scan(&mut self) -> Vec<(u32, usize)> {
        let mut streams = Vec::new();
        let mut at = 0;
        while let Some(offset) = self.bytes.get(at..).and_then(next_word) {
            let word = at + offset;
            if self
                .bytes
                .get(word..)
                .is_some_and(|rest| rest.starts_with(b"trailer"))
            {
                let mut lexer = Lexer::new(self.bytes, word + 7);
                self.trailers.extend(lexer.next());
                at = lexer.at.max(word + 7);
                continue;
            }
            at = word + 3;
            let Some(number) = self.number_before(word) else {
                continue;
            };
            if self.places.len() >= OBJECTS {
                break;
            }
            self.places.insert(number, Place::File(at));
            let start = at;
            let mut lexer = Lexer::new(self.bytes, at);
            let object = lexer.next().unwrap_or(Object::Null);
            at = lexer.at;
            if let Some(data) = self.data(&object, at) {
                at = data.as_ptr_range().end as usize - self.bytes.as_ptr() as usize;
                match object.get("Type").name() {
                    Some("ObjStm") => streams.push((number, start)),
                    Some("XRef") => self.trailers.push(object),
                    _ => {}
                }
            }
            self.cut = (at >= self.bytes.len()).then_some(number);
        }
        streams
    }

    /// The number of the object whose `obj` is at an offset.
    fn number_before(&self, word: usize) -> Option<u32> {
        let before = self.bytes.get(word.saturating_sub(24)..word)?;
        let mut parts = before
            .rsplit(|byte| is_space(*byte))
            .filter(|part| !part.is_empty());
        let generation = parts.next()?;
        let number = parts.next()?;
        // It may follow something without a space, such as `endobj12 0 obj`.
        let digits = number
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let number = number.get(number.len() - digits..)?;
        let is_generation = generation.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(number).ok()?.parse().ok()?;
        is_generation.then_some(number)
    }

    /// The data of a stream behind its dictionary.
    fn data(&self, dictionary: &Object, at: usize) -> Option<&'a [u8]> {
        if !matches!(dictionary, Object::Dictionary(_)) {
            return None;
        }
        let mut lexer = Lexer::new(self.bytes, at);
        lexer.skip_space();
        let rest = self.bytes.get(lexer.at..)?.strip_prefix(b"stream")?;
        let rest = rest
            .strip_prefix(b"\r\n")
            .or_else(|| rest.strip_prefix(b"\n"))
            .unwrap_or(rest);
        let said = dictionary
            .get("Length")
            .count()
            .and_then(|length| rest.split_at_checked(length));
        if let Some((data, after)) = said
            && find_word(after.get(..16).unwrap_or(after), b"endstream").is_some()
        {
            return Some(data);
        }
        let end = find_word(rest, b"endstream");
        rest.get(..end.unwrap_or(rest.len()))
    }

    /// Notes the objects in a stream of objects (ISO 32000-1, 7.5.7), unless there are later ones in the file.
    fn open_stream(&mut self, number: u32, at: usize) {
        let found = self.read_at(at);
        let unpacked = Rc::new(self.unpack(&found));
        let first = found.object.get("First").count().unwrap_or(0);
        let count = found.object.get("N").count().unwrap_or(0);
        let mut lexer = Lexer::new(&unpacked, 0);
        for _ in 0..count {
            let (Some(Object::Number(inner)), Some(Object::Number(offset))) =
                (lexer.next(), lexer.next())
            else {
                break;
            };
            if lexer.at > first || self.places.len() >= OBJECTS {
                break;
            }
            let is_newer = match self.places.get(&(inner as u32)) {
                Some(Place::File(known)) => at > *known,
                _ => true,
            };
            if is_newer {
                let place = Place::Stream(number, first.saturating_add(offset as usize));
                self.places.insert(inner as u32, place);
            }
        }
        self.unpacked.borrow_mut().insert(number, unpacked);
    }

    fn read_at(&self, at: usize) -> Found<'a> {
        let mut lexer = Lexer::new(self.bytes, at);
        let object = lexer.next().unwrap_or(Object::Null);
        let data = self.data(&object, lexer.at);
        Found { object, data }
    }

    /// The object of a number; nothing where there is none.
    pub fn find(&self, number: u32) -> Found<'a> {
        match self.places.get(&number) {
            Some(Place::File(at)) => self.read_at(*at),
            Some(Place::Stream(stream, offset)) => {
                let unpacked = self.unpacked.borrow();
                let object = unpacked
                    .get(stream)
                    .and_then(|bytes| Lexer::new(bytes, *offset).next());
                Found {
                    object: object.unwrap_or(Object::Null),
                    data: None,
                }
            }
            None => Found {
                object: Object::Null,
                data: None,
            },
        }
    }

    /// The numbers of the streams with a page's contents.
    pub fn contents(&self, page: &Object) -> Vec<u32> {
        let own = page.get("Contents");
        let contents = self.resolve(own);
        let streams = match &*contents {
            Object::Array(streams) => streams.as_slice(),
            _ => std::slice::from_ref(own),
        };
        let number = |stream: &Object| match stream {
            Object::Reference(number) => Some(*number),
            _ => None,
        };
        streams.iter().filter_map(number).collect()
    }

    /// An object, by way of its reference where it is one.
    pub fn resolve<'o>(&self, object: &'o Object) -> std::borrow::Cow<'o, Object> {
        let mut found = std::borrow::Cow::Borrowed(object);
        for _ in 0..HOPS {
            match *found {
                Object::Reference(number) => {
                    found = std::borrow::Cow::Owned(self.find(number).object);
                }
                _ => return found,
            }
        }
        std::borrow::Cow::Owned(Object::Null)
    }

    /// A member of a dictionary, resolved.
    pub fn member(&self, object: &Object, name: &str) -> Object {
        self.resolve(object.get(name)).into_owned()
    }

    /// A stream's data behind its filters; empty for anything else, and when the allowance is used up.
    pub fn unpack(&self, found: &Found<'_>) -> Vec<u8> {
        let Some(data) = found.data else {
            return Vec::new();
        };
        let either = |long, short| match self.member(&found.object, long) {
            Object::Null => self.member(&found.object, short),
            object => object,
        };
        let list = |object: Object| match object {
            Object::Array(members) => members,
            Object::Null => Vec::new(),
            single => vec![single],
        };
        let filters = list(either("Filter", "F"));
        let parameters = list(either("DecodeParms", "DP"));
        let mut bytes = std::borrow::Cow::Borrowed(data);
        for (index, filter) in filters.iter().take(FILTERS).enumerate() {
            let filter = self.resolve(filter);
            let parameters = parameters.get(index).unwrap_or(&Object::Null);
            let parameters = self.resolve(parameters);
            let name = filter.name().unwrap_or_default();
            let Some(decoded) = filter::decode(name, &parameters, &bytes, self.left.get()) else {
                return Vec::new();
            };
            self.left.set(self.left.get().saturating_sub(decoded.len()));
            bytes = decoded.into();
        }
        bytes.into_owned()
    }
}

fn find_word(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.windows(word.len()).position(|window| window == word)
}

/// The offset of the next `obj` or `trailer`.
fn next_word(bytes: &[u8]) -> Option<usize> {
    let is_word = |window: &[u8]| matches!(window, b"obj" | b"tra");
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.windows(3).position(is_word)?;
        let rest = bytes.get(at..)?;
        if rest.starts_with(b"obj") || rest.starts_with(b"trailer") {
            return Some(at);
        }
        from = at + 3;
    }
}
