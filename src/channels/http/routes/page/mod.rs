//! The web page: its files, signing in, and what a person does in a chat there.
//!
//! A browser acts for the person who asked for its link, with the role that they have now. Its cookie goes along with
//! requests of this site alone (`SameSite=Strict`), and what changes something has to be JSON with a header that no form and no
//! other site can send without asking first, which is never allowed here.

mod assets;
mod parts;
mod stream;
mod texts;

use std::net::IpAddr;
use std::time::Duration;

use serde_json::json;

use super::chat::short_hash;
use super::files::{self, read_data};
use super::{
    CHAT_BYTES, Gate, NO_BODY_BYTES, Outcome, Place, Route, note_guess, refuse, too_often,
};
use crate::base::access::Role;
use crate::base::error::Error;
use crate::base::json::Members;
use crate::base::language::Language;
use crate::base::limits::channels::MESSAGE_FILES;
use crate::base::message::{Address, Envelope, Media, PressedMessage, Sender};
use crate::base::secret::Secret;
use crate::channels::http::PAGE;
use crate::channels::http::guard::{Guard, REQUESTS, is_fine_origin};
use crate::channels::http::host::{Host, Said};
use crate::channels::http::web::view::{MESSAGES, Message, Pressable};
use crate::channels::http::wire::reply::Reply;
use crate::channels::http::wire::request::Head;
use crate::channels::kit::adapter::Button;
use crate::channels::kit::buttons::{self, Press};
use crate::channels::kit::sink::Incoming;
use crate::channels::kit::texts::already_chosen;
use crate::store::state::pairing::pages::{SIGNED_IN_SECS, Visitor};
use crate::store::state::pairing::tokens::is_name;
use crate::sys::{file, random};

use parts::Action;
pub use stream::Stream;

/// The conversation that everyone has.
const MAIN: &str = "main";
/// Characters of a message, which is as long as one that is pasted into a chat.
const TEXT_CHARS: usize = 64 * 1024;
/// Bytes of the data of a button, and of an id.
const DATA_BYTES: usize = 256;

/// A browser that is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    secret: Secret,
    visitor: Visitor,
    role: Role,
}

/// Something that a browser asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A file of the page.
    Asset(String),
    /// To be signed in by a link.
    SignIn,
    /// Who it is; `None` for a browser that is not signed in.
    Me(Option<Session>),
    /// Something for the person whom it acts for.
    Do(Session, Act),
}

impl Asked {
    /// Whether it comes from a browser that is signed in.
    pub fn is_of_known(&self) -> bool {
        matches!(self, Self::Me(Some(_)) | Self::Do(..))
    }
}

/// What a person does on the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Looks at a conversation.
    Look(String),
    /// Says something in it.
    Say(String),
    /// Presses a button in it.
    Press(String),
    /// Loads a file of it, by its id.
    Load(String, String),
    /// Signs this browser out.
    SignOut,
    /// Does something besides talking.
    Besides(Action),
}

/// Whether a path is the page's.
pub fn is_of_page(path: &str) -> bool {
    path == "/" || path == "/sign-in" || path.starts_with("/page/")
}

