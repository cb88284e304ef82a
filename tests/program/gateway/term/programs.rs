//! Programs that use a whole screen, as they are on this machine.

use super::*;

#[test]
fn vim_edits_a_file() {
    let Some((scene, gateway)) = open_if("vim", "/term 60x12 vim -u NONE -N note.txt") else {
        return;
    };
    let empty = shows(&scene, "note.txt");
    assert_eq!(rows(&empty)[1..4], ["~", "~", "~"], "{}", empty.text);
    scene.ana.says("/key i");
    shows(&scene, "-- INSERT --");
    scene.ana.says("server {");
    scene.ana.says("listen 80;\\");
    shows(&scene, "listen 80;");
    scene.ana.presses("Esc");
    scene.ana.says("/key k $ x a [");
    shows(&scene, "server [");
    scene.ana.presses("Esc");
    scene.ana.says(":wq");
    closes(&scene, "Terminal closed: exit status 0");
    let written = fs::read_to_string(scene.home.workspace("note.txt")).unwrap();
    assert_eq!(written, "server [\nlisten 80;\n");
    gateway.stop().ends_with(0);
}

#[test]
fn less_pages_and_searches() {
    if !has("less") {
        return;
    }
    let scene = Scene::playing([]);
    let lines: String = (1..=300).map(|number| format!("line {number}\n")).collect();
    fs::write(scene.home.workspace("lines.txt"), lines).unwrap();
    let gateway = scene.start();
    scene.ana.says("/term phone less lines.txt");
    let first = shows(&scene, "line 19");
    assert_eq!(rows(&first)[0], "line 1");
    scene.ana.presses("PgDn");
    let second = shows(&scene, "line 38");
    assert_eq!(rows(&second)[0], "line 20");
    // A slash before a word that is not a command is a search.
    scene.ana.says("/150");
    assert_eq!(rows(&shows(&scene, "line 150\n"))[0], "line 150");
    scene.ana.says("/key q");
    ends(&scene, gateway);
}

#[test]
fn top_redraws_its_screen() {
    let Some((scene, gateway)) = open_if("top", "/term top -d 1") else {
        return;
    };
    let screen = shows(&scene, "load average");
    assert!(rows(&screen)[0].starts_with("top - "), "{}", screen.text);
    assert!(rows(&screen).len() <= 24);
    // It writes the time of day anew.
    let first = rows(&screen)[0].clone();
    scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| {
            is_screen(message) && message.text.contains("load average") && rows(message)[0] != first
        });
    scene.ana.says("/key q");
    ends(&scene, gateway);
}

#[test]
fn a_python_prompt_calculates() {
    let Some((scene, gateway)) = open_if("python3", "/term python3 -q") else {
        return;
    };
    shows(&scene, ">>>");
    scene.ana.says("6 * 7");
    shows(&scene, "\n42");
    scene.ana.says("for x in 'ab':\n    print(x * 3)");
    shows(&scene, "print(x * 3)");
    scene.ana.presses("Enter");
    shows(&scene, "\naaa\nbbb");
    scene.ana.presses("Ctrl-D");
    ends(&scene, gateway);
}

#[test]
fn nano_saves_with_its_own_keys() {
    let Some((scene, gateway)) = open_if("nano", "/term nano note.txt") else {
        return;
    };
    shows(&scene, "GNU nano");
    scene.ana.says("a line\\");
    shows(&scene, "a line");
    scene.ana.says("/key ctrl-x y");
    shows(&scene, "note.txt");
    scene.ana.presses("Enter");
    closes(&scene, "Terminal closed: exit status 0");
    let written = fs::read_to_string(scene.home.workspace("note.txt")).unwrap();
    assert_eq!(written.trim_end(), "a line");
    gateway.stop().ends_with(0);
}

#[test]
fn a_question_of_a_package_manager_is_answered() {
    let scene = Scene::playing([]);
    let script = "printf 'Do you want to continue? [Y/n] '\nread x\nprintf '\\033[1;32mUnpacking\\033[0m\\n'\n\
                  for p in 10 50 100; do printf '\\rProgress: [%3d%%]' $p; done\necho\necho \"answer: $x\"\n";
    fs::write(scene.home.workspace("install.sh"), script).unwrap();
    let gateway = scene.start();
    scene.ana.says("/term sh install.sh");
    shows(&scene, "continue? [Y/n] █");
    scene.ana.says("y");
    let closed = closes(&scene, "Terminal closed: exit status 0");
    let shown = rows(&closed);
    assert!(shown.contains(&"Progress: [100%]".to_owned()), "{shown:?}");
    assert!(shown.contains(&"answer: y".to_owned()), "{shown:?}");
    gateway.stop().ends_with(0);
}

#[test]
fn htop_shows_its_bars_and_takes_its_keys() {
    let Some((scene, gateway)) = open_if("htop", "/term htop") else {
        return;
    };
    let screen = shows(&scene, "Load average");
    let shown = rows(&screen);
    assert!(
        shown.iter().any(|row| row.contains("Mem[")) && shown.last().unwrap().contains("F10Quit"),
        "{}",
        screen.text
    );
    // The help is longer than the screen, and any key leads back.
    scene.ana.says("/key f1");
    shows(&scene, "Released under the GNU GPL");
    scene.ana.says("/key space");
    shows(&scene, "F10Quit");
    scene.ana.says("/key f10");
    ends(&scene, gateway);
}
