//! One home for one installation: a service takes over the home that is there, and every command finds
//! the home of the installed service. In mounts of its own, with a `systemctl` that does nothing.

use std::process::Command;

use crate::harness::feature;
use crate::harness::home::Home;
use crate::harness::program::{Output, PEACRAB, Program};
use crate::harness::terminal::{RETURN, Terminal};

/// A machine with the accounts root, peacrab and pi, and nothing installed. `as_pi` runs a command as pi.
const MACHINE: &str = r#"
    world="$HOME/world"
    mkdir -p "$world/etc" "$world/var" "$world/bin"
    cp -a /etc/. "$world/etc"
    mount --bind "$world/etc" /etc
    mount --bind "$world/var" /var/lib
    mount -t tmpfs -o mode=755 none /root
    mount -t tmpfs -o mode=755 none /home
    mkdir /home/pi
    chown 1000:1000 /home/pi
    printf '%s\n' root:x:0:0::/root:/bin/sh peacrab:x:998:998::/var/lib/peacrab:/bin/false \
        pi:x:1000:1000::/home/pi:/bin/sh >/etc/passwd
    printf '#!/bin/sh\n' >"$world/bin/systemctl"
    chmod +x "$world/bin/systemctl"
    cp "$world/bin/systemctl" "$world/bin/sudo"
    cp "$PEACRAB" "$world/bin/peacrab"
    mount --bind "$world/bin" /mnt
    mkdir -p /etc/systemd/system
    rm -f /etc/systemd/system/peacrab.service
    unset PEACRAB_HOME
    cd /
    export HOME=/root USER=root PATH="/mnt:$PATH"
    as_pi() { HOME=/home/pi USER=pi setpriv --reuid 1000 --regid 1000 --clear-groups "$@"; }
"#;

const UNSHARE: [&str; 2] = ["--mount", "--propagation=private"];

fn can_be_a_machine() -> bool {
    let tried = Command::new("unshare").args(UNSHARE).arg("true").output();
    let found = match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(format!("unshare: {error}")),
    };
    feature::has("mounts as root", found)
}

fn on_machine(script: &str) -> Output {
    let home = Home::new();
    Program::of("unshare", &home)
        .args(UNSHARE)
        .args(["sh", "-eu", "-c", &format!("{MACHINE}{script}")])
        .env("PEACRAB", PEACRAB)
        .run()
}

#[track_caller]
fn assert_says(output: &Output, texts: &[&str]) {
    let all = format!("{}{}", output.stdout, output.stderr);
    for text in texts {
        assert!(all.contains(text), "{text:?} is missing in {output:#?}");
    }
}

#[test]
fn a_service_takes_over_roots_home_and_every_command_finds_it_there() {
    if !can_be_a_machine() {
        return;
    }
    let output = on_machine(
        r#"
        peacrab config set log.level warn
        peacrab config set channels.telegram.token 1001:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc
        peacrab config set channels.telegram.enabled true
        mkdir -p /root/.peacrab/workspace
        echo mine >/root/.peacrab/workspace/notes.txt
        peacrab service install </dev/null
        peacrab service install --adopt /root/.peacrab
        test ! -e /root/.peacrab
        cat /root/.peacrab.old/workspace/notes.txt /var/lib/peacrab/workspace/notes.txt
        peacrab status
        peacrab channels pair NOPE || echo "ended with $?"
        peacrab config set log.level info
        peacrab --config /var/lib/peacrab/config.json config set log.level debug
        stat -c '%n belongs to %u:%g, mode %a' /var/lib/peacrab /var/lib/peacrab/config.json
        "#,
    )
    .ends_with(0);
    assert_says(
        &output,
        &[
            "note    /root/.peacrab has a configuration. To use it for the service, add: --adopt /root/.peacrab",
            "copied  /root/.peacrab to /var/lib/peacrab",
            "renamed /root/.peacrab to /root/.peacrab.old",
            "ran     systemctl restart peacrab.service",
            "mine\nmine\n",
            "Set log.level to \"info\" in /var/lib/peacrab/config.json",
            "home       /var/lib/peacrab\n",
            "ended with 2\n",
            " (home folder: /var/lib/peacrab)",
            "/var/lib/peacrab belongs to 998:998, mode 700\n",
            "/var/lib/peacrab/config.json belongs to 998:998, mode 600\n",
        ],
    );
    assert!(!output.stdout.contains("belongs to 0:0"), "{output:#?}");
}