/// Decides about a request of a browser by its head.
pub fn gate(
    place: &Place<'_>,
    head: &Head,
    guard: &mut Guard,
    (peer, now): (Option<IpAddr>, Duration),
) -> Gate {
    let is_post = head.method == "POST";
    if !is_post && head.method != "GET" && head.method != "HEAD" {
        return refuse(405, "the method has to be GET or POST");
    }
    if !is_post && assets::find(&head.path).is_some() {
        return Gate::Body(
            NO_BODY_BYTES,
            Route::Page(Box::new(Asked::Asset(head.path.clone()))),
        );
    }
    if !is_own(head, is_post) {
        return refuse(403, "only the page itself may ask for this");
    }
    let is = |method: &str, path: &str| head.method == method && head.path == path;
    if is("POST", "/page/sign-in") {
        return Gate::Body(NO_BODY_BYTES, Route::Page(Box::new(Asked::SignIn)));
    }
    let secret = cookie(place, head);
    let session = secret.as_ref().and_then(|secret| known(place, secret));
    if is("GET", "/page/me") {
        if let (Some(_), None, Some(host)) = (&secret, &session, place.channel.slot.host()) {
            // It may be a guess. A browser whose time is over forgets its cookie, and guesses no more.
            let reply = describe(place, host, head, None);
            let reply = reply.with("Set-Cookie", &set_cookie(place, "", 0));
            return Gate::Denied(reply, note_guess(guard, (peer, now)));
        }
        return Gate::Body(NO_BODY_BYTES, Route::Page(Box::new(Asked::Me(session))));
    }
    let Some(session) = session else {
        let reply = Reply::error(401, "sign in first");
        return match secret {
            Some(_) => Gate::Denied(reply, note_guess(guard, (peer, now))),
            None => Gate::Reply(reply),
        };
    };
    // No token has a name with a space.
    if !guard.may_ask(&format!("page {}", session.visitor.key()), REQUESTS, now) {
        return Gate::Reply(too_often("too many requests within a minute"));
    }
    let (most, act) = match act_of(head) {
        Some(act @ (Act::Say(_) | Act::Besides(Action::Store))) => (CHAT_BYTES, act),
        Some(act) => (NO_BODY_BYTES, act),
        None => return refuse(404, "there is nothing at this path"),
    };
    Gate::Body(most, Route::Page(Box::new(Asked::Do(session, act))))
}

/// Whether a request comes from the page. `is_change`: it changes something.
fn is_own(head: &Head, is_change: bool) -> bool {
    let host = head.header("host").unwrap_or_default();
    let origin = head.header("origin");
    let site = head.header("sec-fetch-site");
    let kind = head.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    origin.is_none_or(|origin| is_fine_origin(origin, host, &[]))
        && site.is_none_or(|site| matches!(site, "same-origin" | "none"))
        && (!is_change
            || (head.header("x-peacrab-page") == Some("1")
                && kind.eq_ignore_ascii_case("application/json")))
}

/// What is done by the method and the path.
fn act_of(head: &Head) -> Option<Act> {
    let rest = head.path.strip_prefix("/page/")?;
    let mut parts = rest.split('/');
    let words = [parts.next(), parts.next(), parts.next(), parts.next()];
    let is_post = head.method == "POST";
    Some(match words {
        [Some("sign-out"), None, ..] if is_post => Act::SignOut,
        [Some("chats"), Some(chat), Some(what), id] if is_name(chat) => {
            let chat = chat.to_owned();
            match (is_post, what, id) {
                (false, "events", None) => Act::Look(chat),
                (true, "messages", None) => Act::Say(chat),
                (true, "presses", None) => Act::Press(chat),
                (false, "files", Some(id)) if parts.next().is_none() => {
                    Act::Load(chat, id.to_owned())
                }
                _ => return None,
            }
        }
        _ => {
            let words: Vec<&str> = rest.split('/').collect();
            return parts::find(is_post, &words).map(Act::Besides);
        }
    })
}

