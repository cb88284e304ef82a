//! What is checked in a configuration.

use super::*;

fn installation() -> Installation {
    Installation {
        home: "/home/ana/.peacrab".into(),
        user_home: Some("/home/ana".into()),
        open: Vec::new(),
        is_root: false,
    }
}

fn found(config: &str) -> Vec<String> {
    weaknesses(&serde_json::from_str(config).unwrap(), &installation())
}

/// A configuration, and how its one weakness begins; empty when it has none.
const TABLE: &[(&str, &str)] = &[
    ("{}", ""),
    (
        r#"{"tools": {"exec": {"sandbox": "off"}}}"#,
        "tools.exec.sandbox is off: commands can do whatever",
    ),
    (
        r#"{"tools": {"exec": {"sandbox": "off", "enabled": false}}}"#,
        "",
    ),
    (r#"{"tools":{"exec":{"shell":"host"}}}"#, "tools.exec.sh"),
    (r#"{"tools": {"exec": {"approval": "never"}}}"#, ""),
    (
        r#"{"tools": {"restrictToWorkspace": false}}"#,
        "tools.restrictToWorkspace is false: tools and",
    ),
    (
        r#"{"tools": {"allowedPaths": ["/"]}}"#,
        "tools.allowedPaths contains /: it contains Peacrab's home",
    ),
    (
        r#"{"tools": {"allowedPaths": ["~"]}}"#,
        "tools.allowedPaths contains ~: it contains Peacrab's home",
    ),
    (
        r#"{"tools": {"allowedPaths": ["/home/ana/.peacrab"]}}"#,
        "tools.allowedPaths contains /home/ana/.peacrab: it contains",
    ),
    (
        r#"{"tools": {"allowedPaths": ["/home/ana/.peacrab/state"]}}"#,
        "tools.allowedPaths contains /home/ana/.peacrab/state: it is inside",
    ),
    (
        r#"{"tools": {"allowedPaths": ["~/.ssh"]}}"#,
        "tools.allowedPaths contains ~/.ssh: it contains keys",
    ),
    (
        r#"{"tools": {"allowedPaths": ["/root"]}}"#,
        "tools.allowedPaths contains /root: it contains keys",
    ),
    (
        r#"{"tools": {"allowedPaths": ["/etc/nginx"]}}"#,
        "tools.allowedPaths contains /etc/nginx: a change there",
    ),
    (
        r#"{"tools": {"allowedPaths": ["~/notes", "/srv/www"]}}"#,
        "",
    ),
    (
        r#"{"tools": {"readOnlyPaths": ["~/.ssh"]}}"#,
        "tools.readOnlyPaths contains ~/.ssh: it contains keys",
    ),
    (
        r#"{"tools": {"readOnlyPaths": ["/etc"]}}"#,
        "tools.readOnlyPaths contains /etc: it contains passwords",
    ),
    (
        r#"{"tools": {"readOnlyPaths": ["/usr/share", "/var/log"]}}"#,
        "",
    ),
    (
        r#"{"agents": {"defaults": {"workspace": "/home/ana"}}}"#,
        "agents.defaults.workspace contains /home/ana: it contains",
    ),
    (r#"{"agents": {"defaults": {"workspace": "work"}}}"#, ""),
    (
        r#"{"tools": {"exec": {"allowedEnvKeys": ["EDITOR", "github_token"]}}}"#,
        "tools.exec.allowedEnvKeys contains github_token: every command",
    ),
    (
        r#"{"providers": {"x": {"apiBase": "http://10.0.0.2:80/v1", "apiKey": "k"}}}"#,
        "providers.x.apiBase is plain HTTP",
    ),
    (
        r#"{"providers": {"x": {"apiBase": "http://10.0.0.2/v1"}}}"#,
        "",
    ),
    (
        r#"{"providers": {"x": {"apiBase": "http://localhost.evil/v1", "apiKey": "k"}}}"#,
        "providers.x.apiBase is plain HTTP",
    ),
    (
        r#"{"providers": {"x": {"apiBase": "http://127.0.0.1:8080/v1", "apiKey": "k"}, "y": {"apiBase": "http://[::1]:1/", "apiKey": "k"}}}"#,
        "",
    ),
    (
        r#"{"tools": {"mcpServers": {"x": {"url": "http://nas.lan/mcp", "headers": {"A": "k"}}, "y": {"url": "http://nas.lan/mcp"}}}}"#,
        "tools.mcpServers.x.url is plain HTTP",
    ),
    (
        r#"{"tools": {"mcpServers": {"x": {"command": "npx", "readOnlyPaths": ["~/.ssh"]}}}}"#,
        "tools.mcpServers.x.readOnlyPaths contains ~/.ssh: it contains keys",
    ),
    (
        r#"{"channels": {"telegram": {"enabled": true, "apiBase": "http://bots.example"}}}"#,
        "channels.telegram.apiBase is plain HTTP",
    ),
    (
        r#"{"channels": {"telegram": {"enabled": true, "allowFrom": ["*"]}}}"#,
        "channels.telegram.allowFrom contains *: anyone",
    ),
    (
        r#"{"channels": {"telegram": {"enabled": true, "allowFrom": ["7", "@ana"]}}}"#,
        "channels.telegram.allowFrom contains @ana: a user name",
    ),
    (r#"{"channels": {"telegram": {"allowFrom": ["*"]}}}"#, ""),
    (
        r#"{"channels": {"discord": {"enabled": true, "groupPolicy": "open"}}}"#,
        "channels.discord.groupPolicy is open: all messages",
    ),
];

#[test]
fn each_setting_that_weakens_a_promise_is_named() {
    for (config, begins) in TABLE {
        let found = found(config);
        match begins.is_empty() {
            true => assert!(found.is_empty(), "{config}: {found:?}"),
            false => assert!(
                found.len() == 1 && found[0].starts_with(begins),
                "{config}: {found:?}"
            ),
        }
    }
}

#[test]
fn an_id_that_matches_no_one_and_a_proxy_that_is_none_are_found() {
    let problem = |path: &str, value: Value| {
        let (key, path) = crate::config::table::find_spelt(path).unwrap();
        super::problem(key, &path, &value, false)
    };
    let ids = |ids: Value| problem("channels.telegram.allowFrom", ids);
    assert_eq!(ids(serde_json::json!(["1", "@ann", "*", 7, "-100"])), None);
    for wrong in ["Ann", "@", "", "1 2", "@a b"] {
        let told = ids(serde_json::json!(["1001", wrong])).unwrap();
        assert!(told.ends_with(&format!("not {wrong:?}")), "{told}");
    }
    let proxy = |url: &str| problem("providers.x.proxy", Value::from(url));
    for right in [
        "http://proxy:3128",
        "https://u:p@[::1]:1/",
        "proxy.lan:3128",
        "http://proxy",
    ] {
        assert_eq!(proxy(right), None, "{right}");
    }
    for wrong in [
        "nonsense",
        "http://",
        "ftp://a:1",
        "http://a:port",
        "socks5://a:1",
    ] {
        let told = proxy(wrong).unwrap();
        assert!(told.ends_with("http://user:password@host:port"), "{told}");
    }
}

#[test]
fn an_open_home_and_root_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("above/home");
    std::fs::create_dir_all(&home).unwrap();
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let above = home.parent().unwrap();
    let shown = || {
        let mut at = Installation::examine(&home, None);
        at.is_root = false;
        weaknesses(&Config::default(), &at).join("\n")
    };
    set(above, 0o755);
    set(&home, 0o700);
    assert_eq!(shown(), "");
    set(&home, 0o750);
    assert!(shown().contains("(mode 750): they can read"));
    set(&home, 0o700);
    set(above, 0o777);
    assert!(shown().contains("(mode 777): they can replace"));
    set(above, 0o1777);
    assert_eq!(shown(), "");
    let root = Installation {
        is_root: true,
        ..installation()
    };
    assert!(weaknesses(&Config::default(), &root)[0].starts_with("Peacrab runs as root: "));
}
