//! The drawing operators of a page (ISO 32000-1, 8 and 9): only text and the presence of pictures count.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::file::{File, Found};
use super::font::Font;
use super::layout::{Page, Stretch};
use super::object::{Lexer, Object, is_space};

/// Forms within one another.
const FORMS: usize = 8;
/// Operators of one page with its forms.
const OPERATORS: usize = 2_000_000;
/// Operands of one operator; the strings of a line are one array.
const OPERANDS: usize = 64;
/// Saved states.
const STATES: usize = 256;

/// A matrix as six numbers (ISO 32000-1, 8.3.3).
type Matrix = [f64; 6];

const UNIT: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

fn multiply(first: Matrix, second: Matrix) -> Matrix {
    let [a, b, c, d, e, f] = first;
    let [g, h, i, j, k, l] = second;
    [
        a * g + b * i,
        a * h + b * j,
        c * g + d * i,
        c * h + d * j,
        e * g + f * i + k,
        e * h + f * j + l,
    ]
}

fn matrix_of(operands: &[Object]) -> Option<Matrix> {
    let mut matrix = UNIT;
    let numbers = operands
        .get(..6)?
        .iter()
        .map(|operand| operand.number().unwrap_or(0.0));
    matrix
        .iter_mut()
        .zip(numbers)
        .for_each(|(to, number)| *to = number);
    Some(matrix)
}

#[derive(Clone)]
struct State {
    matrix: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    char_space: f64,
    word_space: f64,
    stretch: f64,
    leading: f64,
}

/// Reads the text of pages. The fonts are kept from page to page.
pub struct Reader<'a> {
    file: &'a File<'a>,
    fonts: BTreeMap<u32, Rc<Font>>,
    operators: usize,
}

impl<'a> Reader<'a> {
    /// A reader of a file's pages.
    pub fn new(file: &'a File<'a>) -> Self {
        Self {
            file,
            fonts: BTreeMap::new(),
            operators: 0,
        }
    }

    /// The text of a page, with these resources where it has none itself.
    pub fn read(&mut self, page: &Object, inherited: &Object) -> Page {
        let mut text = Page::default();
        self.operators = 0;
        let mut bytes = Vec::new();
        for number in self.file.contents(page) {
            text.is_partial |= !self.file.is_whole(number);
            bytes.extend(self.file.unpack(&self.file.find(number)));
            bytes.push(b'\n');
        }
        let resources = match self.file.member(page, "Resources") {
            Object::Null => inherited.clone(),
            own => own,
        };
        self.run(&bytes, &resources, UNIT, (&mut text, 0));
        for note in self.file.member(page, "Annots").members() {
            self.appearance(&self.file.resolve(note), &mut text);
        }
        text
    }

    /// The text that a field of a form or a note shows.
    fn appearance(&mut self, note: &Object, text: &mut Page) {
        if !matches!(note.get("Subtype").name(), Some("Widget" | "FreeText")) {
            return;
        }
        let looks = self.file.member(note, "AP");
        let mut look = looks.get("N").clone();
        if let Object::Dictionary(_) = &*self.file.resolve(&look)
            && let Some(state) = self.file.member(note, "AS").name()
        {
            look = self.file.resolve(&look).get(state).clone();
        }
        let Object::Reference(number) = look else {
            return;
        };
        let corner = self.file.member(note, "Rect");
        let at = |index| {
            corner
                .members()
                .get(index)
                .and_then(Object::number)
                .unwrap_or(0.0)
        };
        let matrix = [1.0, 0.0, 0.0, 1.0, at(0), at(1)];
        self.form(&self.file.find(number), &Object::Null, matrix, (text, 0));
    }

    fn form(
        &mut self,
        form: &Found<'_>,
        outer: &Object,
        matrix: Matrix,
        (text, depth): (&mut Page, usize),
    ) {
        let own = self.file.member(&form.object, "Matrix");
        let matrix = multiply(matrix_of(own.members()).unwrap_or(UNIT), matrix);
        let resources = match self.file.member(&form.object, "Resources") {
            Object::Null => outer.clone(),
            own => own,
        };
        let bytes = self.file.unpack(form);
        self.run(&bytes, &resources, matrix, (text, depth + 1));
    }

    fn run(
        &mut self,
        bytes: &[u8],
        resources: &Object,
        matrix: Matrix,
        (text, depth): (&mut Page, usize),
    ) {
        let mut drawing = Drawing::new(matrix);
        let mut lexer = Lexer::new(bytes, 0);
        let mut operands: Vec<Object> = Vec::new();
        while let Some(object) = lexer.next() {
            let Object::Word(operator) = object else {
                if operands.len() < OPERANDS {
                    operands.push(object);
                }
                continue;
            };
            self.operators += 1;
            if self.operators > OPERATORS || text.is_full() {
                return;
            }
            match operator.as_str() {
                "Tf" => {
                    let name = operands.first().and_then(Object::name).unwrap_or_default();
                    drawing.state.font = self.font(resources, name);
                    drawing.state.size = operands.get(1).and_then(Object::number).unwrap_or(0.0);
                }
                "Do" if depth < FORMS => {
                    let name = operands.first().and_then(Object::name).unwrap_or_default();
                    let drawn = self.file.member(resources, "XObject");
                    if let Object::Reference(number) = drawn.get(name) {
                        let found = self.file.find(*number);
                        match found.object.get("Subtype").name() {
                            Some("Form") => {
                                self.form(&found, resources, drawing.state.matrix, (text, depth));
                            }
                            _ => text.has_picture = true,
                        }
                    }
                }
                "BI" => {
                    text.has_picture = true;
                    lexer.at = end_of_picture(bytes, lexer.at);
                }
                operator => drawing.operate(operator, &operands, text),
            }
            operands.clear();
        }
    }

