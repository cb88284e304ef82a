//! The files of a message.

use crate::base::message::{Media, RemoteFile};
use crate::channels::telegram::api::types::{File, Message};

/// The files of a message. Telegram puts one into each.
pub fn remote_files(message: &Message) -> Vec<RemoteFile> {
    found(message)
        .map(|(media, file, usual)| RemoteFile {
            media,
            id: file.file_id.clone(),
            size: file.file_size,
            name: match file.file_name.as_str() {
                "" => usual.to_owned(),
                name => name.to_owned(),
            },
        })
        .into_iter()
        .collect()
}

/// The kind of file that a message has, in words.
pub fn describe(message: &Message) -> Option<&'static str> {
    found(message).map(|(media, ..)| match media {
        Media::Photo => "a photo",
        Media::Voice => "a voice message",
        Media::Audio => "music",
        Media::Video => "a video",
        Media::VideoNote => "a video message",
        Media::Document => "a file",
    })
}

/// The file, with its kind and a usual name.
fn found(message: &Message) -> Option<(Media, &File, &'static str)> {
    // An animation is there as a document, too.
    let kinds = [
        (Media::Photo, message.photo.last(), "photo.jpg"),
        (Media::Voice, message.voice.as_ref(), "voice.ogg"),
        (Media::Audio, message.audio.as_ref(), "audio.mp3"),
        (Media::Video, message.video.as_ref(), "video.mp4"),
        (Media::VideoNote, message.video_note.as_ref(), "video.mp4"),
        (Media::Video, message.animation.as_ref(), "animation.mp4"),
        (Media::Document, message.document.as_ref(), "document"),
    ];
    let mut kinds = kinds.into_iter();
    kinds.find_map(|(media, file, usual)| Some((media, file?, usual)))
}
