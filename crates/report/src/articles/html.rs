//! Pages about articles as HTML: the site that `faceoff serve --export` writes. It has no script
//! and loads nothing from elsewhere, so it also opens from a disk. A page is a list of blocks
//! (`prose.rs`). Start with [`page`].

use super::PICTURES;
use super::prose::{Block, Level, Page, Piece, Prose};
use crate::site::{EXPORTED, Html, Link, Page as SitePage};

/// Writes a page.
pub(super) fn page(page: Page) -> String {
    let body = Html::default()
        .raw("<article class=\"study\">\n")
        .put_all(page.blocks.iter().map(written))
        .raw("</article>\n");
    SitePage { frame: EXPORTED, ..SitePage::new(page.title, body) }.html()
}

fn written(block: &Block) -> Html {
    let element = |begin, text: &Prose, end| Html::default().raw(begin).put(prose(text)).raw(end);
    match block {
        Block::Heading(Level::Section, text) => element("<h2>", text, "</h2>\n"),
        Block::Heading(Level::Part, text) => element("<h3>", text, "</h3>\n"),
        Block::Paragraph(text) => element("<p>", text, "</p>\n"),
        Block::Answer(text) => element("<p class=\"sentence\">", text, "</p>\n"),
        Block::Small(text) => element("<p class=\"small\">", text, "</p>\n"),
        Block::List(points) => Html::default()
            .raw("<ul>\n")
            .put_all(points.iter().map(|point| element("<li>", point, "</li>\n")))
            .raw("</ul>\n"),
        Block::Picture { file, text } => Html::default()
            .raw("<figure><img src=\"")
            .text(format_args!("{PICTURES}/{file}"))
            .raw("\" alt=\"")
            .text(text)
            .raw("\"></figure>\n"),
        Block::Table { head, rows } => Html::default()
            .raw("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table>\n<thead><tr>")
            .put_all(head.iter().map(|cell| Html::default().element("<th>", cell, "</th>")))
            .raw("</tr></thead>\n<tbody>\n")
            .put_all(rows.iter().map(|row| {
                let cells = row.iter().map(|cell| element("<td>", cell, "</td>"));
                Html::default().raw("<tr>").put_all(cells).raw("</tr>\n")
            }))
            .raw("</tbody></table></div>\n"),
        Block::Fold { title, blocks } => Html::default()
            .element("<details><summary>", title, "</summary>\n")
            .put_all(blocks.iter().map(written))
            .raw("</details>\n"),
    }
}

fn prose(text: &Prose) -> Html {
    let piece = |piece: &Piece| match piece {
        Piece::Plain(text) => Html::default().text(text),
        Piece::Code(text) => Html::default().element("<code>", text, "</code>"),
        Piece::Strong(text) => Html::default().element("<strong>", text, "</strong>"),
        Piece::Page { name, text } => Html::default().link(&Link::to("", name).then(".html"), text),
    };
    Html::default().put_all(text.pieces().iter().map(piece))
}

#[cfg(test)]
mod tests {
    use super::super::prose::{code, plain};
    use super::*;

    #[test]
    fn blocks_become_html_and_texts_stay_text() {
        let hostile = "</p><script>alert(1)</script>";
        let table = Block::Table { head: vec![hostile.into()], rows: vec![vec![code(hostile)]] };
        let page = Page {
            name: "p".into(),
            title: hostile.into(),
            blocks: vec![
                Block::Heading(Level::Part, plain("s")),
                Block::Answer(plain("a").page("bank", "b")),
                Block::Picture { file: "x.svg".into(), text: "\" onload=\"x".into() },
                Block::Fold { title: "more".into(), blocks: vec![table] },
            ],
        };
        let html = super::page(page);
        assert!(!html.contains("<script") && !html.contains("\" onload"), "{html}");
        for part in [
            "<h3>s</h3>",
            "<p class=\"sentence\">a<a href=\"bank.html\">b</a></p>",
            "<img src=\"pictures/x.svg\" alt=\"",
            "<details><summary>more</summary>",
            "<link rel=\"stylesheet\" href=\"style.css\">",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
        assert!(!html.contains("href=\"/"), "the site works in any folder: {html}");
    }
}
