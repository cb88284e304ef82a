//! What the loop begins with: the deliveries, the threads that receive, and the signals that end it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::{Channel, Receivers, observer};
use crate::base::bus::{Ending, Event, EventSender, Heartbeats};
use crate::base::clock::Clock;
use crate::base::error::{Error, Exit, Result};
use crate::base::limits::channels::STACK_BYTES;
use crate::channels::delivery::{Delivery, DeliveryParts, Observer};
use crate::channels::http;
use crate::channels::intake::{Intake, IntakeParts, RoleElsewhere};
use crate::channels::kit::choices::Choices;
use crate::gateway::board::own_menu;
use crate::gateway::insight::Insight;
use crate::gateway::{Gateway, Parts, commands};
use crate::sandbox::confine::Hold;

pub(super) fn deliveries(
    parts: &Parts,
    channels: &[Channel],
    observer: &Arc<observer::Deliveries>,
    (heartbeats, runtime): (&Heartbeats, &Runtime),
) -> BTreeMap<&'static str, Delivery> {
    let delivery = |channel: &Channel| {
        let live = Arc::clone(&parts.live);
        let delivery = Delivery::new(DeliveryParts {
            adapter: Arc::clone(&channel.adapter),
            outbox: Arc::clone(&parts.outbox),
            observer: Arc::clone(observer) as Arc<dyn Observer>,
            workspace_with: Box::new(move |path| {
                let live = Arc::clone(&live.lock());
                live.agents.workspace_with(path)
            }),
            outgoing: parts.outgoing.clone(),
            languages: Arc::clone(&parts.languages),
            clock: Clock::System,
            heartbeats: heartbeats.clone(),
            timers: runtime.handle().clone(),
            menu: {
                let live = Arc::clone(&parts.live);
                Box::new(move || {
                    let live = Arc::clone(&live.lock());
                    commands::menu().chain(own_menu(&live)).collect()
                })
            },
            max_retries: parts.send_max_retries,
            choices: Choices::of(&*channel.adapter, &parts.state),
        });
        (channel.adapter.name(), delivery)
    };
    channels.iter().map(delivery).collect()
}

/// Starts a thread for each channel. What it receives waits in the queue until the loop runs.
pub(super) fn start_receiving(
    gateway: &Arc<Gateway>,
    channels: Vec<Channel>,
    heartbeats: &Heartbeats,
    receivers: &mut Receivers,
) -> Result<BTreeMap<&'static str, Intake>> {
    let mut intakes = BTreeMap::new();
    if let Some(slot) = &gateway.parts.http {
        slot.fill(Arc::new(Insight::new(gateway)));
    }
    for Channel { adapter, access } in channels {
        let name = adapter.name();
        let Some(delivery) = gateway.deliveries.get(name) else {
            continue;
        };
        let (to_wake, to_tell) = (delivery.clone(), delivery.clone());
        let [to_ask, to_type, to_await, to_close, to_note, to_know] = [gateway; 6].map(Arc::clone);
        let (parts, live) = (&gateway.parts, Arc::clone(&gateway.parts.live));
        let intake = Intake::new(IntakeParts {
            channel: name,
            inbox: Arc::clone(&parts.inbox),
            pairing: Arc::clone(&parts.pairing),
            access,
            role_elsewhere: (name == http::PAGE)
                .then(|| -> RoleElsewhere { Box::new(move |id| to_know.role_of_key(id)) }),
            outbox: Arc::clone(&parts.outbox),
            workspace_for: Box::new(move |message| {
                let live = Arc::clone(&live.lock());
                live.agents.workspace_for(message)
            }),
            languages: Arc::clone(&parts.languages),
            health: delivery.health(),
            pair_command: parts.pair_command.clone(),
            hold: Hold::of_process(),
            files_max_bytes: parts.files_max_bytes,
            events: gateway.events.clone(),
            clock: Clock::System,
            heartbeats: heartbeats.clone(),
            adapter: Arc::clone(&adapter),
            cancel: receivers.cancel.clone(),
            wake: Box::new(move || to_wake.wake()),
            reachable: Box::new(move || {
                to_note.channel_reached(name);
                to_tell.reachable();
            }),
            is_awaited: Box::new(move |chat, person| to_await.is_awaited(chat, person)),
            lost_access: Box::new(move |chat, person| {
                to_close.close_terminal_of(chat, person);
                to_close.end_work_soon(person);
            }),
            is_secret: Box::new(move |message| to_ask.is_secret(message)),
            take_secret: Box::new(move |message| to_type.type_secret(&message)),
            choices: delivery.choices(),
        });
        intakes.insert(name, intake.clone());
        let intake = Arc::new(intake);
        let (heartbeat, cancel) = (heartbeats.register(name), receivers.cancel.clone());
        let thread = std::thread::Builder::new()
            .name(format!("{name}-receive"))
            .stack_size(STACK_BYTES)
            .spawn(move || adapter.receive(intake, heartbeat, cancel))
            .map_err(cannot_start)?;
        receivers.threads.push(thread);
    }
    Ok(intakes)
}

/// SIGTERM and Ctrl-C stop the gateway in order; a second one ends it at once, and loses nothing.
pub(super) fn watch_signals(runtime: &Runtime, events: &EventSender) -> Result<()> {
    let _entered = runtime.enter();
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut signals = signal(kind).map_err(cannot_start)?;
        let events = events.clone();
        runtime.spawn(async move {
            signals.recv().await;
            events.send_async(Event::End(Ending::Stopped)).await;
            signals.recv().await;
            std::process::exit(Exit::Stopped as i32);
        });
    }
    Ok(())
}

pub(super) fn cannot_start(error: std::io::Error) -> Error {
    Error::Failed(format!("Cannot start the gateway: {error}"))
}
