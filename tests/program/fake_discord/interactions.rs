//! Buttons and commands are answered in time, and once.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Bot, Link, messages};
use crate::harness::discord::{APPLICATION_ID, Discord};

#[test]
fn an_interaction_is_answered_within_3_seconds_and_once() {
    let discord = Discord::start();
    let ana = discord.person(1001, "Ana");
    let bot = Bot::of(&discord);
    let (mut link, _) = Link::with_session(&bot, 0);
    let buttons = json!([{"type": 1, "components": [
        {"type": 2, "style": 1, "label": "Yes", "custom_id": "yes"}]}]);
    bot.does(
        "POST",
        &messages(ana.chat()),
        json!({"content": "?", "components": buttons}),
    );
    let token = ana.presses("Yes");
    let event = link.event("INTERACTION_CREATE");
    assert_eq!(
        (&event["type"], &event["data"]["custom_id"]),
        (&json!(3), &json!("yes"))
    );
    assert_eq!(
        (&event["token"], &event["user"]["id"]),
        (&json!(token), &json!("1001"))
    );
    let path = |event: &Value| {
        let text = |name: &str| event[name].as_str().unwrap().to_owned();
        format!("/interactions/{}/{}/callback", text("id"), text("token"))
    };
    let update = json!({"type": 7, "data": {"content": "yes", "components": []}});
    bot.does("POST", &path(&event), update.clone());
    assert_eq!(discord.answer(&token), Some(7));
    assert_eq!(
        bot.refused("POST", &path(&event), update.clone()),
        (400, 40060)
    );
    let message = &discord.messages(ana.chat())[0];
    assert_eq!(
        (message.text.as_str(), &message.components),
        ("yes", &json!([]))
    );

    bot.does(
        "PATCH",
        &format!("{}/{}", messages(ana.chat()), message.id),
        json!({"components": buttons}),
    );
    ana.presses_in(ana.chat(), "Yes");
    let event = link.event("INTERACTION_CREATE");
    thread::sleep(Duration::from_millis(3_100));
    discord.forgives("Unknown interaction");
    assert_eq!(bot.refused("POST", &path(&event), update), (404, 10062));
}

#[test]
fn the_first_words_after_thinking_take_its_place() {
    let discord = Discord::start();
    let ana = discord.person(1001, "Ana");
    let general = discord.channel(discord.guild("Harbour"), "general");
    let bot = Bot::of(&discord);
    let commands = json!([{"name": "id", "description": "Who you are"}]);
    let set = bot.does(
        "PUT",
        &format!("/applications/{APPLICATION_ID}/commands"),
        commands,
    );
    assert_eq!(discord.commands(), *set.as_array().unwrap());
    let (mut link, _) = Link::with_session(&bot, 0);
    for place in [ana.chat(), general] {
        match place == general {
            true => ana.uses_in(place, "id", &[]),
            false => ana.uses("id", &[("text", json!("x"))]),
        };
        let event = link.event("INTERACTION_CREATE");
        assert_eq!(event["data"]["name"], "id");
        assert_eq!(event["guild_id"].is_string(), place == general);
        let [id, token] = ["id", "token"].map(|name| event[name].as_str().unwrap().to_owned());
        let webhook = format!("/webhooks/{APPLICATION_ID}/{token}");
        discord.forgives("Unknown Webhook");
        let words = |words: &str| json!({"content": words});
        assert_eq!(bot.refused("POST", &webhook, words("early")), (404, 10015));
        // Whoever has the token needs no other.
        let anyone = bot.without("authorization");
        anyone.does(
            "POST",
            &format!("/interactions/{id}/{token}/callback"),
            json!({"type": 5}),
        );
        assert!(discord.messages(place)[0].is_thinking);
        anyone.does("POST", &webhook, words("thought"));
        anyone.does("POST", &webhook, words("more"));
        anyone.does(
            "PATCH",
            &format!("{webhook}/messages/@original"),
            words("thought twice"),
        );
        let texts = discord
            .messages(place)
            .into_iter()
            .map(|message| message.text);
        assert_eq!(texts.collect::<Vec<_>>(), ["thought twice", "more"]);
        assert!(
            !discord
                .message(place, discord.messages(place)[1].id)
                .is_ephemeral
        );
    }
}

#[test]
fn a_name_that_no_command_can_have_is_refused() {
    let discord = Discord::start();
    discord.forgives("");
    let bot = Bot::of(&discord);
    let path = format!("/applications/{APPLICATION_ID}/commands");
    for commands in [
        json!([{"name": "Upper", "description": "x"}]),
        json!([{"name": "two words", "description": "x"}]),
        json!([{"name": "id", "description": ""}]),
        json!([{"name": "id", "description": "x"}, {"name": "id", "description": "y"}]),
    ] {
        assert_eq!(bot.refused("PUT", &path, commands), (400, 50035));
    }
}
