//! Reads the texts of a script: literals, joined texts, names, arguments and `string.format`.
//!
//! An expression becomes a template; what is not understood becomes `None`. Start with
//! [`Script::text`].

use super::super::lua::Token::{Name, Number, Symbol, Text};
use super::super::multipart;
use super::{DEEPEST, Script, value_of};
use spec::data::{Data, Values};
use spec::template::{self, Template};

impl Script<'_> {
    /// Reads the text at a place, and where it ends; `None` if it is not understood.
    pub(super) fn text(&mut self, at: usize, depth: usize) -> Option<(Template, usize)> {
        let (mut template, mut at) = self.term(at, depth)?;
        while self.is(at, "..") {
            let (more, end) = self.term(at + 1, depth)?;
            template.parts.extend(more.parts);
            at = end;
        }
        (!self.goes_on(at)).then_some((template, at))
    }

    /// Returns whether an expression continues at a place, which would change it.
    pub(super) fn goes_on(&self, at: usize) -> bool {
        let signs = [
            "+", "-", "*", "/", "%", "^", "//", "..", "(", "==", "<", ">", "<=", ">=", "~=", "and",
            "or", "[", ".", ":",
        ];
        signs.iter().any(|word| self.is(at, word))
    }

    fn term(&mut self, at: usize, depth: usize) -> Option<(Template, usize)> {
        if depth > DEEPEST {
            return None;
        }
        match self.tokens.get(at)? {
            Text(text) => Some((Template::fixed(text.as_str()), at + 1)),
            Name(word) if word == "string" && self.is(at + 1, ".") && self.is(at + 2, "format") => {
                self.formatted(at + 3, depth)
            }
            Name(word)
                if (word == "tostring" || word == "tonumber") && !self.is_number(at, depth) =>
            {
                let (inside, end) = self.term_in_brackets(at + 1, depth)?;
                self.or_else(inside, end, depth)
            }
            Name(_)
                if self.is(at + 1, "[")
                    && !matches!(self.tokens.get(at + 2), Some(Text(_)))
                    && !self.place(at)?.0.starts_with("args[") =>
            {
                self.one_of_list(at, depth)
            }
            Name(_) if !self.is_number(at, depth) => {
                let (name, end) = self.place(at)?;
                if name.starts_with("args[") {
                    let given = self.defined.get(&name).map(|text| Template::fixed(text.as_str()));
                    return self.or_else(given, end, depth);
                }
                Some((self.value(&name, depth)?, end))
            }
            Symbol("(") if !self.is_number(at, depth) => {
                let (inside, end) = self.text(at + 1, depth + 1)?;
                self.is(end, ")").then_some((inside, end + 1))
            }
            Number(number) if !self.goes_on(at + 1) || self.is(at + 1, "..") => {
                Some((Template::fixed(number.to_string()), at + 1))
            }
            _ => {
                let (number, end) = self.number(at, depth + 1)?;
                Some((self.number_text(&number)?, end))
            }
        }
    }

    /// Reads a name in brackets: its value, if that is known, and where the brackets end.
    fn term_in_brackets(&mut self, at: usize, depth: usize) -> Option<(Option<Template>, usize)> {
        if !self.is(at, "(") {
            return None;
        }
        if let Some((name, end)) = self.place(at + 1)
            && name.starts_with("args[")
            && self.is(end, ")")
        {
            return Some((
                self.defined.get(&name).map(|text| Template::fixed(text.as_str())),
                end + 1,
            ));
        }
        let (inside, end) = self.text(at + 1, depth + 1)?;
        self.is(end, ")").then_some((Some(inside), end + 1))
    }

    /// Returns a value, or what follows `or`.
    fn or_else(
        &mut self,
        value: Option<Template>,
        at: usize,
        depth: usize,
    ) -> Option<(Template, usize)> {
        if !self.is(at, "or") {
            return value.map(|value| (value, at));
        }
        let (usual, end) = self.term(at + 1, depth + 1)?;
        Some((value.unwrap_or(usual), end))
    }

    /// Returns whether the expression at a place is numeric.
    fn is_number(&mut self, at: usize, depth: usize) -> bool {
        self.number(at, depth + 1).is_some()
    }

    /// Returns the text that a name has.
    fn value(&mut self, name: &str, depth: usize) -> Option<Template> {
        match self.assigned.get(name).map(Vec::as_slice) {
            Some([only]) => Some(self.text(*only, depth + 1)?.0),
            Some(_) => None,
            None => self.of_thread(name),
        }
    }

    /// Reads `string.format("/users/%d", n)` with `%d`, `%i`, `%s` and `%%`.
    fn formatted(&mut self, at: usize, depth: usize) -> Option<(Template, usize)> {
        let Some(Text(format)) = self.tokens.get(at + 1).filter(|_| self.is(at, "(")) else {
            return None;
        };
        let mut template = Template::default();
        let mut end = at + 2;
        let mut rest = format.as_str();
        while let Some((before, after)) = rest.split_once('%') {
            template.parts.push(template::Part::Text(before.to_owned()));
            match after.chars().next()? {
                '%' => template.parts.push(template::Part::Text("%".into())),
                'd' | 'i' | 's' => {
                    let (value, behind) =
                        self.text(end + 1, depth + 1).filter(|_| self.is(end, ","))?;
                    template.parts.extend(value.parts);
                    end = behind;
                }
                _ => return None,
            }
            rest = &after[1..];
        }
        template.parts.push(template::Part::Text(rest.to_owned()));
        self.is(end, ")").then_some((multipart::joined(template.parts), end + 1))
    }

    /// Returns the value that the word at a place draws.
    pub(super) fn drawn(&mut self, at: usize, wish: &str, values: Values) -> Template {
        self.draw(format!("#{at}"), wish, values)
    }

    pub(super) fn draw(&mut self, key: String, wish: &str, values: Values) -> Template {
        if let Some(made) = self.drawn.get(&key) {
            return value_of(made);
        }
        let name = self.names.new_name(wish);
        self.drawn.insert(key, name.clone());
        self.data.push(Data { name: name.clone(), values });
        value_of(&name)
    }
}