#[test]
fn another_account_is_told_which_command_reaches_the_services_home() {
    if !can_be_a_machine() {
        return;
    }
    let output = on_machine(
        r#"
        peacrab service install
        as_pi peacrab status
        as_pi peacrab channels pair ABC || echo "ended with $?"
        as_pi peacrab config set log.level warn || echo "ended with $?"
        as_pi peacrab --home /var/lib/peacrab sessions list || echo "ended with $?"
        test ! -e /home/pi/.peacrab
        "#,
    )
    .ends_with(0);
    assert_says(
        &output,
        &[
            "created /var/lib/peacrab",
            "there is no configuration in /var/lib/peacrab. Run:\n  sudo peacrab --home /var/lib/peacrab onboard\n",
            "service    installed, with its own home folder: sudo peacrab --home /var/lib/peacrab status\n",
            "Cannot open the home folder /var/lib/peacrab: permission denied. Run this instead:\n  \
             sudo peacrab --home /var/lib/peacrab channels pair ABC\n",
            "  sudo peacrab --home /var/lib/peacrab config set log.level warn\n",
            "  sudo peacrab --home /var/lib/peacrab sessions list\n",
            "ended with 1\nended with 1\nended with 1\n",
        ],
    );
}

#[test]
fn a_home_from_the_environment_is_refused_or_used_and_never_ignored() {
    if !can_be_a_machine() {
        return;
    }
    let output = on_machine(
        r#"
        export PEACRAB_HOME=/srv/crab
        peacrab service install || echo "ended with $?"
        SUDO_USER=pi peacrab service install --profile terminal
        grep ^ExecStart= /etc/systemd/system/peacrab.service
        as_pi env -u PEACRAB_HOME peacrab service install --user
        unset PEACRAB_HOME
        mkdir /srv/crab && echo '{}' >/srv/crab/config.json && chown -R 1000:1000 /srv/crab
        as_pi peacrab channels pair NOPE || true
        rm -r /home/pi/.config
        as_pi peacrab channels pair NOPE || true
        rm -r /srv/crab
        "#,
    )
    .ends_with(0);
    assert_says(
        &output,
        &[
            "always uses the home folder /var/lib/peacrab, not /srv/crab",
            "ended with 2\n",
            "--home /srv/crab gateway\n",
            " (home folder: /srv/crab)",
        ],
    );
}

#[test]
fn on_a_terminal_the_home_of_the_person_who_called_sudo_is_offered() {
    if !can_be_a_machine() {
        return;
    }
    let home = Home::new();
    std::fs::write(
        home.path().join("script"),
        format!(
            "{MACHINE}
            as_pi peacrab config set tools.allowedPaths /home/pi/notes
            SUDO_USER=pi peacrab service install
            echo owner: $(stat -c %U /var/lib/peacrab/config.json)
            "
        ),
    )
    .unwrap();
    let mut terminal =
        Terminal::start_shell(&home, "unshare --mount --propagation=private sh -eu script");
    terminal.wait_for("Use the existing configuration in /home/pi/.peacrab?");
    terminal.wait_for("[Y/n] ");
    terminal.type_text(RETURN);
    terminal.wait_for("copied  /home/pi/.peacrab to /var/lib/peacrab");
    terminal.wait_for("warning: tools.allowedPaths contains /home/pi/notes");
    terminal.wait_for("owner: peacrab");
    assert_eq!(terminal.finish(), Some(0));
}

#[test]
fn the_service_of_a_package_is_found_and_left_to_the_package() {
    if !can_be_a_machine() {
        return;
    }
    let output = on_machine(
        r#"
        mkdir -p "$world/units" /usr/lib/systemd/system
        mount --bind "$world/units" /usr/lib/systemd/system
        peacrab service print --system >/usr/lib/systemd/system/peacrab.service
        mkdir -p /var/lib/peacrab
        echo '{"log": {"level": "debug"}}' >/var/lib/peacrab/config.json
        peacrab config get log.level
        peacrab service status || echo "status $?"
        peacrab service install || echo "install $?"
        peacrab service uninstall || echo "uninstall $?"
        test ! -e /etc/systemd/system/peacrab.service
        peacrab service print --system >/etc/systemd/system/peacrab.service
        peacrab doctor service | grep '^warning *unit' || true
        "#,
    )
    .ends_with(0);
    assert_says(
        &output,
        &[
            "debug\n",
            "unit       /usr/lib/systemd/system/peacrab.service\n",
            "status 1\n",
            "sudo systemctl enable --now peacrab",
            "install 2\n",
            "sudo apt remove peacrab",
            "uninstall 2\n",
            "/etc/systemd/system/peacrab.service overrides /usr/lib/systemd/system/peacrab.service of the package",
        ],
    );
}

