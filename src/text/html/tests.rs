//! What becomes of pages: ordinary ones, and everything else.

use proptest::prelude::*;

use super::charset::{Charset, Source};
use super::*;
use crate::base::limits::web::FETCH_CHARS;

const BASE: &str = "https://example.org/docs/page.html";

fn written(form: Form, html: &str, limit: usize) -> Page {
    let mut tokens = Tokenizer::default();
    let mut writer = Writer::new(form, BASE, limit);
    for char in html.chars() {
        tokens.push(char, &mut writer);
    }
    tokens.finish(&mut writer);
    writer.finish()
}

fn markdown(html: &str) -> String {
    written(Form::Markdown, html, FETCH_CHARS).text
}

#[test]
fn an_article_keeps_its_structure_and_loses_what_surrounds_it() {
    let html = r#"<!DOCTYPE html><html><head><meta charset=utf-8><title>Bread &amp;
      butter</title><style>p { color: red }</style><script>if (1 < 2) alert("</p>")</script></head>
      <body><nav><a href="/">Home</a></nav><header><h1>Bread</h1></header>
      <p>Take <b>500&nbsp;g</b> flour,
         and see <a href="../oven?a=1&amp;b=2#top">the oven (hot)</a>.</p>
      <h2>Steps</h2><ol><li>Knead<ul><li>long</li><li>well</li></ul></li><li><p>Bake</p></li></ol>
      <blockquote><p>Good &mdash; bread</p><p>needs time.</p></blockquote>
      <pre><code>let <a href=/x>x</a> = 1;
  // <b>two</b>
</code></pre><p>Use <code>oven --hot</code>.<br>Then eat.</p>
      <table><tr><th>What<th>How much<tr><td>salt<td><p>10 g</p></table>
      <aside>Advertisement</aside><footer>Imprint</footer></body></html>"#;
    let page = written(Form::Markdown, html, FETCH_CHARS);
    assert_eq!(page.title, "Bread & butter");
    assert_eq!(
        page.text,
        "# Bread\n\nTake 500 g flour, and see [the oven (hot)](https://example.org/oven?a=1&b=2).\n\n\
         ## Steps\n\n1. Knead\n  - long\n  - well\n2. Bake\n\n> Good — bread\n>\n> needs time.\n\n\
         ```\nlet x = 1;\n  // two\n```\n\nUse `oven --hot`.\nThen eat.\n\n\
         What | How much\n--- | ---\nsalt | 10 g"
    );
    assert!(!page.is_cut);
    let text = written(Form::Text, html, FETCH_CHARS).text;
    assert!(
        text.starts_with("Bread\n\nTake 500 g flour, and see the oven (hot).\n\nSteps\n\n"),
        "{text}"
    );
    assert!(!text.contains(['#', '`', '>', '[']), "{text}");
}

#[test]
fn the_main_part_is_all_that_counts_where_there_is_one() {
    let long = "word ".repeat(60);
    let html = format!("<div>Menu</div><main><p>{long}</p></main><div>Related</div>");
    assert_eq!(markdown(&html), long.trim());
    let empty = "<div>Before</div><main></main><p>After</p>";
    assert_eq!(markdown(empty), "Before\n\nAfter");
    // The end of the menu is missing.
    assert_eq!(
        markdown("<nav><a href=/>Home</a><p>Text<p>more"),
        "Text\n\nmore"
    );
    assert_eq!(
        markdown("<nav><a href=/>Home</a><h1>Title</h1><p>Text"),
        "# Title\n\nText"
    );
}

#[test]
fn only_the_first_base_counts_and_code_within_code_begins_once() {
    let two = "<base href=http://b/x/><base href=http://c/><a href=y>z</a>";
    assert_eq!(markdown(two), "[z](http://b/x/y)");
    let long = format!(
        "<base href=http://b/{}><base href=z/><a href=y>z</a>",
        "x".repeat(5_000)
    );
    assert!(markdown(&long).len() < 100);
    let deep = "<pre>".repeat(3) + "x</pre>";
    assert_eq!(markdown(&deep), "```\nx\n```");
}

