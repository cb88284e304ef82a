//! A request's body, written straight into bytes: a tree of the conversation would take too much of a
//! board's memory.

use serde::Serialize;
use serde_json::{Map, Value};

use super::super::quirks::Quirks;

/// The model that a request is encoded for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The model's name.
    pub model: &'a str,
    /// The provider's name.
    pub provider: &'a str,
    /// How its API differs.
    pub quirks: Quirks,
    /// Members that the configuration adds; they win over ours.
    pub extra_body: &'a Map<String, Value>,
}

/// A JSON object that grows member by member.
pub struct Body<'a> {
    bytes: Vec<u8>,
    extra: &'a Map<String, Value>,
}

impl<'a> Body<'a> {
    /// An empty object with room for so many bytes, to which `extra` will be added.
    pub fn new(extra: &'a Map<String, Value>, room: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(room),
            extra,
        }
    }

    /// Adds a member, unless the extra ones have it.
    pub fn put(&mut self, name: &str, value: &impl Serialize) -> serde_json::Result<()> {
        if self.extra.contains_key(name) {
            return Ok(());
        }
        self.write(name, value)
    }

    /// Adds a member where there is a value.
    pub fn put_some(
        &mut self,
        name: &str,
        value: Option<&impl Serialize>,
    ) -> serde_json::Result<()> {
        value.map_or(Ok(()), |value| self.put(name, value))
    }

    /// Adds the extra members and closes the object.
    pub fn finish(mut self) -> serde_json::Result<Vec<u8>> {
        for (name, value) in self.extra {
            self.write(name, value)?;
        }
        self.bytes.push(b'}');
        Ok(self.bytes)
    }

    fn write(&mut self, name: &str, value: &impl Serialize) -> serde_json::Result<()> {
        let before = if self.bytes.is_empty() { b'{' } else { b',' };
        self.bytes.push(before);
        serde_json::to_writer(&mut self.bytes, name)?;
        self.bytes.push(b':');
        serde_json::to_writer(&mut self.bytes, value)
    }
}

/// What goes on every image: `data:image/png;base64,…`, without a copy of it.
pub struct DataUrl<'a>(pub &'a crate::base::chat::Image);

impl std::fmt::Display for DataUrl<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "data:{};base64,{}", self.0.media_type, self.0.base64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_members_are_added_and_win() {
        let extra = serde_json::from_str(r#"{"top_k":5,"stream":false}"#).unwrap();
        let mut body = Body::new(&extra, 0);
        body.put("model", &"m").unwrap();
        body.put("stream", &true).unwrap();
        body.put_some("temperature", None::<&f64>).unwrap();
        let bytes = body.finish().unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            r#"{"model":"m","stream":false,"top_k":5}"#
        );
    }
}
