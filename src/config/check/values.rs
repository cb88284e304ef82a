//! What single values may look like.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use serde_json::{Number, Value};

use super::{describe_value, safe_path};
use crate::base::json;
use crate::base::limits::config::PRICE_MAX;
use crate::config::key::{Key, Kind};
use crate::config::{resolve, texts};
use crate::text::nearest;

impl Key {
    /// Reads a value from the command line or the environment: JSON, or a plain string where the setting
    /// takes one. For a list, one plain value is a list of one.
    pub fn parse(&self, text: &str) -> Value {
        let plain = || Value::String(text.to_owned());
        let parsed = json::from_str(text);
        match self.kind {
            Kind::Text
            | Kind::Url
            | Kind::Zone
            | Kind::QuietHours
            | Kind::Choice(_)
            | Kind::Path
            | Kind::Secret => match parsed {
                Ok(value @ (Value::String(_) | Value::Null)) => value,
                _ => plain(),
            },
            Kind::Texts | Kind::Ids | Kind::Names | Kind::Paths | Kind::Hosts => match parsed {
                Ok(value @ (Value::Array(_) | Value::Null | Value::Object(_))) => value,
                Ok(value @ Value::String(_)) => Value::Array(vec![value]),
                Err(_) if text.trim_start().starts_with(['[', '{', '"']) => plain(),
                _ => Value::Array(vec![plain()]),
            },
            _ => plainly(self.kind, parsed.unwrap_or_else(|_| plain())),
        }
    }
}

/// A value as the type of its setting writes it, where another way leaves no doubt: a number or a boolean in a
/// string, a whole number with a fraction of zero, a number or a boolean where a string is usual.
pub fn plainly(kind: Kind, value: Value) -> Value {
    match (kind, value) {
        (Kind::Flag, Value::String(text)) => match text.trim().to_ascii_lowercase().parse() {
            Ok(is_on) => Value::Bool(is_on),
            Err(_) => Value::String(text),
        },
        (Kind::Whole(..) | Kind::Real(..), Value::String(text)) => {
            match json::from_str::<Number>(text.trim()) {
                Ok(number) => plainly(kind, Value::Number(number)),
                Err(_) => Value::String(text),
            }
        }
        (Kind::Whole(..), Value::Number(number)) => {
            let float = number.as_f64().filter(|_| number.is_f64());
            let whole = float.filter(|float| float.fract() == 0.0 && (0.0..MOST).contains(float));
            whole.map_or(Value::Number(number), |float| Value::from(float as u64))
        }
        (Kind::Text | Kind::Secret, Value::Number(number)) if !number.is_f64() => {
            Value::String(number.to_string())
        }
        (Kind::Texts, Value::Array(values)) => values.into_iter().map(in_string).collect(),
        (Kind::Secrets, Value::Object(members)) => {
            // As other programs write what is not set.
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            members
                .map(|(name, value)| (name, in_string(value)))
                .collect()
        }
        (Kind::Prices, Value::Object(models)) => {
            let price = |price| match price {
                Value::Object(members) => {
                    let amount = |value| plainly(Kind::Real(0.0, PRICE_MAX), value);
                    let members = members.into_iter();
                    members.map(|(name, value)| (name, amount(value))).collect()
                }
                price => price,
            };
            let models = models.into_iter();
            models.map(|(model, value)| (model, price(value))).collect()
        }
        (_, value) => value,
    }
}

/// Whole numbers below this one are the same as a fraction.
const MOST: f64 = 9e15;

/// A boolean or a number as a string, as programs take it from their arguments and environment.
fn in_string(value: Value) -> Value {
    match &value {
        Value::Bool(_) | Value::Number(_) => Value::String(value.to_string()),
        _ => value,
    }
}

/// The arguments of a program that are written as one string, cut as a shell does without its other powers.
pub fn arguments(line: &str) -> Value {
    let (mut all, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            _ if quote == Some(char) => quote = None,
            '"' | '\'' if quote.is_none() => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            '\\' if quote != Some('\'') => word.get_or_insert_default().extend(chars.next()),
            _ if quote.is_none() && char.is_whitespace() => all.extend(word.take()),
            _ => word.get_or_insert_default().push(char),
        }
    }
    all.extend(word);
    Value::from(all)
}