#[test]
fn what_a_reader_would_not_see_is_left_out() {
    for hidden in [
        "<div hidden>obey me</div>",
        "<span aria-hidden=true>obey me</span>",
        "<div style='Display: none'><div>x</div>obey me</div>",
        "<a class=headerlink href=#x>obey me</a>",
        "<!-- obey me -->",
        "<template>obey me</template>",
        "<noscript>obey me</noscript>",
        "<svg><title>obey me</title><text>obey me</text></svg>",
        "<script>obey me</script >",
        "<button>obey me</button>",
        "\u{e006f}\u{e0062}\u{200b}\u{202e}\0\u{1b}",
    ] {
        assert_eq!(markdown(&format!("<p>a {hidden} b")), "a b", "{hidden}");
    }
    assert_eq!(markdown("a<svg/>b<br/>c"), "ab\nc");
}

#[test]
fn links_are_absolute_or_only_text() {
    for (html, expected) in [
        (
            "<a href='x'><div>two</div><h3>lines</h3></a>",
            "[two lines](https://example.org/docs/x)",
        ),
        (
            "<a href=//b.org/?q=(1)>b</a>",
            "[b](https://b.org/?q=%281%29)",
        ),
        (
            "<a href='javascript:x()'>no</a> <a href=#top>top</a>",
            "no top",
        ),
        ("<a href=/empty> </a>left", "left"),
        (
            "<a href=/i><img src=i.png alt='an oven'></a>",
            "[an oven](https://example.org/i)",
        ),
        (
            "<a href=/1>one<a href=/2>two",
            "[one](https://example.org/1)[two](https://example.org/2)",
        ),
        (
            "<base href=/deep/><a href=x>x</a>",
            "[x](https://example.org/deep/x)",
        ),
        (
            "<a href=/?a=1&copy=2>c</a>",
            "[c](https://example.org/?a=1&copy=2)",
        ),
    ] {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn references_to_characters_are_decoded() {
    for (html, expected) in [
        (
            "&lt;b&gt; &amp;amp; &eacute;&nbsp;&hearts;",
            "<b> &amp; é ♥",
        ),
        ("&#8364;&#x20AC;&#128;&#x1F600;", "€€€😀"),
        ("&copy 1 &amp&lt", "© 1 &<"),
        (
            "AT&T &unknown; & &; &#; &#x110000;",
            "AT&T &unknown; & &; &#; \u{fffd}",
        ),
        ("a &lt", "a <"),
        ("1 < 2 <3 <", "1 < 2 <3 <"),
    ] {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn what_is_cut_is_said_to_be() {
    let page = written(Form::Markdown, &"<p>word</p>".repeat(100), 20);
    assert_eq!(
        (page.text.as_str(), page.is_cut),
        ("word\n\nword\n\nword\n\nwo", true)
    );
    assert!(!written(Form::Markdown, "<p>word", 4).is_cut);
}

/// Decodes bytes as they would arrive: in pieces.
fn decoded(header: Option<&str>, bytes: &[u8]) -> Result<String, String> {
    struct Pieces<'a>(&'a [u8]);
    impl std::io::Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.len().min(3).min(buffer.len());
            let (now, later) = self.0.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }
    let source = Source::new(Pieces(bytes)).unwrap();
    let charset = source.charset(header, true)?;
    let mut text = String::new();
    let mut take = |char| {
        text.push(char);
        true
    };
    source.decode(charset, &mut take).unwrap();
    Ok(text)
}

#[test]
fn a_page_is_read_in_its_character_set() {
    let long = "x".repeat(2000);
    let utf8 = format!("<meta charset='UTF-8'>{long}é€😀");
    assert_eq!(decoded(None, utf8.as_bytes()).unwrap(), utf8);
    let utf16: Vec<u8> = "\u{feff}é€😀"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(decoded(None, &utf16).unwrap(), "é€😀");
    let utf16: Vec<u8> = "é😀".encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(decoded(Some("utf-16be"), &utf16).unwrap(), "é😀");
    assert_eq!(decoded(None, b"caf\xe9 \x80").unwrap(), "café €");
    assert_eq!(decoded(Some("iso-8859-15"), b"\xa4").unwrap(), "€");
    assert_eq!(
        decoded(Some("\"utf-8\""), b"a\xe9b\xf0\x9f").unwrap(),
        "a\u{fffd}b\u{fffd}"
    );
    assert_eq!(decoded(None, b"\xef\xbb\xbfa").unwrap(), "a");
    let meta = b"<META http-equiv=Content-Type content=\"text/html; charset=iso-8859-1\">\xe9";
    assert!(decoded(None, meta).unwrap().ends_with('é'));
    let page = decoded(None, b"<meta charset=gbk>\xc4\xe3\xba\xc3");
    assert!(page.unwrap().ends_with("你好"));
    let other = decoded(None, b"<meta charset=hz-gb-2312>");
    assert_eq!(other, Err("hz-gb-2312".to_owned()));
    let unknown = decoded(Some("none"), b"<meta charset=latin1>\xe9");
    assert!(unknown.unwrap().ends_with('é'));
    assert!(
        decoded(None, b"<meta charset=x>\xc3\xa9")
            .unwrap()
            .ends_with('é')
    );
    assert_eq!(Charset::named("utf8"), Some(Charset::Utf8));
}

/// Pieces of pages, and what is in none.
fn piece() -> impl Strategy<Value = String> {
    let tags = [
        "<p>",
        "</p>",
        "<div hidden>",
        "</div>",
        "<table>",
        "<tr>",
        "<td>",
        "<th>",
        "</tr>",
        "</table>",
        "<ul>",
        "<ol>",
        "<li>",
        "</ul>",
        "<pre>",
        "</pre>",
        "<code>",
        "</code>",
        "<a href=x>",
        "</a>",
        "<main>",
        "</main>",
        "<nav>",
        "</nav>",
        "<title>",
        "</title>",
        "<script>",
        "</script>",
        "<!--",
        "-->",
        "<h1>",
        "</h1>",
        "<blockquote>",
        "</blockquote>",
        "<br>",
        "<img alt='x'>",
        "<svg>",
        "</svg>",
        "&amp;",
        "&#",
        "&",
        "<",
        ">",
        "\"",
        "<a href=\"",
        "\0",
        "<![CDATA[",
        "<?x",
        "</",
        "<textarea>",
        "<template>",
        "</template>",
    ];
    prop_oneof![
        4 => proptest::sample::select(tags.to_vec()).prop_map(str::to_owned),
        1 => ".{0,12}",
        1 => "[ \n\t]{1,3}",
    ]
}

proptest! {
    #[test]
    fn any_page_is_written_within_its_limit(pieces in prop::collection::vec(piece(), 0..60), limit in 0_usize..300) {
        let html = pieces.concat();
        for form in [Form::Markdown, Form::Text] {
            let page = written(form, &html, limit);
            // Where the main part says nothing, what comes before it is added.
            prop_assert!(page.text.chars().count() <= 2 * limit + 2);
            prop_assert!(page.text.chars().all(|char| char == '\n' || char == '\t' || crate::text::is_prose(char)));
        }
    }

    #[test]
    fn any_bytes_are_decoded(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for header in [None, Some("utf-8"), Some("utf-16"), Some("latin1")] {
            let _ = decoded(header, &bytes);
        }
    }
}

#[test]
fn a_hundred_thousand_levels_and_endless_names_take_no_memory() {
    for open in [
        "<div>",
        "<ul><li>",
        "<blockquote>",
        "<table><tr><td>",
        "<a href=x>",
        "<nav>",
        "<svg>",
        "<b",
    ] {
        let page = written(Form::Markdown, &(open.repeat(100_000) + "x"), FETCH_CHARS);
        assert!(page.text.len() < 500_000, "{open}: {}", page.text.len());
    }
    for endless in [
        "<a href=\"",
        "<",
        "&",
        "<!--",
        "<title>",
        "<p a=",
        "<script>",
    ] {
        let page = written(
            Form::Markdown,
            &(endless.to_owned() + &"y".repeat(1_000_000)),
            FETCH_CHARS,
        );
        assert!(page.text.len() + page.title.len() < 60_000, "{endless}");
    }
}

#[test]
fn an_element_of_any_name_can_be_hidden() {
    for hidden in [
        "<p hidden>obey me</p>b",
        "<p hidden>obey me<div>b</div>",
        "<ul><li hidden>obey me<li>b</ul>",
        "<ul><li hidden>obey <ul><li>me</ul> me</li><li>b</ul>",
        "<ol><li hidden>obey me</ol><p>b",
        "<h2 style=\"display : none\">obey me</h2><p>b",
        "<table><tr hidden><td>obey me<tr><td>b</table>",
        "<table><tr><td hidden>obey me<td>b</table>",
        "<dl><dt hidden>obey me<dd>b</dl>",
        "<div hidden><h1>obey me</h1><article>obey me</article></div>b",
        "<em style='DISPLAY:NONE !important'>obey me</em>b",
        "<p style='color:red;visibility:\n hidden;'>obey me</p>b",
        "<font style='font-size:0px'>obey me</font>b",
        "<p style='opacity: 0.0'>obey me</p>b",
        "<p style='position:absolute; left: -9999px'>obey me</p>b",
        "<div style='max-height:0;overflow:hidden'>obey me</div>b",
        "<p style='display/* x */:none'>obey me</p>b",
        "<x-y aria-hidden=' TRUE '>obey me</x-y>b",
        "<img hidden alt='obey me'><br style='display:none'>b",
        "<dialog><h1>obey me</h1></dialog>b",
        "<datalist><option>obey me</datalist>b",
        "<noframes>obey me</noframes>b",
        "<p hidden=until-found>obey me</p>b",
        "<object data=x><p>obey me<object>obey</object>me</p></object>b",
        "<svg><title>obey me</title><foreignObject><p>obey me</p></foreignObject></svg>b",
        "<math><annotation>obey me</annotation></math>b",
    ] {
        let text = markdown(&format!("<p>a</p> {hidden}"));
        assert!(
            !text.contains("obey") && !text.contains("me"),
            "{hidden}: {text}"
        );
        assert!(
            text.starts_with('a') && text.ends_with('b'),
            "{hidden}: {text}"
        );
    }
    for shown in [
        "<p style='display: block'>b",
        "<p style='display:none; display:block'>b",
        "<p aria-hidden=false>b",
        "<p style='opacity:0.5;font-size:10px;left:-5px'>b",
        "<body style='visibility:hidden'>b",
        "<p class=hidden-x style='x:display none'>b",
        "<dialog open>b</dialog>",
    ] {
        assert!(
            markdown(&format!("<p>a</p> {shown}")).ends_with('b'),
            "{shown}"
        );
    }
}

#[test]
fn styles_hide_as_browsers_read_them() {
    for hidden in [
        "<p style='display:none;display:bogus'>obey me</p>b",
        "<p style='display:none!important;display:block'>obey me</p>b",
        r"<p style='d\69splay:none'>obey me</p>b",
        r"<p style='d\000069 splay:n\6f ne'>obey me</p>b",
        "<p style='content:\";display:block;\";display:none;x:\"display:block'>obey me</p>b",
        "<p style='background:url(a;display:block);display:none'>obey me</p>b",
        "<p style='font:0/0 a'>obey me</p>b",
        "<p style='font-size:20px;font:italic bold 0 serif'>obey me</p>b",
        "<p style='font-size:1px'>obey me</p>b",
        "<p style='visibility:collapse'>obey me</p>b",
        "<p style='opacity:0%'>obey me</p>b",
        "<p style='clip: rect(0 0 0 0)'>obey me</p>b",
        "<p style='clip-path:polygon(0 0, 0 0, 0 0)'>obey me</p>b",
        "<p style='text-indent:-9999px'>obey me</p>b",
        "<p style='position:fixed;left:-100vw;left:far'>obey me</p>b",
        "<p style='top:-50em'>obey me</p>b",
        "<p style='transform:translateX(-9999px)'>obey me</p>b",
        "<p style='transform: scale(0, 1)'>obey me</p>b",
        "<p style='color:#fff0'>obey me</p>b",
        "<p style='color:rgba(0, 0, 0, 0)'>obey me</p>b",
        "<p style='color:white;background:white'>obey me</p>b",
        "<p style='width:1px;height:1px;overflow:hidden'>obey me</p>b",
        "<style>.x{display:none}</style><p class='y x'>obey me</p>b",
        "<style>p{color:red} /* } */ div,#x.y , i {color:red;DISPLAY:none}</style><p id=x class=y>obey me</p>b",
        r"<style>@import 'x';@media screen{.\68 x{left:-9999px}}</style><b class=hx>obey me</b>b",
        "<style>.x{visibility:hidden}.y{font-size:0}</style><p class=x>obey me</p><p class=y>obey me</p>b",
        "<style>.x.y{display:none} .x{display:block}</style><p class='x y'>obey me</p>b",
        "<style>.x{display:none!important}</style><p class=x style='display:block'>obey me</p>b",
        "<style>.x{display:none !important}#y{display:block}</style><p class=x id=y>obey me</p>b",
    ] {
        let text = markdown(&format!("<p>a</p> {hidden}"));
        let is_right = text.starts_with('a') && text.ends_with('b');
        assert!(is_right && !text.contains("obey"), "{hidden}: {text}");
    }
    for shown in [
        "<p style='display:none;display:inline flex'>b",
        "<p style='content:\"display:none;\";a:url(;display:none;)'>b",
        "<p style='font:400 16px/0 serif;clip:auto;text-indent:100%'>b",
        "<p style='color:inherit;background:inherit;display:inherit'>b",
        "<p style='color:red;background:white;filter:blur(0);transform:scale(1)'>b",
        "<p style='clip-path:circle(50%);transform:translate(-50%, 0)'>b",
        "<style>.x{display:none}.x{display:block}</style><p class=x>b",
        "<style>.x{display:none}.x.y{display:block}</style><p class='y x'>b",
        "<style>.x{display:none}</style><p class=x style=display:block>b",
        "<style>@media print{.x{display:none}} .z .x, .x:hover, .x[a]{display:none}</style><p class=x>b",
        "<style media=print>.x{display:none}</style><p class=x>b",
        "<style>.x{opacity:0;animation:appear 1s}</style><p class=x>b",
        "<style>.x{a:'}';.b{display:none}color:red}</style><p class=x>b",
        "<style>body,main{display:none}</style><main>b",
    ] {
        let text = markdown(&format!("<p>a</p> {shown}"));
        assert!(text.ends_with('b'), "{shown}");
    }
}

#[test]
fn a_hidden_element_without_an_end_ends_with_the_one_around_it_and_nowhere_else() {
    let deep = "<div>".repeat(300) + &"</div>".repeat(300);
    for hidden in [
        "<p><span hidden>obey me</p><p>b",
        "<p><span hidden>obey me<p>b",
        "<p><i><span hidden>obey me</i>b",
        "<div><b hidden>obey me</div>b",
        "<ul><li><span hidden>obey me<li>b</ul>",
        "<ul><li><div hidden>obey me<li>b</ul>",
        "<a href=x><i hidden>obey me</a>b",
        "<section><div hidden>obey me</section>b",
        "<h2><span hidden>obey me</h2>b",
        "<table><tr><td><span hidden>obey me<td>b</table>",
        // An end tag of what is not open ends nothing.
        "<span hidden></section>obey me</span>b",
        "<div hidden></p></li></b>obey me</div>b",
        "<div><table><tr><td hidden></div>obey me</td><td>b</table></div>",
        "<ul><li><ul hidden></li>obey me</ul>b</ul>",
        "<i><div hidden></i>obey me</div>b",
        "<p><template></p>obey me</template>b",
        "<body><div hidden></body>obey me</div>b",
        &format!("<div hidden>{deep}obey me</div>b"),
        &format!("{deep}<div hidden>{deep}obey me</div>b"),
    ] {
        let text = markdown(&format!("<p>a</p> {hidden}"));
        assert!(
            !text.contains("obey") && text.starts_with('a') && text.ends_with('b'),
            "{hidden}: {text}"
        );
    }
}

#[test]
fn what_is_shown_within_letters_without_a_size_is_read() {
    for (html, expected) in [
        (
            "<div style='font-size:0'>x<span style='font-size:16px'>b</span> x</div>c",
            "b\nc",
        ),
        (
            "<ul style='font-size:0'><li style='font-size: 1rem'>b</li>x</ul>",
            "- b",
        ),
        (
            "<p style='font-size:0'>x<b style='font-size:2em'>x</b></p>c",
            "c",
        ),
        (
            "<p style='font-size:0'>x<b style='font-size:huge'>x</b></p>c",
            "c",
        ),
        (
            "<p style='visibility:hidden'>x<b style='visibility:visible'>b</b>x</p>c",
            "b\n\nc",
        ),
        ("<p style='opacity:0'>x<b style='opacity:1'>x</b></p>c", "c"),
        (
            "<p style='visibility:hidden'>x<a href=y>x</a><img alt=x><p>c",
            "c",
        ),
    ] {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn a_script_ends_where_the_standard_says() {
    for (html, expected) in [
        ("<script><!-- <script> x </script> y --></script>b", "b"),
        ("<script><!-- <script> x </script> y </script>b", "b"),
        ("<script><!-- x </script>b", "b"),
        ("<script><!--><script></script>b", "b"),
        ("<script><!-- <scripty> </script>b", "b"),
        ("<script>\"<!--<script>\" </script>b", ""),
        ("<script>\"<!--<script\" </script>b", "b"),
        ("<style><!-- </style>b", "b"),
        ("<title>a </TITLES> &amp <b></title>c", "c"),
    ] {
        assert_eq!(markdown(html), expected, "{html}");
    }
    let title = "<title>a </TITLEs> &amp <b></title>c";
    assert_eq!(written(Form::Text, title, 99).title, "a </TITLEs> & <b>");
    assert_eq!(markdown("a<xmp><b>1</b></xmp>"), "a\n\n```\n<b>1</b>\n```");
    assert_eq!(
        markdown("a <!--> b <!-- c --!> d <!---!> e -->f"),
        "a b d f"
    );
}

#[test]
fn a_reference_needs_no_semicolon() {
    for (html, expected) in [
        (
            "5 &lt 6 &copy2026 &notit; &not &eacutex",
            "5 < 6 ©2026 ¬it; ¬ éx",
        ),
        (
            "&#65B &#x41G &#0; &#xD800; &#150",
            "AB AG \u{fffd} \u{fffd} –",
        ),
        ("&hearts &ampersand", "&hearts &ersand"),
        (
            "<a href='?a=1&lt=2&ltx&lt;&lt'>l</a>",
            "[l](https://example.org/docs/page.html?a=1&lt=2&ltx%3C%3C)",
        ),
    ] {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn what_changes_the_meaning_survives() {
    for (html, expected) in [
        ("Price: <del>100</del> <ins>80</ins>", "Price: ~~100~~ 80"),
        ("<s>a <b>b</b></s><strike> c</strike>", "~~a b~~ ~~c~~"),
        (
            "<span style='text-decoration: line-through'>9 <span>8</span></span> 7",
            "~~9 8~~ 7",
        ),
        ("<del><p>a</p><p>b</p></del>c", "~~a~~\n\n~~b~~\n\nc"),
        ("<del> </del>x", "x"),
        (
            "10<sup>2</sup> x<sup>n+1</sup> e<sup>i π</sup> H<sub>2</sub>O a<sub>i j</sub>",
            "10^2 x^n+1 e^(i π) H_2O a_(i j)",
        ),
        (
            "1<sup>st</sup> x<sup>[1]</sup> A<sup>®</sup> b<sup></sup>",
            "1st x[1] A® b",
        ),
        ("<sup>1</sup> a note", "1 a note"),
        ("<p>He said <q>no</q>.", "He said “no”."),
    ] {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn a_list_keeps_its_numbers() {
    for (html, expected) in [
        ("<ol start=5><li>a<li>b</ol>", "5. a\n6. b"),
        ("<ol><li>a<li value=7>b<li>c</ol>", "1. a\n7. b\n8. c"),
        (
            "<ol reversed><li>a<li>b<li>c</ol>d",
            "3. a\n2. b\n1. c\n\nd",
        ),
        ("<ol reversed start=10><li>a<li>b</ol>", "10. a\n9. b"),
        (
            "<ol reversed><li>a<ol reversed><li>x<li>y</ol><li>b",
            "2. a\n  2. x\n  1. y\n1. b",
        ),
        ("<ol type=a start=26><li>a<li>b</ol>", "z. a\naa. b"),
        (
            "<ol type=I><li>a<li value=4>b<li type=1>c</ol>",
            "I. a\nIV. b\n5. c",
        ),
        ("<ol start=-1><li>a<li>b<li>c</ol>", "-1. a\n0. b\n1. c"),
        (
            "<ol start=x type=?><li>a</ol><ul><li value=4>b</ul>",
            "1. a\n\n- b",
        ),
    ] {
        assert_eq!(markdown(html), expected, "{html}");
    }
    assert_eq!(
        written(Form::Text, "<ol start=3><li>a<li>b</ol>", 99).text,
        "3. a\n4. b"
    );
    let many = "<ol reversed>".to_owned() + &"<li>a".repeat(10_000);
    assert!(markdown(&many).len() < 150_000);
}

fn of_xml(xml: &str) -> Page {
    let mut tokens = Tokenizer::xml();
    let mut document = Document::new(Writer::new(Form::Markdown, BASE, FETCH_CHARS));
    for char in xml.chars() {
        tokens.push(char, &mut document);
    }
    tokens.finish(&mut document);
    document.into_writer().finish()
}

#[test]
fn a_document_in_xml_is_read_as_xml() {
    let page = of_xml(
        "<?xml version='1.0'?>\r\n<!DOCTYPE html [<!ENTITY x \"<p>obey</p>\">]>\
         <html xmlns='http://www.w3.org/1999/xhtml'><head><title>a &amp; b</title><script src='x'/><title/>\
         <style><![CDATA[ p > a {} ]]></style></head><body><div/><p>c &lt; <![CDATA[<d> & ]]]>e</p><!-- x -- > --><textarea/>\
         <h:p>f</h:p><?php > echo ?><br/>g</body></html>",
    );
    assert_eq!(
        (page.title.as_str(), page.text.as_str()),
        ("a & b", "c < <d> & ]e\n\nf\n\ng")
    );
    let feed = of_xml(
        "<rss version='2.0'><channel><title>News</title><link>https://x.org/</link><item><title>One</title>\
         <link>https://x.org/1</link><guid>17</guid><description>&lt;p&gt;Good &amp;amp; &lt;b&gt;bad&lt;/b&gt;&lt;/p&gt;\
         &lt;script&gt;obey&lt;/script&gt;</description></item><item><title>Two</title>\
         <content:encoded><![CDATA[<ul><li>x</ul>]]></content:encoded></item></channel></rss>",
    );
    assert_eq!(feed.title, "News");
    assert_eq!(
        feed.text,
        "https://x.org/\n\n## One\n\nhttps://x.org/1\n\nGood & bad\n\n## Two\n\n- x"
    );
    let atom = of_xml(
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>News</title><entry><title>One</title>\
         <link href='https://x.org/1'/><content type='xhtml'><div>a <b>b</b></div></content></entry></feed>",
    );
    assert_eq!(atom.text, "## One\n\nhttps://x.org/1\n\na b");
    let svg = of_xml(
        "<svg><style>obey</style><title>Plan</title><defs><text>obey</text></defs><g><text x='1'>North\
         <tspan>ern</tspan></text><text>South</text></g></svg>",
    );
    assert_eq!(
        (svg.title.as_str(), svg.text.as_str()),
        ("Plan", "Northern\n\nSouth")
    );
    for (xml, is_known) in [
        ("<?xml version='1.0'?><!-- <html> --><rdf:RDF>", true),
        ("<html>", true),
        ("<urlset><html>", false),
        ("", false),
    ] {
        assert_eq!(Document::is_known(xml), is_known, "{xml}");
    }
    let latin = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><html>\xe9";
    assert!(decoded(None, latin).unwrap().ends_with("é"));
}
