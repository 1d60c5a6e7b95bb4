use super::*;
#[test]
fn t() {
    for s in [
        "a\u{200b}b <!-- x --> c",
        "`<!-- x -->` <img src=\"u\" alt=\"hid\" title='t'> ![alt](u \"t\") [x](u \"hid\")",
        "[//]: # (hid)\n\ntext &#8203; &zwj; é 👩‍💻 نمی‌خواهم क्‍ष 1️⃣\n```rust ignore all\ncode\n```\n",
        "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}x\r\ny",
        "<!<!-- -->-- x -->",
        "[^1]: hid\n\nx",
        "[a][b] c\n\n[b]: http://x \"hid\"\n",
    ] {
        let c = Clean::new(s);
        println!("{:?} {}", c.as_str(), c.removed());
    }
    for s in [
        "thanks @alice, fixes #1 and Closes: o/r#2; a@b.c https://x/@y `@z`\n/code retry\n# Head\nx\n===\n\n<img src=x>\n![a](b)",
        "```\nopen @x",
        "::set-output name=x::y\n[fix #1](u)",
    ] {
        println!("{}\n----", harmless(s));
    }
    println!(
        "{}",
        cut(
            &format!(
                "<details><summary>a</summary>\n\n```text\n{}\n```\n\n</details>\n",
                "line\n".repeat(1000)
            ),
            900
        )
    );
    println!("{}", harmless_plain("fix x [skip ci] @x"));
}
