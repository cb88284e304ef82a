//! A table of Markdown texts and the one message that each becomes.

/// A chapter: its title, and pairs of Markdown and HTML.
pub type Chapter = (&'static str, &'static [(&'static str, &'static str)]);

pub const CHAPTERS: &[Chapter] = &[
    (
        "words stay words, and what HTML reads is escaped",
        &[
            ("Hello", "Hello"),
            ("a & b < c > d", "a &amp; b &lt; c &gt; d"),
            ("She said \"yes\"", "She said \"yes\""),
            ("AT&amp;T &lt;3 &copy;", "AT&amp;T &lt;3 ©"),
            (
                "5 * 3 * 2 and snake_case_name",
                "5 * 3 * 2 and snake_case_name",
            ),
            ("\\*not italic\\*", "*not italic*"),
            ("~5 minutes, or ~10", "~5 minutes, or ~10"),
            ("**unfinished", "**unfinished"),
            ("שלום **עולם** 👋🏽", "שלום <b>עולם</b> 👋🏽"),
        ],
    ),
    (
        "emphasis nests, and means nothing within itself",
        &[
            ("**bold**", "<b>bold</b>"),
            ("__bold__", "<b>bold</b>"),
            ("*italic* and _italic_", "<i>italic</i> and <i>italic</i>"),
            ("~~gone~~", "<s>gone</s>"),
            ("***both***", "<b><i>both</i></b>"),
            ("**a *b* c**", "<b>a <i>b</i> c</b>"),
            ("*a **b** c*", "<i>a </i><b><i>b</i></b><i> c</i>"),
            ("**a ~~b *c*~~**", "<b>a <s>b </s><i><s>c</s></i></b>"),
            ("*a *b* c*", "<i>a b c</i>"),
            ("**two\nlines**", "<b>two\nlines</b>"),
            (
                "~~a <http://x.y>&#x202e;~~",
                "<s>a </s><a href=\"http://x.y\"><s>http://x.y</s></a>\u{202e}",
            ),
            ("a ** ** b", "a ** ** b"),
            ("**&nbsp;**", ""),
        ],
    ),
    (
        "code contains nothing and stands in nothing",
        &[
            ("run `ls -l`", "run <code>ls -l</code>"),
            (
                "`<b>&amp;</b>`",
                "<code>&lt;b&gt;&amp;amp;&lt;/b&gt;</code>",
            ),
            ("`` a`b ``", "<code>a`b</code>"),
            ("**see `x` here**", "<b>see </b><code>x</code><b> here</b>"),
            ("**`x` `y`**", "<code>x</code> <code>y</code>"),
            ("```\nplain\n```", "<pre>plain</pre>"),
            (
                "```rust\nfn f() -> Vec<u8> {\n\tvec![]\n}\n```",
                "<pre><code class=\"language-rust\">fn f() -&gt; Vec&lt;u8&gt; {\n    vec![]\n}</code></pre>",
            ),
            (
                "```c++\nx\n```",
                "<pre><code class=\"language-c++\">x</code></pre>",
            ),
            (
                "```rust,no_run title=\"a\"\nx\n```",
                "<pre><code class=\"language-rust\">x</code></pre>",
            ),
            ("```{.py}\nx\n```", "<pre>x</pre>"),
            ("~~~\n```\n~~~", "<pre>```</pre>"),
            (
                "```py\nunfinished\n",
                "<pre><code class=\"language-py\">unfinished</code></pre>",
            ),
            ("    indented\n      more", "<pre>indented\n  more</pre>"),
            ("```\n  deep\n\nx\n```", "<pre>  deep\n\nx</pre>"),
            ("```\n```", ""),
            ("a\n```\nb\n```\nc", "a\n\n<pre>b</pre>\n\nc"),
        ],
    ),
    (
        "links lead to the web, to people and to mailboxes, and nowhere else",
        &[
            (
                "[Rust](https://rust-lang.org)",
                "<a href=\"https://rust-lang.org\">Rust</a>",
            ),
            (
                "<https://a.org/?b=1&c=\"2\">",
                "<a href=\"https://a.org/?b=1&amp;c=&quot;2&quot;\">https://a.org/?b=1&amp;c=\"2\"</a>",
            ),
            ("<me@a.org>", "<a href=\"mailto:me@a.org\">me@a.org</a>"),
            ("[me](tg://user?id=1)", "me (tg://user?id=1)"),
            (
                "[a **b** `c`](http://x.y 'title')",
                "<a href=\"http://x.y\">a <b>b</b> c</a>",
            ),
            (
                "**[a](http://x.y) b**",
                "<a href=\"http://x.y\"><b>a</b></a><b> b</b>",
            ),
            (
                "[a][1] [b][1]\n\n[1]: http://x.y",
                "<a href=\"http://x.y\">a</a> <a href=\"http://x.y\">b</a>",
            ),
            (
                "[click](javascript:alert(1))",
                "click (javascript:alert(1))",
            ),
            ("[main.rs](src/main.rs)", "main.rs (src/main.rs)"),
            ("[src/main.rs](src/main.rs)", "src/main.rs"),
            ("[a](<http://x.y/a b>)", "a (http://x.y/a b)"),
            ("[](http://x.y)", "<a href=\"http://x.y\">http://x.y</a>"),
            ("[]()", ""),
            (
                "![a cat](http://x.y/c.png)",
                "<a href=\"http://x.y/c.png\">a cat</a>",
            ),
            (
                "![](http://x.y/c.png)",
                "<a href=\"http://x.y/c.png\">http://x.y/c.png</a>",
            ),
            (
                "[![CI](http://x.y/b.svg)](http://x.y)",
                "<a href=\"http://x.y\">CI</a>",
            ),
            ("[no link", "[no link"),
        ],
    ),
    (
        "blocks stand apart, and lines stay lines",
        &[
            ("one\n\ntwo", "one\n\ntwo"),
            ("one\ntwo  \nthree\\\nfour", "one\ntwo\nthree\nfour"),
            ("# Title\ntext", "<b>Title</b>\n\ntext"),
            ("## A *b* `c`", "<b>A <i>b</i> </b><code>c</code>"),
            ("# **A**\n## B", "<b>A</b>\n\n<b>B</b>"),
            ("Title\n=====", "<b>Title</b>"),
            ("a\n\n---\n\nb", "a\n\n———\n\nb"),
            ("  \n\na\n \n\n\n\nb\n\n", "a\n\nb"),
            (
                "<b>x</b> & <script>",
                "&lt;b&gt;x&lt;/b&gt; &amp; &lt;script&gt;",
            ),
            (
                "<div>\n*x*\n</div>\n\nafter",
                "&lt;div&gt;\n*x*\n&lt;/div&gt;\n\nafter",
            ),
            ("before\n\n<!-- note -->", "before\n\n&lt;!-- note --&gt;"),
        ],
    ),
    (
        "quotes are never within quotes",
        &[
            ("> said", "<blockquote>said</blockquote>"),
            ("> a\n> b\n\nc", "<blockquote>a\nb</blockquote>\n\nc"),
            ("> a\n>\n> **b**", "<blockquote>a\n\n<b>b</b></blockquote>"),
            ("> a\n> > b\n\nc", "<blockquote>a\n\nb</blockquote>\n\nc"),
            (
                "> a\n\n---\n> b",
                "<blockquote>a</blockquote>\n\n———\n\n<blockquote>b</blockquote>",
            ),
            (
                "> ```sh\n> ls\n> ```\n> done",
                "<blockquote><pre><code class=\"language-sh\">ls</code></pre>\n\ndone</blockquote>",
            ),
            ("> - a\n>   - b", "<blockquote>• a\n  • b</blockquote>"),
            (">", ""),
        ],
    ),
    (
        "lists have marks, and their lines stand below each other",
        &[
            ("- a\n- b", "• a\n• b"),
            ("text\n* a\n* b\n\nafter", "text\n\n• a\n• b\n\nafter"),
            ("3. a\n4. b", "3. a\n4. b"),
            ("- a\n  - b\n    1. c\n- d", "• a\n  • b\n    1. c\n• d"),
            ("- a\n  still a", "• a\n  still a"),
            ("- a\n\n  more\n\n- b", "• a\n\n  more\n\n• b"),
            ("- [ ] open\n- [x] done", "☐ open\n☑ done"),
            ("1. [x] done", "1. ☑ done"),
            ("- **a**: b", "• <b>a</b>: b"),
            ("- a\n  ```\n  x\n  ```\n- b", "• a\n<pre>x</pre>\n• b"),
            ("- a\n  > b\n- c", "• a\n<blockquote>b</blockquote>\n\n• c"),
            ("- # A\n- - b", "• <b>A</b>\n• • b"),
            ("- \n- b", "• \n• b"),
        ],
    ),
    (
        "tables are lines of equal columns",
        &[
            (
                "| Name | Size |\n|---|--:|\n| a.txt | 7 |\n| b | 1200 |",
                "<pre>Name  | Size\n------+-----\na.txt |    7\nb     | 1200</pre>",
            ),
            (
                "|a|b|c|\n|:-:|-|-|\n|middle|x||\n|b|",
                "<pre>  a    | b | c\n-------+---+--\nmiddle | x\n  b</pre>",
            ),
            (
                "|**a**|`b\\|c`|\n|-|-|\n|<x>|[y](http://x.y)|",
                "<pre>a   | b|c\n----+---------------\n&lt;x&gt; | y (http://x.y)</pre>",
            ),
            (
                "| | |\n|-|-|\n|Uptime|3 d|\n|Load|0.1|",
                "<pre>Uptime | 3 d\nLoad   | 0.1</pre>",
            ),
            (
                "|名前|x|\n|-|-|\n|a|✅|\n|👍🏽|y|",
                "<pre>名前 | x\n-----+---\na    | ✅\n👍🏽   | y</pre>",
            ),
            ("no | table", "no | table"),
            (
                "before\n\n|a|\n|-|\n|b|\n\nafter",
                "before\n\n<pre>a\n-\nb</pre>\n\nafter",
            ),
        ],
    ),
];