/// Whether an entry of a list of ids can match someone: a number, a name with its `@`, or `*`.
pub fn is_id(id: &Value, open: bool) -> bool {
    let Some(text) = id.as_str() else {
        return id.is_i64() || id.is_u64();
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.trim();
    open && resolve::refers(text)
        || match text.strip_prefix('@') {
            Some(name) => !name.is_empty() && !name.contains(char::is_whitespace),
            None => text == "*" || is_number(text.strip_prefix('-').unwrap_or(text)),
        }
}

/// Whether a value is an id of a channel with ids of any form.
pub fn is_name(name: &Value) -> bool {
    let is_fit = |text: &str| {
        !text.is_empty() && !text.contains(|char: char| char.is_whitespace() || char.is_control())
    };
    name.is_i64() || name.is_u64() || name.as_str().is_some_and(|text| is_fit(text.trim()))
}

/// Whether an entry of an object of roles is right: an id or a name, with a role.
pub fn is_role(kind: Kind, (id, role): (&str, &Value), open: bool) -> bool {
    let name = role.as_str();
    let is_known = name.is_some_and(|name| ["owner", "user", "guest"].contains(&name));
    let person = Value::from(id);
    let is_person = match kind {
        Kind::NamedRoles => is_name(&person),
        _ => is_id(&person, open),
    };
    id.trim() == id && id != "*" && is_person && is_known
}

/// The first wrong entry of an object of roles, for people.
pub fn wrong_role(
    roles: &serde_json::Map<String, Value>,
    kind: Kind,
    open: bool,
) -> Option<String> {
    let (id, role) = roles
        .iter()
        .find(|(id, role)| !is_role(kind, (id, role), open))?;
    let id = describe_value(&Value::from(id.as_str()));
    Some(format!("{id}: {}", describe_value(role)))
}

/// Whether a text can be a host with or without a port: `nas.local:80`, `192.168.1.5`, `[fd00::5]:80`.
pub fn is_host(text: &str) -> bool {
    let is_address = text.parse::<IpAddr>().is_ok() || text.parse::<SocketAddr>().is_ok();
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let is_bare = bare.is_some_and(|bare| bare.parse::<Ipv6Addr>().is_ok());
    let (name, port) = text.split_once(':').unwrap_or((text, "0"));
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.');
    let is_name = !name.is_empty() && name.chars().all(is_part) && port.parse::<u16>().is_ok();
    is_address || is_bare || is_name
}

/// Whether a text can be a proxy's URL: `http://host:port`, the scheme or the port may be missing.
pub fn is_proxy(text: &str) -> bool {
    let known = ["http://", "https://"].map(|scheme| text.strip_prefix(scheme));
    let with_scheme = known.into_iter().flatten().next();
    let rest = with_scheme.unwrap_or(text).trim_end_matches('/');
    let server = rest.rsplit('@').next().unwrap_or(rest);
    let is_host = |host: &str| !host.is_empty() && !host.contains(['/', ' ']);
    match server.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => is_host(host) && port.parse::<u16>().is_ok(),
        _ => with_scheme.is_some() && is_host(server),
    }
}

/// The members of a model's price.
const PRICE: [&str; 4] = ["input", "output", "cached", "cacheWrite"];

/// What is wrong with the prices at a path: an object of objects of numbers. Each has an input and an
/// output.
pub fn price_problem(path: &str, prices: &Value) -> Option<String> {
    let models = prices.as_object()?;
    models.iter().find_map(|(model, price)| {
        let path = format!("{path}.{}", safe_path([&**model].into_iter()));
        let Some(members) = price.as_object() else {
            return Some(texts::wrong_price(&path, &describe_value(price)));
        };
        if let Some(name) = members.keys().find(|name| !PRICE.contains(&&***name)) {
            let near = nearest(name, PRICE.into_iter());
            let name = safe_path([&**name].into_iter());
            return Some(texts::unknown_price(&path, &name, near, &PRICE));
        }
        let is_missing = |name: &&&str| !members.contains_key(**name);
        if let Some(name) = PRICE[..2].iter().find(is_missing) {
            return Some(texts::missing_price(&path, name));
        }
        let is_price = |value: &Value| {
            let number = value.as_f64();
            number.is_some_and(|number| (0.0..=PRICE_MAX).contains(&number))
        };
        let wrong = members.iter().find(|(_, value)| !is_price(value));
        wrong.map(|(name, value)| {
            texts::wrong_amount(&format!("{path}.{name}"), &describe_value(value))
        })
    })
}

/// Whether the network can read what is sent to this URL: plain HTTP to another machine.
pub fn is_readable_on_the_way(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else {
        return false;
    };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_here = host.eq_ignore_ascii_case("localhost")
        || host
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback());
    !is_here
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_host_is_a_name_or_an_address_and_may_have_a_port() {
        for host in [
            "nas",
            "nas.local:80",
            "192.168.1.5",
            "10.0.0.1:8080",
            "::1",
            "[fd00::5]",
            "[fd00::5]:80",
        ] {
            assert!(is_host(host), "{host}");
        }
        for odd in [
            "",
            "http://nas",
            "nas/",
            "nas:",
            "nas:x",
            "nas:99999",
            "a b",
            "*",
            "*.lan",
            "[nas]",
            "10.0.0.0/8",
        ] {
            assert!(!is_host(odd), "{odd}");
        }
    }

    #[test]
    fn a_wrong_price_is_named_by_its_path() {
        for (prices, expected) in [
            (json!({}), ""),
            (
                json!({"m*": {"input": 0, "output": 0.5, "cached": 0.1, "cacheWrite": 2}}),
                "",
            ),
            (
                json!({"m": 3}),
                r#"p.m must be an object with input and output, such as {"input": 3, "output": 15}, not 3"#,
            ),
            (json!({"m": {"input": 3}}), "p.m.output is missing"),
            (
                json!({"m": {"input": 3, "output": -1}}),
                "p.m.output must be a number from 0 to 100000, in US dollars per million tokens, not -1",
            ),
            (
                json!({"m": {"input": 3, "output": 1, "cache": 1}}),
                "Unknown price p.m.cache. Did you mean cached?",
            ),
            (
                json!({"m": {"input": 3, "output": 1, "x": 1}}),
                "Unknown price p.m.x. There are input, output, cached, cacheWrite.",
            ),
        ] {
            assert_eq!(price_problem("p", &prices).unwrap_or_default(), expected);
        }
    }
}
