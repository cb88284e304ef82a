//! Albums: several updates, whose parts become one message.

use super::api::types::Update;
use super::update::{Meaning, Received};

/// The album that an update belongs to.
pub fn album_id(update: &Update) -> Option<&str> {
    update.message.as_ref()?.media_group_id.as_deref()
}

/// Joins the parts of each album into one message, in the place of the first part, and drops albums
/// that are not for us.
///
/// The message has the id of the last part: when it has been accepted, the updates before it have all been
/// processed. Its reference is that of the part with the text, which is the one that can be edited.
pub fn join_albums(meanings: impl Iterator<Item = Meaning>) -> Vec<Meaning> {
    let mut joined: Vec<Meaning> = Vec::new();
    for meaning in meanings {
        let part = match meaning {
            Meaning::Nothing => continue,
            Meaning::Message(part) if part.album.is_some() => *part,
            other => {
                joined.push(other);
                continue;
            }
        };
        match joined
            .iter_mut()
            .find_map(|meaning| album_of(meaning, &part))
        {
            Some(album) => add_part(album, part),
            None => joined.push(Meaning::Message(Box::new(part))),
        }
    }
    joined.retain(|meaning| !matches!(meaning, Meaning::Message(received) if !received.addressed));
    joined
}

/// The message of a meaning, if it is of the album that a part belongs to.
fn album_of<'a>(meaning: &'a mut Meaning, part: &Received) -> Option<&'a mut Received> {
    match meaning {
        Meaning::Message(album)
            if album.album == part.album && album.message.session == part.message.session =>
        {
            Some(album)
        }
        _ => None,
    }
}

fn add_part(album: &mut Received, part: Received) {
    album.addressed |= part.addressed;
    let (whole, part) = (&mut album.message, part.message);
    whole.is_relayed |= part.is_relayed;
    if whole.quote.is_empty() {
        whole.quote = part.quote;
    }
    if whole.text.is_empty() && !part.text.is_empty() {
        whole.text = part.text;
        whole.described = part.described;
        whole.reference = part.reference;
    }
    whole.remote_files.extend(part.remote_files);
    whole.id = part.id;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::message::Envelope;

    #[test]
    fn albums_that_are_not_for_us_are_dropped_and_those_of_two_chats_kept_apart() {
        let part = |number: u64, chat: &str, addressed: bool| {
            let address = crate::base::message::Address::new("telegram", chat);
            Meaning::Message(Box::new(Received {
                message: Envelope {
                    id: format!("telegram:{number}"),
                    ..Envelope::written(&address, crate::base::message::Sender::default(), "")
                },
                username: String::new(),
                album: Some("a".to_owned()),
                addressed,
            }))
        };
        let parts = [part(1, "1", false), part(2, "2", false), part(3, "1", true)];
        let ids: Vec<String> = join_albums(parts.into_iter())
            .into_iter()
            .map(|meaning| match meaning {
                Meaning::Message(received) => received.message.id,
                _ => panic!("no message"),
            })
            .collect();
        assert_eq!(ids, ["telegram:3"]);
    }
}
