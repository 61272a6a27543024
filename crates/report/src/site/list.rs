//! All records of the folder, newest first.

use super::{Brief, Html, Link, Page, minute, state};
use model::units::show_bytes;

/// The most records on one page.
const MOST: usize = 500;

/// A record that was found.
pub struct Choice<'a> {
    /// Names it within the site.
    pub id: &'a str,
    /// The length of its file.
    pub bytes: u64,
    /// What can be told of it, or why it cannot be read.
    pub brief: Result<&'a Brief, &'a str>,
    /// Whether it may be under way: it has not ended, and something was written into it a short while ago.
    pub is_live: bool,
}

impl Choice<'_> {
    /// Every word of the search stands somewhere in what is shown of it.
    fn answers(&self, words: &[String]) -> bool {
        let mut text = self.id.to_lowercase();
        if let Ok(brief) = self.brief {
            let header = &brief.record.header;
            let contenders: Vec<String> = header.contenders.iter().map(|p| p.name.to_string()).collect();
            let told = brief.told.as_ref().map_or("", |told| told.answer.sentence.as_str());
            let (experiment, contenders) = (&header.experiment, contenders.join(" "));
            let parts: [&str; 6] = [&experiment.name, &experiment.question, &header.recorded_at, told, &contenders, state(&brief.record)];
            text += &format!(" {}", parts.join(" ").to_lowercase());
        }
        words.iter().all(|word| text.contains(word.as_str()))
    }

    fn recorded_at(&self) -> &str {
        self.brief.map_or("", |brief| brief.record.header.recorded_at.as_str())
    }
}

/// The list, narrowed by the words of a search.
pub fn list(folder: &str, choices: &[Choice<'_>], search: &str) -> Page {
    let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
    let mut shown: Vec<&Choice<'_>> = choices.iter().filter(|choice| choice.answers(&words)).collect();
    shown.sort_by(|a, b| b.recorded_at().cmp(a.recorded_at()).then_with(|| a.id.cmp(b.id)));
    let found = match (shown.len(), choices.len()) {
        (_, 0) => format!("There is no record in {folder} yet: `faceoff run` leaves one."),
        (n, all) if words.is_empty() || n == all => format!("{all} record{} in {folder}", if all == 1 { "" } else { "s" }),
        (n, all) => format!("{n} of {all} records in {folder}"),
    };
    let more = shown.len().saturating_sub(MOST);
    shown.truncate(MOST);
    let body = Html::default()
        .raw("<form class=\"search\" action=\"/\" role=\"search\"><label for=\"q\">Search</label> <input id=\"q\" name=\"q\" type=\"search\" value=\"")
        .text(search)
        .raw("\"> <button>Find</button></form>\n")
        .element("<p class=\"small\">", found, "</p>\n");
    let body = match shown.is_empty() {
        true => body,
        false => body
            .raw("<form action=\"/compare\">\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table class=\"records\">\n<thead><tr><th>Begun</th><th>Experiment and what it came to</th><th>Claims</th><th>Record</th><th>Beside</th></tr></thead>\n<tbody>\n")
            .all(shown.iter().map(|choice| row(choice)))
            .raw("</tbody>\n</table></div>\n")
            .raw("<p><button>Put the two marked records side by side</button></p>\n</form>\n"),
    };
    let body = match more {
        0 => body,
        n => body.element("<p class=\"note\">", format_args!("{n} older ones are not shown: search for them."), "</p>\n"),
    };
    Page::new("Records", body)
}

fn row(choice: &Choice<'_>) -> Html {
    let page = Link::of("/records/", choice.id);
    let brief = match choice.brief {
        Ok(brief) => brief,
        Err(why) => {
            return Html::default().raw("<tr><td></td><td class=\"bad\">").text(why).element(
                "</td><td></td><td>",
                choice.id,
                "</td><td></td></tr>\n",
            );
        }
    };
    let header = &brief.record.header;
    let quick = if header.quick { " (quick form)" } else { "" };
    let told = match &brief.told {
        Some(told) => Html::default().raw("<p class=\"").text(told.answer.outcome).element("\">", &told.answer.sentence, "</p>"),
        None if choice.is_live => {
            Html::default().raw("<p class=\"undecided\">under way: ").link(&page.clone().then("/live"), "watch it").raw("</p>")
        }
        None => Html::default().element("<p class=\"undecided\">", format_args!("not judged yet ({})", state(&brief.record)), "</p>"),
    };
    let claims = brief.told.as_ref().map_or_else(String::new, |told| {
        let words = ["confirmed", "refuted", "undecided"];
        let some = told.claims.iter().zip(words).filter(|(n, _)| **n > 0).map(|(n, word)| format!("{n} {word}"));
        some.collect::<Vec<_>>().join(", ")
    });
    let state = if choice.is_live { "under way" } else { state(&brief.record) };
    let blocks = brief.told.as_ref().map_or(String::new(), |told| match told.blocks {
        // Judgements of earlier versions do not say.
        0 => String::new(),
        1 => ", 1 block".to_owned(),
        n => format!(", {n} blocks"),
    });
    let length = format!("{state}{blocks}, {}", show_bytes(choice.bytes));
    let mark = |field: &'static str, name: &'static str| {
        Html::default()
            .raw("<label><input type=\"radio\" name=\"")
            .raw(field)
            .raw("\" value=\"")
            .text(choice.id)
            .raw("\"><span class=\"spoken\">")
            .text(choice.id)
            .raw(" as </span>")
            .raw(name)
            .raw("</label> ")
    };
    Html::default()
        .element("<tr><td>", minute(&header.recorded_at), "</td><td>")
        .link(&super::over_time::link(&header.experiment.name, header.quick), format_args!("{}{quick}", header.experiment.name))
        .element(" <span class=\"small\">", &header.experiment.question, "</span>")
        .put(told)
        .element("</td><td>", claims, "</td><td>")
        .link(&page, choice.id)
        .element("<br><span class=\"small\">", length, "</span></td><td class=\"beside\">")
        .put(mark("a", "left"))
        .put(mark("b", "right"))
        .raw("</td></tr>\n")
}