#[test]
fn apparmor_gets_a_profile_where_it_knows_user_namespaces() {
    if !can_be_a_machine() {
        return;
    }
    let output = on_machine(
        r#"
        printf '#!/bin/sh\necho "asked: $*" >>/root/asked\n' >/mnt/apparmor_parser
        chmod +x /mnt/apparmor_parser
        rm -rf /etc/apparmor.d
        peacrab service install </dev/null >/dev/null
        test ! -e /etc/apparmor.d -a ! -e /root/asked
        mkdir -p /etc/apparmor.d/abi
        echo >/etc/apparmor.d/abi/4.0
        echo older >/etc/apparmor.d/peacrab
        peacrab service install </dev/null
        cat /etc/apparmor.d/peacrab
        peacrab service uninstall
        test ! -e /etc/apparmor.d/peacrab
        cat /root/asked
        "#,
    )
    .ends_with(0);
    assert_says(
        &output,
        &[
            // With that ending, AppArmor does not load it too.
            "kept    the old file as /etc/apparmor.d/peacrab.orig\nwrote   /etc/apparmor.d/peacrab\n",
            "profile peacrab \"/mnt/peacrab\" flags=(unconfined) {\n  userns,\n",
            "removed /etc/apparmor.d/peacrab\n",
            "asked: -r /etc/apparmor.d/peacrab\nasked: -R /etc/apparmor.d/peacrab\n",
        ],
    );
}

#[test]
fn root_works_in_the_home_of_another_account_as_that_account() {
    if !can_be_a_machine() {
        return;
    }
    let output = on_machine(
        r#"
        mkdir -m 700 /root/own
        mkdir /root/kept
        echo '{"log": {"level": "info"}}' >/root/kept/config.json
        echo passwords >/root/kept/passwd
        echo canary-of-root >/root/kept/key
        chmod 600 /root/kept/*
        before=$(ls -lR /root; cat /root/kept/*)
        as_pi sh -c '
            umask 077; cd /home/pi; mkdir crab linked; ln -s /root/kept theirs
            printf %s "{\"channels\": {\"telegram\": {\"enabled\": true, \"token\": \"1:a\", \"allowFrom\": [\"7\"]}},
                \"agents\": {\"defaults\": {\"provider\": \"mine\", \"model\": \"m\"}}, \"providers\": {\"mine\": {
                \"apiBase\": \"http://127.0.0.1:9\", \"apiKey\": \"file:/root/kept/key\"}}}" >crab/config.json
            ln -s /root/kept/passwd crab/outbox.jsonl
            ln -s /root/kept/passwd crab/gateway.lock
            ln -s /root/kept crab/sessions
            ln -s /root/kept/config.json linked/config.json'
        peacrab --home /home/pi/crab send --chat 7 hello || echo "send: $?"
        peacrab --home /home/pi/crab agent -m hi || echo "agent: $?"
        PEACRAB_HOME=/home/pi/linked peacrab config set log.level debug || echo "set: $?"
        peacrab --home /home/pi/theirs config set log.level debug || echo "theirs: $?"
        peacrab --home /home/pi/new config set log.level warn
        peacrab service install --adopt /home/pi/crab || echo "adopt: $?"
        echo '{}' >/home/pi/free.json; chown pi /home/pi/free.json
        peacrab --home /root/own --config /home/pi/free.json status || echo "config: $?"
        stat -c '%n belongs to %U' /home/pi/new/config.json
        find /home/pi -user root ! -name .peacrab ! -name '*.old' -print
        rmdir /root/own; mkdir -m 700 /root/own
        after=$(ls -lR /root; cat /root/kept/*)
        test "$before" = "$after" || printf 'before: %s\nafter: %s\n' "$before" "$after"
        "#,
    )
    .ends_with(0);
    assert_says(
        &output,
        &[
            "send: 1\n",
            "agent: 1\n",
            "set: 78\n",
            "theirs: 78\n",
            "adopt: 1\n",
            "config: 1\n",
            "/home/pi/new/config.json belongs to pi\n",
            "  sudo -u '#1000' peacrab --home /root/own --config /home/pi/free.json status\n",
        ],
    );
    for wrong in ["belongs to root", "before: ", "canary-of-root"] {
        assert!(!output.stdout.contains(wrong), "{wrong}: {output:#?}");
    }
}
