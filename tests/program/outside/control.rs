//! The control socket answers its own user only, whatever its modes are.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::gateway::scene::Scene;
use crate::harness::executable;
use crate::harness::program::PEACRAB;

const NOBODY: u32 = 65534;

#[test]
fn another_user_gets_no_answer_although_the_modes_were_opened() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not tried: it takes root to be another user");
        return;
    }
    let open = |path: &Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    };
    let scene = Scene::playing([]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    let home = scene.home.path();
    for path in [home, &home.join("config.json"), &home.join("control.sock")] {
        open(path);
    }
    let folder = tempfile::tempdir().unwrap();
    open(folder.path());
    let program = folder.path().join("peacrab");
    executable::copy(PEACRAB, &program);
    let status = |user: u32| {
        let output = Command::new(&program)
            .args(["--home".as_ref(), home.as_os_str()])
            .args(["channels", "status"])
            .env_clear()
            .uid(user)
            .gid(user)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    };
    let (ours, theirs) = (status(0), status(NOBODY));
    assert!(ours.contains("unsent"), "{ours}");
    assert!(!theirs.contains("unsent"), "{theirs}");
    // It could connect, and was hung up on.
    assert!(theirs.contains("control"), "{theirs}");
    gateway.stop();
}
