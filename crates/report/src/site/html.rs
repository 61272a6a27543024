//! HTML under construction. Only what this program itself contains is written as it is; everything
//! else is text and gets escaped, so that nothing in a record becomes markup. Start with [`Html`].

use crate::chart::canvas::Canvas;
use crate::escape::xml;
use spec::name::percent_encoded;
use std::fmt::Display;

/// HTML, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

impl Html {
    /// Adds HTML of this program.
    pub fn raw(mut self, html: &'static str) -> Html {
        self.0 += html;
        self
    }

    /// Adds text, or the value of an attribute in quotes.
    pub fn text(mut self, text: impl Display) -> Html {
        self.0 += &xml(&text.to_string());
        self
    }

    /// Adds a drawing with its title; the canvas has escaped its texts.
    pub(super) fn drawing(mut self, canvas: &Canvas, title: &str) -> Html {
        self.0 += &canvas.document(title);
        self
    }

    /// Adds another part.
    pub fn put(mut self, part: Html) -> Html {
        self.0 += &part.0;
        self
    }

    /// Adds other parts one after the other.
    pub fn put_all(self, parts: impl IntoIterator<Item = Html>) -> Html {
        parts.into_iter().fold(self, Html::put)
    }

    /// Adds an element with text in it.
    pub fn element(self, begin: &'static str, text: impl Display, end: &'static str) -> Html {
        self.raw(begin).text(text).raw(end)
    }

    /// Adds a link within the site.
    pub fn link(self, to: &Link, text: impl Display) -> Html {
        self.raw("<a href=\"").text(&to.0).raw("\">").text(text).raw("</a>")
    }

    /// Returns the whole document.
    pub fn document(self) -> String {
        self.0
    }
}

/// An address within the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link(String);

impl Link {
    /// Returns a path whose last part is a name of a record.
    pub fn to(path: &'static str, name: &str) -> Link {
        Link(format!("{path}{}", percent_encoded(name)))
    }

    /// Adds to the path.
    pub fn then(mut self, more: &'static str) -> Link {
        self.0 += more;
        self
    }

    /// Adds a field to the query.
    pub fn with(mut self, field: &'static str, value: &str) -> Link {
        self.0.push(if self.0.contains('?') { '&' } else { '?' });
        self.0 += &format!("{field}={}", percent_encoded(value));
        self
    }

    /// Returns the address, which is not escaped yet.
    pub(super) fn address(&self) -> &str {
        &self.0
    }
}

/// What surrounds the pages of a site.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The address of the style sheet.
    style: &'static str,
    /// The link at the top of each page.
    home: &'static str,
}

/// The frame of the pages of `faceoff serve`.
const SERVED: Frame = Frame { style: "/style.css", home: "<a href=\"/\">All records</a>" };

/// The frame of pages in a folder, which link to each other without knowing where it is.
pub(crate) const EXPORTED: Frame =
    Frame { style: "style.css", home: "<a href=\"index.html\">All questions</a>" };

/// A page of the site.
pub struct Page {
    /// Its title, which is also its heading.
    pub title: String,
    /// More links at its top.
    pub above: Html,
    /// Everything below the heading.
    pub body: Html,
    /// Seconds after which the browser loads it again; `None` if it does not change.
    pub again_s: Option<u32>,
    /// What surrounds it.
    pub frame: Frame,
}

impl Page {
    /// Returns a page that does not change.
    pub fn new(title: impl Into<String>, body: Html) -> Page {
        Page { title: title.into(), above: Html::default(), body, again_s: None, frame: SERVED }
    }

    /// Returns the document.
    pub fn html(self) -> String {
        let again = self.again_s.map_or_else(Html::default, |seconds| {
            Html::default().element("<meta http-equiv=\"refresh\" content=\"", seconds, "\">\n")
        });
        Html::default()
            .raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
            .raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n")
            .put(again)
            .element("<title>", format_args!("{} - faceoff", self.title), "</title>\n")
            .raw("<link rel=\"stylesheet\" href=\"")
            .raw(self.frame.style)
            .raw("\">\n</head>\n<body>\n")
            .raw("<header class=\"top\"><b>faceoff</b><nav aria-label=\"Where\">")
            .raw(self.frame.home)
            .put(self.above)
            .raw("</nav></header>\n<main class=\"site\">\n")
            .element("<h1>", &self.title, "</h1>\n")
            .put(self.body)
            .raw("</main>\n</body>\n</html>\n")
            .document()
    }
}

/// Returns a page that explains why a request was refused.
pub fn refusal(title: &'static str, why: &str) -> String {
    Page::new(
        title,
        Html::default().element("<p>", why, "</p>\n").raw("<p><a href=\"/\">All records</a></p>\n"),
    )
    .html()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_record_is_never_markup() {
        let hostile = "</title><script>alert(1)</script>\" onload='x' &\u{2028}";
        let page =
            Page::new(hostile, Html::default().link(&Link::to("/records/", hostile), hostile))
                .html();
        assert!(
            !page.contains("<script")
                && !page.contains("' ")
                && page.matches("</title>").count() == 1,
            "{page}"
        );
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    }

    #[test]
    fn links_are_encoded() {
        let link = Link::to("/records/", "a/b c").then("/live").with("a", "x&y").with("b", "ü");
        assert_eq!(
            Html::default().link(&link, "t").document(),
            "<a href=\"/records/a%2Fb%20c/live?a=x%26y&amp;b=%C3%BC\">t</a>"
        );
    }
}
