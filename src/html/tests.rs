//! What becomes of pages: ordinary ones, and everything else.

use proptest::prelude::*;

use super::charset::{Charset, Source};
use super::*;
use crate::limits::web::FETCH_CHARS;

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
