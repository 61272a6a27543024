//! Pages about articles as Markdown, as GitHub and GitLab show it: the files of `results/`. A page
//! is a list of blocks (`prose.rs`), and every text in them is escaped here. Start with [`page`].

use super::PICTURES;
use super::prose::{Block, Level, Page, Piece, Prose};
use crate::escape::one_line;
use crate::export::markdown_text;

/// Writes a page.
pub(super) fn page(page: &Page) -> String {
    format!("# {}\n{}", markdown_text(&page.title), blocks(&page.blocks))
}

/// Writes blocks, each after an empty line.
pub(super) fn blocks(all: &[Block]) -> String {
    all.iter().map(|block| format!("\n{}", written(block))).collect()
}

fn written(block: &Block) -> String {
    match block {
        Block::Heading(Level::Section, text) => format!("## {}\n", prose(text)),
        Block::Heading(Level::Part, text) => format!("### {}\n", prose(text)),
        Block::Paragraph(text) | Block::Answer(text) => format!("{}\n", prose(text)),
        Block::Small(text) => format!("<sub>{}</sub>\n", prose(text)),
        Block::List(points) => points.iter().map(|point| format!("- {}\n", prose(point))).collect(),
        Block::Picture { file, text } => format!("![{}]({PICTURES}/{file})\n", markdown_text(text)),
        Block::Table { head, rows } => {
            let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
            let head = head.iter().map(|cell| markdown_text(cell)).collect::<Vec<_>>();
            let rule = format!("|{}\n", "---|".repeat(head.len()));
            let rows = rows.iter().map(|row| line(row.iter().map(prose).collect()));
            line(head) + &rule + &rows.collect::<String>()
        }
        // The empty line allows Markdown within HTML.
        Block::Fold { title, blocks: inner } => format!(
            "<details><summary>{}</summary>\n{}\n</details>\n",
            markdown_text(title),
            blocks(inner)
        ),
    }
}

/// Writes running text.
pub(super) fn prose(text: &Prose) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Plain(text) => markdown_text(text),
        Piece::Code(text) => code(text),
        Piece::Strong(text) => format!("**{}**", markdown_text(text)),
        Piece::Page { name, text } => format!("[{}]({name}.md)", markdown_text(text)),
    };
    text.pieces().iter().map(piece).collect()
}

/// Writes code. A text that could end it, or a cell of a table, stays plain.
fn code(text: &str) -> String {
    let text = one_line(text);
    match text.contains(['`', '|']) || text.trim().is_empty() {
        true => markdown_text(&text),
        false => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::prose::{code, plain};
    use super::*;

    #[test]
    fn blocks_become_markdown_and_texts_stay_text() {
        let table = Block::Table {
            head: vec!["a|b".into(), "c".into()],
            rows: vec![vec![plain("*x*"), code("y:z")]],
        };
        let hostile = plain("<script>").strong("a*b").code("`|").page("bank", "[x]");
        let page = Page {
            name: "p".into(),
            title: "T # 1".into(),
            blocks: vec![
                Block::Heading(Level::Section, plain("s")),
                Block::Paragraph(hostile),
                Block::Fold { title: "more".into(), blocks: vec![table] },
            ],
        };
        assert_eq!(
            super::page(&page),
            "# T \\# 1\n\n## s\n\n&lt;script&gt;**a\\*b**\\`\\|[\\[x\\]](bank.md)\n\n\
             <details><summary>more</summary>\n\n| a\\|b | c |\n|---|---|\n\
             | \\*x\\* | `y:z` |\n\n</details>\n"
        );
    }
}
