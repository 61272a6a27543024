//! HTML under construction.

use crate::export::xml;
use model::name::percent_encoded;
use std::fmt::Display;

/// HTML, or a part of it. What is not written in this program comes in as text and is escaped: a record's words stay words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

impl Html {
    /// As it is written here.
    pub fn raw(mut self, html: &'static str) -> Html {
        self.0 += html;
        self
    }

    /// Text, or the value of an attribute in quotes.
    pub fn text(mut self, text: impl Display) -> Html {
        self.0 += &xml(&text.to_string());
        self
    }

    /// A coordinate of a picture.
    pub fn number(self, value: f64) -> Html {
        self.text(format_args!("{:.1}", if value.is_finite() { value } else { 0.0 }))
    }

    /// Another part.
    pub fn put(mut self, part: Html) -> Html {
        self.0 += &part.0;
        self
    }

    /// Other parts, one after the other.
    pub fn all(self, parts: impl IntoIterator<Item = Html>) -> Html {
        parts.into_iter().fold(self, Html::put)
    }

    /// An element without attributes, with text in it.
    pub fn element(self, begin: &'static str, text: impl Display, end: &'static str) -> Html {
        self.raw(begin).text(text).raw(end)
    }

    /// A link within the site.
    pub fn link(self, to: &Link, text: impl Display) -> Html {
        self.link_of(to, Html::default().text(text))
    }

    /// The same, around what is shown of it.
    pub fn link_of(self, to: &Link, shown: Html) -> Html {
        self.raw("<a href=\"").text(&to.0).raw("\">").put(shown).raw("</a>")
    }

    /// The whole document, as it is sent.
    pub fn document(self) -> String {
        self.0
    }
}

/// An address within the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link(String);

impl Link {
    /// A path whose last part is named by a record.
    pub fn of(path: &'static str, name: &str) -> Link {
        Link(format!("{path}{}", percent_encoded(name)))
    }

    /// The same, and more of the path.
    pub fn then(mut self, more: &'static str) -> Link {
        self.0 += more;
        self
    }

    /// With one more field of a query.
    pub fn with(mut self, field: &'static str, value: &str) -> Link {
        self.0.push(if self.0.contains('?') { '&' } else { '?' });
        self.0 += &format!("{field}={}", percent_encoded(value));
        self
    }
}

/// A page of the site.
pub struct Page {
    /// Its title, which also stands at its top.
    pub title: String,
    /// More links at its top: where it belongs.
    pub above: Html,
    /// All below the title.
    pub body: Html,
    /// Read again after so many seconds; a reader can have it stand still.
    pub again_s: Option<u32>,
}

impl Page {
    /// One that stands still.
    pub fn new(title: impl Into<String>, body: Html) -> Page {
        Page { title: title.into(), above: Html::default(), body, again_s: None }
    }

    /// The document.
    pub fn html(self) -> String {
        let again = self
            .again_s
            .map_or_else(Html::default, |seconds| Html::default().element("<meta http-equiv=\"refresh\" content=\"", seconds, "\">\n"));
        Html::default()
            .raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
            .raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n")
            .put(again)
            .element("<title>", format_args!("{} - faceoff", self.title), "</title>\n")
            .raw("<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n")
            .raw("<header class=\"top\"><b>faceoff</b><nav aria-label=\"Where\"><a href=\"/\">All records</a>")
            .put(self.above)
            .raw("</nav></header>\n<main class=\"site\">\n")
            .element("<h1>", &self.title, "</h1>\n")
            .put(self.body)
            .raw("</main>\n</body>\n</html>\n")
            .document()
    }
}

/// A page that says why there is nothing else.
pub fn refusal(title: &'static str, why: &str) -> String {
    Page::new(title, Html::default().element("<p>", why, "</p>\n").raw("<p><a href=\"/\">All records</a></p>\n")).html()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_says_stays_text() {
        let hostile = "</title><script>alert(1)</script>\" onload='x' &\u{2028}";
        let page = Page::new(hostile, Html::default().link(&Link::of("/records/", hostile), hostile)).html();
        assert!(!page.contains("<script") && !page.contains("' ") && page.matches("</title>").count() == 1, "{page}");
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    }

    #[test]
    fn links_are_encoded() {
        let link = Link::of("/records/", "a/b c").then("/live").with("a", "x&y").with("b", "ü");
        assert_eq!(Html::default().link(&link, "t").document(), "<a href=\"/records/a%2Fb%20c/live?a=x%26y&amp;b=%C3%BC\">t</a>");
    }
}
