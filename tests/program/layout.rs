//! How answers look on a screen: at three widths, and on terminals that can show less.

use crate::harness::home::Home;
use crate::harness::model::{Model, say};
use crate::harness::terminal::Terminal;

const ANSWER: &str = "\
# Board

The board has been running for eleven days &amp; nothing needs to be done.

- **Fan**: clean it with a soft brush, because dust is what makes it loud
  - [x] ordered
  - [ ] fitted

> It works, so leave it alone until the next update.

今天的温度是四十五度，风扇转速为一千二百转，电源电压稳定，一切正常。🦀🦀🦀

| Sensor | Value | What it means |
|---|--:|---|
| temperature | 45 | warm, but far from the limit of eighty degrees |
| 电压 | 5.1 | fine |

```sh
vcgencmd measure_temp
```
![graph](temp.png)";

/// What the screen shows of an answer.
fn screen(answer: &str, columns: u16, variables: &[(&str, &str)]) -> String {
    let model = Model::playing([say(answer).in_pieces(40)]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start_on(&home, &["agent", "-m", "hi"], columns, variables);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    terminal.screen()
}

const AT_40: &str = "\
Board

The board has been running for eleven
days & nothing needs to be done.

• Fan: clean it with a soft brush,
  because dust is what makes it loud
  ☑ ordered
  ☐ fitted

│ It works, so leave it alone until the
│ next update.

今天的温度是四十五度，风扇转速为一千二百
转，电源电压稳定，一切正常。🦀🦀🦀

Sensor      | Value | What it means
------------+-------+-------------------
temperature |    45 | warm, but far from
            |       | the limit of
            |       | eighty degrees
电压        |   5.1 | fine

  sh
  vcgencmd measure_temp

graph (temp.png)";

const AT_80: &str = "\
Board

The board has been running for eleven days & nothing needs to be done.

• Fan: clean it with a soft brush, because dust is what makes it loud
  ☑ ordered
  ☐ fitted

│ It works, so leave it alone until the next update.

今天的温度是四十五度，风扇转速为一千二百转，电源电压稳定，一切正常。🦀🦀🦀

Sensor      | Value | What it means
------------+-------+-----------------------------------------------
temperature |    45 | warm, but far from the limit of eighty degrees
电压        |   5.1 | fine

  sh
  vcgencmd measure_temp

graph (temp.png)";

#[test]
fn an_answer_is_laid_out_for_the_width_of_the_screen() {
    // All of it fits into 80 columns, so 200 make no difference.
    for (columns, expected) in [(40, AT_40), (80, AT_80), (200, AT_80)] {
        assert_eq!(screen(ANSWER, columns, &[]), expected, "{columns}");
    }
}

#[test]
fn a_plain_terminal_gets_ascii_without_styles() {
    let answer = "## Über *uns*\n\n- `a b`\n- [x] done\n\n> 引用";
    for variables in [&[("TERM", "dumb")], &[("LANG", "C")]] {
        let shown = screen(answer, 80, variables);
        let expected = match variables[0].0 {
            "TERM" => "## Über uns\n\n- `a b`\n[x] done\n\n> 引用",
            _ => "Über uns\n\n- a b\n[x] done\n\n> 引用",
        };
        assert_eq!(shown, expected, "{variables:?}");
    }
}
