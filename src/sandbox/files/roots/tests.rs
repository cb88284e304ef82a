use super::*;

#[test]
fn a_folder_of_the_programs_own_home_cannot_be_given_to_tools() {
    let top = tempfile::tempdir().unwrap();
    let home = top.path().join("home");
    std::fs::create_dir_all(home.join("workspace/sub")).unwrap();
    std::fs::create_dir(home.join("sessions")).unwrap();
    let open = |workspace: &Path, allowed: &Path| {
        let places = Places {
            workspace,
            hidden: &[&home],
            user_home: None,
        };
        let tools = Tools {
            allowed_paths: vec![allowed.to_str().unwrap().to_owned()],
            ..Tools::default()
        };
        Roots::open(&places, &tools).map(drop)
    };
    let workspace = home.join("workspace");
    open(&workspace, &workspace.join("sub")).unwrap();
    open(&workspace, &top.path().join("missing")).unwrap();
    for refused in [
        open(&workspace, &home),
        open(&workspace, &home.join("sessions")),
        open(&home, top.path()),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{error}");
        assert!(
            error.to_string().contains("tools may not use it"),
            "{error}"
        );
    }
}

#[test]
fn the_closest_folder_comes_first() {
    let top = tempfile::tempdir().unwrap();
    let workspace = top.path().join("w");
    std::fs::create_dir_all(workspace.join("docs")).unwrap();
    let places = Places {
        workspace: &workspace,
        hidden: &[],
        user_home: Some(top.path()),
    };
    let tools = Tools {
        allowed_paths: vec!["~".to_owned()],
        read_only_paths: vec!["docs".to_owned()],
        restrict_to_workspace: false,
        ..Tools::default()
    };
    let roots = Roots::open(&places, &tools).unwrap();
    let writable: Vec<bool> = roots.roots.iter().map(|root| root.writable).collect();
    assert_eq!(writable, [false, true, true, true]);
    let path = workspace.join("docs/a/../b");
    let rest = roots.roots[0].rest_of(&path);
    assert_eq!(rest, Some(Path::new("a/../b")));
}
