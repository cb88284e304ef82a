//! Machines that cannot isolate a command: none is run.

use std::time::Duration;

use peacrab::base::cancel::Cancel;
use peacrab::sandbox::confine::{Exec, ShellCommand};

use super::world::World;
use super::{MODES, attacks};

/// On a machine with a sandbox the modes that it lacks refuse; on one without, all of them do.
#[test]
fn where_a_mode_does_not_work_every_command_is_refused() {
    let world = World::new();
    let folder = world.workspace();
    for (mode, choice, version) in MODES {
        let exec = Exec::new(world.settings(choice, true)).unwrap();
        let exec = exec.with_landlock_at_most(version);
        if exec.isolation().is_ok() {
            continue;
        }
        for command in attacks::all().flat_map(|(_, commands)| *commands) {
            let line = world.fill(command);
            let job = ShellCommand {
                line: &line,
                folder: &folder,
                inode: None,
                unsandboxed: false,
            };
            let time = Duration::from_secs(20);
            let error = exec.run(&job, time, &Cancel::new(), &mut |_| ()).err();
            let error = error.unwrap_or_else(|| panic!("{mode}: {command} was run"));
            let text = error.to_string();
            assert!(text.contains("cannot be sandboxed here"), "{mode}: {text}");
        }
    }
}
