//! Requests that are made with a subscription, in place of a key.

use super::{NoAnswer, before_the_answer};
use crate::base::cancel::Cancel;
use crate::base::chat::{Fault, Request, Role};
use crate::base::error::Error;
use crate::base::secret::{Eraser, Secret};
use crate::models::classify::Failure;
use crate::models::route::Route;
use crate::models::signin::{self, Access, Service, SignIn};

/// Asks with a token, where the route's provider needs a sign-in. A token that is refused is renewed, once.
pub fn with_access<T>(
    route: &Route,
    cancel: &Cancel,
    ask: &mut dyn FnMut(&Route) -> Result<T, NoAnswer>,
) -> Result<T, NoAnswer> {
    let Some(sign_in) = &route.sign_in else {
        return ask(route);
    };
    let (token, asked) = ask_once(route, sign_in, cancel, ask)?;
    match &asked {
        Err(NoAnswer::Failed(failure)) if failure.status == Some(401) => {}
        _ => return asked,
    }
    sign_in.renew(&token, cancel).map_err(no_answer)?;
    ask_once(route, sign_in, cancel, ask)?.1
}

/// Asks, and returns the token too. What is said about a failure never shows it.
fn ask_once<T>(
    route: &Route,
    sign_in: &SignIn,
    cancel: &Cancel,
    ask: &mut dyn FnMut(&Route) -> Result<T, NoAnswer>,
) -> Result<(Secret, Result<T, NoAnswer>), NoAnswer> {
    let access = sign_in.access(cancel).map_err(no_answer)?;
    let token = access.token.clone();
    let mut asked = ask(&signed(route, access));
    if let Err(NoAnswer::Failed(failure)) = &mut asked {
        let eraser = Eraser::new([token.clone()]);
        failure.reason = eraser.clean(&failure.reason).into_owned();
    }
    Ok((token, asked))
}

fn signed(route: &Route, access: Access) -> Route {
    let mut signed = route.clone();
    for (name, value) in access.headers {
        let is_set = |(other, _): &(String, Secret)| other.eq_ignore_ascii_case(name);
        if !signed.headers.iter().any(is_set) {
            signed.headers.push((name.to_owned(), Secret::new(&value)));
        }
    }
    signed.bearer = Secret::new(&format!("Bearer {}", access.token.expose()));
    signed.key = access.token;
    signed.base = access.base;
    signed
}

fn no_answer(failure: signin::Failure) -> NoAnswer {
    match failure {
        signin::Failure::SignedOut(reason) => Failure::new(Fault::SignIn, reason).into(),
        // Another model may answer.
        signin::Failure::Failed(Error::Failed(reason)) => Failure::new(Fault::Busy, reason).into(),
        signin::Failure::Failed(error) => before_the_answer(error),
    }
}

/// What Copilot wants to know about a request: whether it is the person's or a step of the agent's, which is not
/// charged, and whether it has images.
pub fn headers(route: &Route, request: &Request<'_>) -> Vec<(&'static str, &'static str)> {
    if !route.is_with(Service::Copilot) {
        return Vec::new();
    }
    let is_said = request
        .entries
        .last()
        .is_some_and(|entry| entry.role() == Role::User);
    let mut headers = vec![("x-initiator", if is_said { "user" } else { "agent" })];
    if request.entries.iter().any(|entry| !entry.images.is_empty()) {
        headers.push(("copilot-vision-request", "true"));
    }
    headers
}