    fn font(&mut self, resources: &Object, name: &str) -> Option<Rc<Font>> {
        let fonts = self.file.member(resources, "Font");
        match fonts.get(name) {
            Object::Reference(number) => {
                if let Some(font) = self.fonts.get(number) {
                    return Some(Rc::clone(font));
                }
                let font = Rc::new(Font::new(self.file, &self.file.find(*number).object));
                self.fonts.insert(*number, Rc::clone(&font));
                Some(font)
            }
            Object::Null => None,
            own => Some(Rc::new(Font::new(self.file, own))),
        }
    }
}

/// The offset behind a picture within the content: `EI` between white space.
fn end_of_picture(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let is_end =
        |window: &[u8]| matches!(window, [a, b'E', b'I', b] if is_space(*a) && is_space(*b));
    let end = rest.windows(4).position(is_end);
    end.map_or(bytes.len(), |end| from + end + 3)
}

/// The state of drawing.
struct Drawing {
    state: State,
    saved: Vec<State>,
    text: Matrix,
    line: Matrix,
}

impl Drawing {
    fn new(matrix: Matrix) -> Self {
        Self {
            state: State {
                matrix,
                font: None,
                size: 1.0,
                char_space: 0.0,
                word_space: 0.0,
                stretch: 1.0,
                leading: 0.0,
            },
            saved: Vec::new(),
            text: UNIT,
            line: UNIT,
        }
    }

    fn operate(&mut self, operator: &str, operands: &[Object], page: &mut Page) {
        let number = |index| operands.get(index).and_then(Object::number).unwrap_or(0.0);
        let state = &mut self.state;
        match operator {
            "q" if self.saved.len() < STATES => self.saved.push(state.clone()),
            "Q" => self.state = self.saved.pop().unwrap_or_else(|| state.clone()),
            "cm" => {
                if let Some(matrix) = matrix_of(operands) {
                    state.matrix = multiply(matrix, state.matrix);
                }
            }
            "BT" => (self.text, self.line) = (UNIT, UNIT),
            "Tm" => {
                let matrix = matrix_of(operands).unwrap_or(UNIT);
                (self.text, self.line) = (matrix, matrix);
            }
            "Tc" => state.char_space = number(0),
            "Tw" => state.word_space = number(0),
            "Tz" => state.stretch = number(0) / 100.0,
            "TL" => state.leading = number(0),
            "Td" => self.move_line(number(0), number(1)),
            "TD" => {
                state.leading = -number(1);
                self.move_line(number(0), number(1));
            }
            "T*" => self.next_line(),
            "Tj" => self.show(operands.first(), page),
            "'" => {
                self.next_line();
                self.show(operands.first(), page);
            }
            "\"" => {
                (state.word_space, state.char_space) = (number(0), number(1));
                self.next_line();
                self.show(operands.get(2), page);
            }
            "TJ" => {
                for member in operands.first().map_or(&[][..], Object::members) {
                    match member {
                        Object::Number(adjustment) => {
                            let shift = -adjustment / 1000.0 * self.state.size * self.state.stretch;
                            self.text = multiply([1.0, 0.0, 0.0, 1.0, shift, 0.0], self.text);
                        }
                        other => self.show(Some(other), page),
                    }
                }
            }
            _ => {}
        }
    }

    fn move_line(&mut self, x: f64, y: f64) {
        self.line = multiply([1.0, 0.0, 0.0, 1.0, x, y], self.line);
        self.text = self.line;
    }

    fn next_line(&mut self) {
        self.move_line(0.0, -self.state.leading);
    }

    fn show(&mut self, string: Option<&Object>, page: &mut Page) {
        let (Some(Object::Text(bytes)), Some(font)) = (string, self.state.font.clone()) else {
            return;
        };
        let state = &self.state;
        let start = multiply(self.text, state.matrix);
        let (mut text, mut width) = (String::new(), 0.0);
        font.glyphs(bytes, &mut |glyph| {
            match glyph.text {
                Some(glyph) => text.push_str(&glyph),
                None => page.unreadable += 1,
            }
            let space = if glyph.is_space {
                state.word_space
            } else {
                0.0
            };
            width += (glyph.width * state.size + state.char_space + space) * state.stretch;
        });
        self.text = multiply([1.0, 0.0, 0.0, 1.0, width, 0.0], self.text);
        let end = multiply(self.text, state.matrix);
        let length = |x: f64, y: f64| x.hypot(y);
        let [a, b, c, d, ..] = start;
        let scale = length(a, b).max(1e-9);
        let sign = if state.size < 0.0 { -1.0 } else { 1.0 };
        page.add(Stretch {
            text,
            start: (start[4], start[5]),
            end: (end[4], end[5]),
            direction: (a / scale * sign, b / scale * sign),
            size: length(c, d) * state.size.abs(),
        });
    }
}