/// The name of the cookie. With TLS no other name of this host can set it
/// (<https://www.rfc-editor.org/rfc/rfc6265#section-4.1.3>).
fn cookie_name(place: &Place<'_>) -> &'static str {
    match place.channel.listen.has_tls() {
        true => "__Host-peacrab",
        false => "peacrab",
    }
}

fn cookie(place: &Place<'_>, head: &Head) -> Option<Secret> {
    let name = cookie_name(place);
    let cookies = head.header("cookie")?.split(';');
    let mut values = cookies.filter_map(|one| one.trim().split_once('='));
    values.find_map(|(known, value)| (known == name).then(|| Secret::new(value)))
}

/// A `Set-Cookie` with this value, which ends after some seconds.
fn set_cookie(place: &Place<'_>, value: &str, seconds: i64) -> String {
    let secure = match place.channel.listen.has_tls() {
        true => "; Secure",
        false => "",
    };
    let name = cookie_name(place);
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

/// The browser with this secret, if it is signed in and its person has access.
fn known(place: &Place<'_>, secret: &Secret) -> Option<Session> {
    let found = place.channel.pairing.find_browser(secret.expose());
    let visitor = found.unwrap_or_else(|error| {
        tracing::error!("failed to read who is signed in: {error}");
        None
    })?;
    let role = place.channel.slot.host()?.role_of(&visitor)?;
    Some(Session {
        secret: secret.clone(),
        visitor,
        role,
    })
}

/// Answers a request of a browser.
pub fn answer(
    place: &Place<'_>,
    host: &dyn Host,
    (head, asked): (&Head, &Asked),
    body: &[u8],
) -> Outcome {
    let done = match asked {
        Asked::Asset(path) => Ok(Outcome::Reply(match assets::find(path) {
            Some(asset) => asset.reply(head),
            None => Reply::error(404, "there is nothing at this path"),
        })),
        Asked::SignIn => sign_in(place, body),
        Asked::Me(session) => Ok(Outcome::Reply(describe(
            place,
            host,
            head,
            session.as_ref(),
        ))),
        Asked::Do(session, act) => act_for(place, host, (session, act), body),
    };
    done.unwrap_or_else(Outcome::Reply)
}

fn act_for(
    place: &Place<'_>,
    host: &dyn Host,
    (session, act): (&Session, &Act),
    body: &[u8],
) -> Result<Outcome, Reply> {
    let chat = match act {
        Act::Look(chat) | Act::Say(chat) | Act::Press(chat) | Act::Load(chat, _) => chat,
        Act::SignOut => return sign_out(place, session),
        Act::Besides(action) => return action.answer(host, session, body),
    };
    let chat = Chat {
        place,
        session,
        address: Address {
            thread: (chat != MAIN).then(|| chat.clone()),
            ..Address::new(PAGE, &session.visitor.key())
        },
    };
    match act {
        Act::Look(_) => chat.look(host),
        Act::Say(_) => chat.say(host, body),
        Act::Press(_) => chat.press(body),
        Act::Load(_, id) => chat.load(id),
        Act::SignOut | Act::Besides(_) => Ok(done()),
    }
}

fn failed(error: Error) -> Reply {
    tracing::warn!("failed to answer the page: {error}");
    Reply::error(503, "it cannot be done now: try again later")
}

fn read_body(body: &[u8]) -> Result<Members<'_>, Reply> {
    let text = std::str::from_utf8(body).ok();
    let members = text.and_then(Members::read);
    members.ok_or_else(|| Reply::error(400, "the body is not a JSON object"))
}

fn done() -> Outcome {
    Outcome::Reply(Reply::json(200, &json!({"ok": true})))
}

fn sign_in(place: &Place<'_>, body: &[u8]) -> Result<Outcome, Reply> {
    let code = read_body(body)?.text_or_empty("code");
    let used = place.channel.pairing.use_link(&code).map_err(failed)?;
    let Some(secret) = used else {
        let why = "the link is used, or too old";
        return Ok(Outcome::Guess(Reply::error(403, why)));
    };
    tracing::info!("a browser was signed in to the web page");
    let cookie = set_cookie(place, secret.expose(), SIGNED_IN_SECS);
    let reply = Reply::json(200, &json!({"ok": true}));
    Ok(Outcome::Reply(reply.with("Set-Cookie", &cookie)))
}

fn sign_out(place: &Place<'_>, session: &Session) -> Result<Outcome, Reply> {
    let secret = session.secret.expose();
    place.channel.pairing.sign_out(secret).map_err(failed)?;
    let reply = Reply::json(200, &json!({"ok": true}));
    Ok(Outcome::Reply(
        reply.with("Set-Cookie", &set_cookie(place, "", 0)),
    ))
}

/// Who the browser acts for, and the texts of the page.
fn describe(place: &Place<'_>, host: &dyn Host, head: &Head, session: Option<&Session>) -> Reply {
    let Some(Session { visitor, role, .. }) = session else {
        let wanted = head.header("accept-language").unwrap_or_default();
        let language = Language::pick(wanted);
        let body =
            json!({"signed": false, "language": language, "texts": texts::by_name(language)});
        return Reply::json(200, &body);
    };
    let mut chats = host.conversations(visitor);
    chats.extend(place.channel.web.view.chats_of(&visitor.key()));
    chats.retain(|chat| is_name(chat) && chat != MAIN);
    chats.sort();
    chats.dedup();
    chats.insert(0, MAIN.to_owned());
    Reply::json(
        200,
        &json!({
            "signed": true, "name": visitor.name, "role": role, "language": visitor.language, "chats": chats,
            "texts": texts::by_name(visitor.language),
        }),
    )
}

/// A conversation of a person on the page.
struct Chat<'a> {
    place: &'a Place<'a>,
    session: &'a Session,
    address: Address,
}

