//! The list of all records of the folder, newest first, with a search. Start with [`list`].

use super::brief::{Brief, minute, run_state};
use super::html::{Html, Link, Page};
use super::over_time::link_to_history;
use spec::units::show_bytes;

/// The most records on one page.
const MOST: usize = 500;

/// A record that was found.
pub struct Choice<'a> {
    /// Its name within the site.
    pub id: &'a str,
    /// The length of its file.
    pub bytes: u64,
    /// Its content, or why it cannot be read.
    pub brief: Result<&'a Brief, &'a str>,
    /// Whether it may be under way: it has not ended, and was written to a short while ago.
    pub is_live: bool,
}

impl Choice<'_> {
    /// Returns whether the row contains every word of the search.
    fn matches(&self, words: &[String]) -> bool {
        let mut text = self.id.to_lowercase();
        if let Ok(brief) = self.brief {
            let header = &brief.record.header;
            let contenders: Vec<String> =
                header.contenders.iter().map(|p| p.name.to_string()).collect();
            let result = brief.result.as_ref().map_or("", |result| result.answer.sentence.as_str());
            let (experiment, contenders) = (&header.experiment, contenders.join(" "));
            let parts: [&str; 6] = [
                &experiment.name,
                &experiment.question,
                &header.recorded_at,
                result,
                &contenders,
                run_state(&brief.record),
            ];
            text += &format!(" {}", parts.join(" ").to_lowercase());
        }
        words.iter().all(|word| text.contains(word.as_str()))
    }

    fn recorded_at(&self) -> &str {
        self.brief.map_or("", |brief| brief.record.header.recorded_at.as_str())
    }
}

/// Lists the records that contain the words of a search.
pub fn list(folder: &str, choices: &[Choice<'_>], search: &str) -> Page {
    let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
    let mut shown: Vec<&Choice<'_>> =
        choices.iter().filter(|choice| choice.matches(&words)).collect();
    shown.sort_by(|a, b| b.recorded_at().cmp(a.recorded_at()).then_with(|| a.id.cmp(b.id)));
    let found = match (shown.len(), choices.len()) {
        (_, 0) => format!("There is no record in {folder} yet: `faceoff run` writes one."),
        (n, all) if words.is_empty() || n == all => {
            format!("{all} record{} in {folder}", if all == 1 { "" } else { "s" })
        }
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
            .raw("<form action=\"/compare\">\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table class=\"records\">\n<thead><tr><th>Begun</th><th>Experiment and result</th><th>Claims</th><th>Record</th><th>Compare</th></tr></thead>\n<tbody>\n")
            .put_all(shown.iter().map(|choice| row(choice)))
            .raw("</tbody>\n</table></div>\n")
            .raw("<p><button>Compare the two marked records</button></p>\n</form>\n"),
    };
    let body = match more {
        0 => body,
        n => body.element(
            "<p class=\"note\">",
            format_args!("{n} older ones are not shown: use the search."),
            "</p>\n",
        ),
    };
    Page::new("Records", body)
}

fn row(choice: &Choice<'_>) -> Html {
    let page = Link::to("/records/", choice.id);
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
    let state = if choice.is_live { "under way" } else { run_state(&brief.record) };
    let blocks = brief.result.as_ref().map_or(String::new(), |result| match result.blocks {
        // Judgements of earlier versions do not have it.
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
        .link(
            &link_to_history(&header.experiment.name, header.quick),
            format_args!("{}{quick}", header.experiment.name),
        )
        .element(" <span class=\"small\">", &header.experiment.question, "</span>")
        .put(answer(choice, brief, &page))
        .element("</td><td>", claims(brief), "</td><td>")
        .link(&page, choice.id)
        .element("<br><span class=\"small\">", length, "</span></td><td class=\"marks\">")
        .put(mark("a", "left"))
        .put(mark("b", "right"))
        .raw("</td></tr>\n")
}

/// The answer of a record, or why it has none yet.
fn answer(choice: &Choice<'_>, brief: &Brief, page: &Link) -> Html {
    match &brief.result {
        Some(result) => Html::default().raw("<p class=\"").text(result.answer.outcome).element(
            "\">",
            &result.answer.sentence,
            "</p>",
        ),
        None if choice.is_live => Html::default()
            .raw("<p class=\"undecided\">under way: ")
            .link(&page.clone().then("/live"), "watch it")
            .raw("</p>"),
        None => Html::default().element(
            "<p class=\"undecided\">",
            format_args!("not judged yet ({})", run_state(&brief.record)),
            "</p>",
        ),
    }
}

/// The number of claims by outcome: `2 confirmed, 1 undecided`.
fn claims(brief: &Brief) -> String {
    brief.result.as_ref().map_or_else(String::new, |result| {
        let words = ["confirmed", "refuted", "undecided"];
        let some = result
            .claims
            .iter()
            .zip(words)
            .filter(|(n, _)| **n > 0)
            .map(|(n, word)| format!("{n} {word}"));
        some.collect::<Vec<_>>().join(", ")
    })
}
