//! Who a mail is from, and who is nobody.

use super::*;

#[test]
fn only_one_address_is_a_sender() {
    let read = |value: &str| mailbox(value).map(|it| (it.name, it.address));
    let is = |name: &str| Some((name.to_owned(), "ana@example.org".to_owned()));
    assert_eq!(read("ana@example.org"), is(""));
    assert_eq!(read(" <Ana@Example.ORG> "), is(""));
    assert_eq!(read("Ana Muster <ana@example.org>"), is("Ana Muster"));
    assert_eq!(
        read("\"Muster, \\\"Ana\\\"\" <ana@example.org>"),
        is("Muster, \"Ana\"")
    );
    assert_eq!(read("=?utf-8?Q?An=C3=A4?= <ana@example.org>"), is("Anä"));
    // The name says something else than the address, which is what counts.
    let other = read("\"ana@example.org\" <eve@evil.example>").unwrap();
    assert_eq!(other.1, "eve@evil.example");
    for value in [
        "",
        "ana",
        "ana@",
        "@example.org",
        "ana@example.org, eve@evil.example",
        "Ana <ana@example.org>, Eve <eve@evil.example>",
        "ana@example.org <eve@evil.example> <ana@example.org>",
        "<ana@example.org> <eve@evil.example>",
        "<ana@example.org> x",
        "People: ana@example.org, eve@evil.example;",
        "People:;",
        "People: ana@example.org",
        "ana@example.org;",
        "<@relay ana@example.org>",
        "=?utf-8?Q?ana=40example.org?=",
        "<=?utf-8?Q?ana?=@example.org>",
        "ana@[example.org]",
        "ana@[IPv6:::1]",
        "\"a:b\"@example.org",
        "\"ana\u{202e}\"@example.org",
        "\"\"@example.org",
        "ana bob@example.org",
        "ana@exam ple.org",
        "ana@example..org",
        ".ana@example.org",
        "ana@eve@example.org",
        "ana@-example.org",
        "Ana\0 <ana@example.org>",
        "Ana\r <ana@example.org>",
        "\"Ana\0\" <ana@example.org>",
        "\"Ana <ana@example.org>",
        "Ana (x <ana@example.org>",
        "Ana <ana@example.org",
        "Ana \\ <ana@example.org>",
        "an\u{200b}a@example.org",
    ] {
        assert_eq!(mailbox(value), None, "{value:?}");
    }
}

/// A sender as it is written, and the name and the address that it has.
const SENDERS: [(&str, &str, &str); 25] = [
    (
        "ana@example.org (Ana Muster)",
        "Ana Muster",
        "ana@example.org",
    ),
    (
        "ana@example.org (Ana (the \\) first))",
        "Ana (the ) first)",
        "ana@example.org",
    ),
    (
        "Ana (<eve@evil.example>) <ana@example.org>",
        "Ana",
        "ana@example.org",
    ),
    (
        "(x)Ana(y)Muster <(z)ana(a)@(b)example.org(c)>(d)",
        "Ana Muster",
        "ana@example.org",
    ),
    ("ana . muster @ example . org", "", "ana.muster@example.org"),
    ("People: Ana <ana@example.org>;", "Ana", "ana@example.org"),
    ("\"My: people\" :, ana@example.org,;", "", "ana@example.org"),
    (", ana@example.org ,", "", "ana@example.org"),
    (
        "<@relay.example,@b.example:ana@example.org>",
        "",
        "ana@example.org",
    ),
    (
        "Ana <,@relay.example, ,@b:ana@example.org>",
        "Ana",
        "ana@example.org",
    ),
    ("\"ana\"@example.org", "", "ana@example.org"),
    ("\"ana\".\"b.c\"@example.org", "", "ana.b.c@example.org"),
    ("\"Ana B\"@example.org", "", "\"ana b\"@example.org"),
    (
        "\"ana@example.org\"@evil.example",
        "",
        "\"ana@example.org\"@evil.example",
    ),
    (
        "\"a\\\"b\\\\c\"@example.org",
        "",
        "\"a\\\"b\\\\c\"@example.org",
    ),
    ("\"a..b\"@example.org", "", "\"a..b\"@example.org"),
    ("ana@[192.0.2.1]", "", "ana@[192.0.2.1]"),
    (
        "Anä <ANÄ@Bücher.example>",
        "Anä",
        "anä@xn--bcher-kva.example",
    ),
    ("用户@例え.テスト", "", "用户@xn--r8jz45g.xn--zckzah"),
    (
        "Dr. Ana J. Muster <ana@example.org>",
        "Dr. Ana J. Muster",
        "ana@example.org",
    ),
    (
        "\"Dr\". Ana \"x\\\"y\" <ana@example.org>",
        "Dr. Ana x\"y",
        "ana@example.org",
    ),
    (
        "[List] ana@home <ana@example.org>",
        "[List] ana@home",
        "ana@example.org",
    ),
    (
        "=?utf-8?Q?Muster,_Ana_(x)?= <ana@example.org>",
        "Muster, Ana (x)",
        "ana@example.org",
    ),
    (
        "=?utf-8?Q?Ana Muster?= <ana@example.org>",
        "Ana Muster",
        "ana@example.org",
    ),
    (
        "o'neil+x=y%z!#@example.org\t",
        "",
        "o'neil+x=y%z!#@example.org",
    ),
];

#[test]
fn a_sender_may_be_written_in_each_form_of_one_mailbox() {
    for (value, name, address) in SENDERS {
        let found = mailbox(value).map(|found| (found.name, found.address));
        assert_eq!(
            found,
            Some((name.to_owned(), address.to_owned())),
            "{value:?}"
        );
        assert_eq!(super::address(address).as_deref(), Some(address));
    }
}