impl Chat<'_> {
    fn name(&self) -> String {
        self.address.within_channel()
    }

    fn sender(&self) -> Sender {
        let Visitor { name, language, .. } = &self.session.visitor;
        Sender {
            id: self.session.visitor.key(),
            name: name.clone(),
            language: *language,
            thread_of: None,
        }
    }

    /// Has the chat begin with its journal.
    fn seed(&self, host: &dyn Host) {
        let view = &self.place.channel.web.view;
        if view.is_seeded(&self.name()) {
            return;
        }
        let said = host.said(&self.address.session(), MESSAGES).into_iter();
        let message = |(index, said): (usize, Said)| Message {
            id: format!("h{index}"),
            is_own: said.is_person,
            text: said.text,
            is_marked: !said.is_person,
            at_ms: said.at_ms,
            ..Message::default()
        };
        view.seed(&self.name(), said.enumerate().map(message).collect());
    }

    fn look(&self, host: &dyn Host) -> Result<Outcome, Reply> {
        let look = self
            .place
            .channel
            .web
            .view
            .look(&self.session.visitor.key());
        let look = look.ok_or_else(|| too_often("too many pages look at once"))?;
        self.seed(host);
        let stream = Stream::new(self.session.clone(), self.name(), look);
        Ok(Outcome::Look(Box::new(stream)))
    }

    /// Hands over what was sent; returns how many messages of it are new.
    fn take(&self, incoming: Incoming) -> Result<usize, Reply> {
        let intake = self.place.channel.web.intake.get();
        let intake = intake.ok_or_else(|| Reply::error(503, "the gateway is starting"))?;
        let taken = intake.take(vec![incoming], self.place.heartbeat);
        taken.map_err(failed)
    }

    /// Accepts a message: it is on the disk when this returns. The same one again is not another one.
    fn say(&self, host: &dyn Host, body: &[u8]) -> Result<Outcome, Reply> {
        let body = read_body(body)?;
        let text = body.text_or_empty("text").trim().to_owned();
        let id = body.text_or_empty("id");
        let listed = body.list("files").unwrap_or_default();
        let refuse = |why: &str| Reply::error(400, why);
        if id.is_empty() || id.len() > DATA_BYTES {
            return Err(refuse("a message needs an id"));
        }
        if text.is_empty() && listed.is_empty() {
            return Err(refuse("the message is empty"));
        }
        if text.chars().count() > TEXT_CHARS || listed.len() > MESSAGE_FILES {
            return Err(refuse("the message is too long, or has too many files"));
        }
        // The same id in another conversation is another message.
        let reference = format!("p{}", short_hash(&format!("{} {id}", self.address)));
        let mut envelope = Envelope::written(&self.address, self.sender(), &text);
        let key = format!("{PAGE}:{reference}");
        envelope.id.clone_from(&key);
        envelope.reference.clone_from(&reference);
        let mut shown = text;
        let folder = &self.place.channel.web.received;
        if !listed.is_empty() {
            files::clear_files(folder, files::KEPT_FILES);
        }
        for (index, one) in listed.into_iter().enumerate() {
            let one =
                Members::read(one.get()).ok_or_else(|| refuse("a file has to be an object"))?;
            let name = one.text_or_empty("name");
            let file = read_data(&one.text_or_empty("data"), &name, media_of(&name));
            let file = file.map_err(refuse)?;
            shown.push_str(&format!("\n[{}]", file.name));
            let stored = format!("{reference}-{index}");
            let stored = files::owned_name(&self.address.chat, &stored);
            let stored = files::store(folder, &stored, &file);
            envelope.remote_files.push(stored.map_err(failed)?);
        }
        self.seed(host);
        let (view, chat) = (&self.place.channel.web.view, self.name());
        let is_new = !view.edit(&chat, &reference, |_| {});
        if is_new {
            let message = Message {
                id: reference.clone(),
                is_own: true,
                text: shown.trim().to_owned(),
                ..Message::default()
            };
            view.add(&chat, message);
        }
        let incoming = Incoming::Message {
            envelope,
            username: String::new(),
        };
        let taken = self.take(incoming);
        // Accepted before: where it is no longer on its way, the journal that the chat began with has it.
        let intake = self.place.channel.web.intake.get();
        let is_said = matches!(taken, Ok(0)) && !intake.is_some_and(|intake| intake.holds(&key));
        if is_new && (taken.is_err() || is_said) {
            view.remove(&chat, &reference);
        }
        taken.map(|_| done())
    }

    /// Presses a button that is shown in this chat.
    fn press(&self, body: &[u8]) -> Result<Outcome, Reply> {
        let body = read_body(body)?;
        let (message, data) = (body.text_or_empty("message"), body.text_or_empty("data"));
        let view = &self.place.channel.web.view;
        let (intake, sender) = (self.place.channel.web.intake.get(), self.sender());
        let language = sender.language;
        let tell = |notice: &str| Ok(Outcome::Reply(Reply::json(200, &json!({"notice": notice}))));
        // Of a choice of the model's the message shows which; what else is asked is settled by its own answer.
        let shown = |button: &Button| match buttons::read(&button.data) {
            Some(Press::Text(_)) => Some(format!("✓ {}", escape(&button.label))),
            _ => None,
        };
        let before = match view.press(&self.name(), (&message, &data), shown) {
            Pressable::Yes(before) => before,
            Pressable::Answered => return tell(already_chosen(language)),
            Pressable::No => return Err(Reply::error(404, "there is no such button here")),
        };
        let notice = intake.and_then(|intake| intake.press_notice(&sender, "", None, &data));
        if let Some(notice) = notice {
            view.unpress(&self.name(), &before);
            return tell(notice);
        }
        let random = random::bytes().map(u64::from_ne_bytes).map_err(failed);
        let taken = random.and_then(|random| {
            self.take(Incoming::Pressed {
                id: format!("{PAGE}:press-{random:016x}"),
                address: self.address.clone(),
                is_group: false,
                sender,
                username: String::new(),
                message: PressedMessage {
                    id: message,
                    text: before.text.clone(),
                },
                data,
            })
        });
        if let Err(reply) = taken {
            view.unpress(&self.name(), &before);
            return Err(reply);
        }
        Ok(done())
    }

    /// A file that a message of this chat has.
    fn load(&self, id: &str) -> Result<Outcome, Reply> {
        let web = &self.place.channel.web;
        let name = web.view.file(&self.name(), id);
        let gone = || Reply::error(404, "the file is no longer here");
        let path = web.files.join(id);
        // Only an id of ours is one of a message.
        let name = name.ok_or_else(gone)?;
        let bytes = file::read_at_most(&path, crate::channels::http::web::FILE_BYTES);
        let bytes = bytes.map_err(|_| gone())?;
        Ok(Outcome::Reply(file_reply(&name, bytes)))
    }
}

/// A file as a reply: a picture is shown, and anything else is saved.
pub(super) fn file_reply(name: &str, body: Vec<u8>) -> Reply {
    let ending = name.rsplit('.').next().unwrap_or_default();
    let kind = match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        _ => "application/octet-stream",
    };
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    let name: String = name.bytes().map(escape).collect();
    let reply = Reply {
        status: 200,
        kind,
        body,
        headers: Vec::new(),
    };
    reply.with(
        "Content-Disposition",
        &format!("attachment; filename*=UTF-8''{name}"),
    )
}

/// A label as Markdown that shows it as it is.
fn escape(label: &str) -> String {
    let mut escaped = String::new();
    for char in label.chars() {
        if char.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

fn media_of(name: &str) -> Media {
    let ending = name.rsplit('.').next().unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "png" | "jpg" | "jpeg" | "webp" | "gif" => Media::Photo,
        "mp3" | "ogg" | "oga" | "opus" | "wav" | "m4a" | "flac" | "webm" => Media::Audio,
        _ => Media::Document,
    }
}
