//! Splits command lines into words, as bash or cmd.exe does.
//!
//! People paste command lines of curl that a browser copied for bash, for cmd.exe or for
//! PowerShell. `command_lines` recognizes which, splits them, and notes what a shell would have
//! replaced or executed. `$NAME` becomes `{env.NAME}`, so that a secret stays out of the workload.
//!
//! The crate `shlex` does not fit. It splits plain POSIX words, but returns neither line ends nor
//! the place of an expansion or redirection, and rejects an open quote, which people do paste.
//! bash's `$'...'` and the rules of cmd.exe are outside its scope. Using it for the rest would mean
//! two readers of one syntax.

use super::{Notes, escapes};
use spec::problem::Problems;
use spec::variable;
use std::iter::Peekable;
use std::str::Chars;

/// Splits a text into command lines, and these into words. Quotes, escapes, `$'...'`, comments and
/// lines that continue after a backslash are understood. Operators and variables of shells stay as
/// they are written.
pub fn lines(text: &str) -> Vec<Vec<String>> {
    Lexer::new(text, false).read(usize::MAX).lines
}

/// Returns the first of the [`lines`] of a text, without reading the others.
pub fn first_line(text: &str) -> Option<Vec<String>> {
    Lexer::new(text, false).read(1).lines.pop()
}

/// Splits a file of command lines like the shell that they are written for. What a shell would
/// replace is named.
///
/// # Errors
/// A text for PowerShell, or one that cannot be read.
pub(super) fn command_lines(text: &str) -> Result<(Vec<Vec<String>>, Notes), Problems> {
    let read = Lexer::new(text, true).read(usize::MAX);
    if read.is_powershell {
        return Err(Problems::plain(
            "the command line is written for PowerShell, which is not read",
            "copy it as cURL for bash or for cmd, or join its lines and take the backticks out",
        ));
    }
    let read = if read.is_cmd || (read.has_doubled && !read.is_unix) { cmd(text) } else { read };
    match read.unreadable {
        Some(why) => {
            Err(Problems::plain(why, "write the bytes to a file, and name it: --data-binary @FILE"))
        }
        None => Ok((read.lines, read.notes)),
    }
}

/// The result of splitting a text.
#[derive(Default)]
struct Read {
    lines: Vec<Vec<String>>,
    notes: Notes,
    is_cmd: bool,
    is_powershell: bool,
    /// Whether a word contains `""`, which is a quote only on Windows.
    has_doubled: bool,
    /// Whether the text contains anything that only a Unix shell understands.
    is_unix: bool,
    unreadable: Option<String>,
}

/// Splits as a Unix shell does.
struct Lexer<'t> {
    chars: Peekable<Chars<'t>>,
    /// Whether `|`, `>`, `&`, `$NAME` and `$(...)` have a meaning.
    is_shell: bool,
    line: Vec<String>,
    word: Option<String>,
    /// The operator of a redirection, whose file is the next word.
    redirects: Option<String>,
    read: Read,
}

impl<'t> Lexer<'t> {
    fn new(text: &'t str, is_shell: bool) -> Self {
        Lexer {
            chars: text.chars().peekable(),
            is_shell,
            line: Vec::new(),
            word: None,
            redirects: None,
            read: Read::default(),
        }
    }

    /// Reads at most this number of command lines.
    fn read(mut self, most: usize) -> Read {
        while self.read.lines.len() < most
            && let Some(c) = self.chars.next()
        {
            match c {
                '\n' | ';' => self.end_line(),
                c if c.is_whitespace() => self.end_word(),
                '#' if self.word.is_none() => while self.chars.next_if(|c| *c != '\n').is_some() {},
                '\\' => {
                    self.chars.next_if_eq(&'\r');
                    self.read.is_unix = true;
                    match self.chars.next() {
                        Some('\n') | None => {}
                        Some(c) => self.push(c),
                    }
                }
                '\'' => {
                    self.read.is_unix = true;
                    let word = self.word.get_or_insert_default();
                    word.extend(self.chars.by_ref().take_while(|c| *c != '\''));
                }
                '$' if self.chars.next_if_eq(&'\'').is_some() => {
                    self.read.is_unix = true;
                    self.ansi();
                }
                '$' if self.is_shell && self.chars.peek() == Some(&'"') => {}
                '"' => self.quoted(),
                '$' if self.is_shell => self.substituted(),
                '`' if self.is_shell => self.backtick(),
                '^' if self.is_shell => self.caret(),
                '|' | '&' | '<' | '>' if self.is_shell => self.operator(c),
                c => self.push(c),
            }
        }
        self.end_line();
        self.read
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.redirects.take() {
            Some(operator) if operator.starts_with('>') => {
                self.read.notes.add(
                    format!("`{operator} {}`", super::shortened(&word)),
                    "responses are not stored",
                );
            }
            Some(operator) => {
                let why = "the input of a command is not read: name the file, as in -d @FILE";
                self.read.notes.add(format!("`{operator} {}`", super::shortened(&word)), why);
            }
            None => self.line.push(word),
        }
    }

    fn end_line(&mut self) {
        self.end_word();
        if !self.line.is_empty() {
            self.read.lines.push(std::mem::take(&mut self.line));
        }
    }

    /// Reads the text between double quotes.
    fn quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.chars.next() {
            match c {
                '"' => {
                    // At the start of a word, `""` is an empty text and not a doubled quote.
                    let is_inside = self.chars.peek() == Some(&'"')
                        && self.word.as_ref().is_some_and(|word| !word.is_empty());
                    self.read.has_doubled |= is_inside;
                    break;
                }
                '\\' => match self.chars.next() {
                    Some(c) if "\"\\$`".contains(c) => self.push(c),
                    Some('\n') | None => {}
                    Some(c) => self.word.get_or_insert_default().extend(['\\', c]),
                },
                '$' if self.is_shell => self.substituted(),
                '`' if self.is_shell => self.backtick(),
                c => self.push(c),
            }
        }
    }

    /// Reads `$NAME` and `${NAME}` as the environment variable, if the name is valid. Anything else
    /// is named.
    fn substituted(&mut self) {
        let braced = self.chars.next_if_eq(&'{').is_some();
        if !braced && self.chars.peek() == Some(&'(') {
            let inside: String =
                std::iter::from_fn(|| self.chars.next_if(|c| *c != ')' && *c != '\n')).collect();
            self.chars.next_if_eq(&')');
            return self.not_run(format!("$({})", inside.trim_start_matches('(')));
        }
        let is_of_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let name: String = std::iter::from_fn(|| self.chars.next_if(is_of_name)).collect();
        let closed = !braced || self.chars.next_if_eq(&'}').is_some();
        let written = match (braced, closed) {
            (false, _) => format!("${name}"),
            (true, closed) => format!("${{{name}{}", if closed { "}" } else { "" }),
        };
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let word = self.word.get_or_insert_default();
        if closed && starts_well && variable::is_variable(&name) {
            word.push_str(&format!("{{{}{name}}}", variable::PREFIX));
        } else {
            word.push_str(&written);
            if !name.is_empty() || braced {
                self.read.notes.add(
                    format!("`{}`", super::shortened(&written)),
                    "the value that a shell puts there is not known: the text is sent as it is written",
                );
            }
        }
    }

    fn backtick(&mut self) {
        if matches!(self.chars.peek(), Some('\n' | '\r') | None) {
            self.read.is_powershell = true;
            return;
        }
        let inside: String =
            std::iter::from_fn(|| self.chars.next_if(|c| *c != '`' && *c != '\n')).collect();
        self.chars.next_if_eq(&'`');
        self.not_run(format!("`{inside}`"));
    }

    fn not_run(&mut self, command: String) {
        self.read
            .notes
            .add(super::shortened(&command), "the command is not run: it is sent as it is written");
        self.word.get_or_insert_default().push_str(&command);
    }

    /// Recognizes `^"`, and `^` at the end of a line, which are written for cmd.exe.
    fn caret(&mut self) {
        self.read.is_cmd |= matches!(self.chars.peek(), Some('"' | '\n' | '\r'));
        self.push('^');
    }

    fn operator(&mut self, first: char) {
        // A number before the operator, as in `2>`, is part of it.
        let number = self
            .word
            .take_if(|word| matches!(first, '<' | '>') && word.chars().all(|c| c.is_ascii_digit()));
        self.end_word();
        let rest: String =
            std::iter::from_fn(|| self.chars.next_if(|c| "|&<>".contains(*c))).collect();
        let operator = format!("{}{first}{rest}", number.unwrap_or_default());
        if operator.contains('>') || operator.contains('<') {
            // `2>&1` has no file, but a word that is dropped like one.
            self.redirects = Some(
                operator.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&').to_owned(),
            );
            return;
        }
        if operator == "||" {
            self.read.notes.add("`||`", "the next request is sent even if the one before succeeds");
        }
        self.end_line();
    }

    /// Reads what follows `$'`, up to its end. These are bash's escapes, which differ from Lua's in
    /// `lua.rs`.
    fn ansi(&mut self) {
        let mut bytes: Vec<u8> = Vec::new();
        while let Some(c) = self.chars.next() {
            let mut plain =
                |c: char| bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            match c {
                '\'' => break,
                '\\' => match self.chars.next() {
                    Some(letter) if let Some(c) = escapes::control(letter) => plain(c),
                    Some('e' | 'E') => plain('\u{1b}'),
                    Some('x') => bytes
                        .extend(escapes::number(&mut self.chars, "", 2, 16).map(|code| code as u8)),
                    Some(digit @ '0'..='7') => bytes.extend(
                        escapes::number(&mut self.chars, &digit.to_string(), 3, 8)
                            .map(|code| code as u8),
                    ),
                    Some('u') => escapes::number(&mut self.chars, "", 4, 16)
                        .and_then(char::from_u32)
                        .into_iter()
                        .for_each(plain),
                    Some('U') => escapes::number(&mut self.chars, "", 8, 16)
                        .and_then(char::from_u32)
                        .into_iter()
                        .for_each(plain),
                    Some('c') => bytes.extend(self.chars.next().map(|c| c as u8 & 31)),
                    Some(c @ ('\\' | '\'' | '"' | '?')) => plain(c),
                    // Any other escape keeps its backslash.
                    Some(c) => ['\\', c].into_iter().for_each(plain),
                    None => break,
                },
                c => plain(c),
            }
        }
        let text = String::from_utf8(bytes).unwrap_or_else(|e| {
            self.read.unreadable = Some("the bytes of a `$'...'` are no text in UTF-8".into());
            String::from_utf8_lossy(e.as_bytes()).into_owned()
        });
        self.word.get_or_insert_default().push_str(&text);
    }
}

/// Splits as cmd.exe and then the C runtime of Windows do. The first removes carets and ends
/// commands, the second reads quotes.
fn cmd(text: &str) -> Read {
    let mut read = Read { is_cmd: true, ..Read::default() };
    let text = text.replace("\r\n", "\n");
    let mut chars = text.chars().peekable();
    let mut line = String::new();
    let mut is_quoted = false;
    loop {
        match chars.next() {
            Some('^') if !is_quoted => match chars.next() {
                // The line break is dropped, and the next character is literal, even a line break.
                Some('\n') => line.extend(chars.next()),
                next => line.extend(next),
            },
            Some('"') => {
                is_quoted = !is_quoted;
                line.push('"');
            }
            None | Some('\n') => {
                read.lines.extend(Some(arguments(&line)).filter(|words| !words.is_empty()));
                line.clear();
                is_quoted = false;
                if chars.peek().is_none() {
                    return read;
                }
            }
            Some(c @ ('&' | '|')) if !is_quoted => {
                if c == '|' && chars.peek() == Some(&'|') {
                    read.notes
                        .add("`||`", "the next request is sent even if the one before succeeds");
                }
                read.lines.extend(Some(arguments(&line)).filter(|words| !words.is_empty()));
                line.clear();
            }
            Some(c @ ('<' | '>')) if !is_quoted => {
                let rest: String =
                    std::iter::from_fn(|| chars.next_if(|c| !"&|\n".contains(*c))).collect();
                read.notes.add(
                    format!("`{c}{}`", super::shortened(rest.trim_end())),
                    "redirections are not carried over",
                );
            }
            Some(c) => line.push(c),
        }
    }
}

/// Splits a command line of Windows into words: `\"` is a quote, and so is `""` within quotes.
fn arguments(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let mut slashes = 1;
                while chars.next_if_eq(&'\\').is_some() {
                    slashes += 1;
                }
                let word = word.get_or_insert_default();
                if chars.peek() != Some(&'"') {
                    word.push_str(&"\\".repeat(slashes));
                    continue;
                }
                word.push_str(&"\\".repeat(slashes / 2));
                if slashes % 2 == 1 {
                    chars.next();
                    word.push('"');
                }
            }
            '"' if is_quoted && chars.next_if_eq(&'"').is_some() => {
                word.get_or_insert_default().push('"')
            }
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !is_quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::{command_lines, first_line, lines};

    fn split(text: &str) -> (Vec<String>, Vec<String>) {
        let (lines, notes) = command_lines(text).unwrap();
        (
            lines.into_iter().map(|line| line.join("|")).collect(),
            notes.0.into_iter().map(|note| note.what).collect(),
        )
    }

    #[test]
    fn words_are_split_as_a_unix_shell_does() {
        let split =
            |text: &str| lines(text).into_iter().map(|line| line.join("|")).collect::<Vec<_>>();
        assert_eq!(
            split("curl -H 'A: b' \\\n  --data \"x \\\"y\\\" $z\" u\\ v''w"),
            ["curl|-H|A: b|--data|x \"y\" $z|u vw"]
        );
        assert_eq!(split("# a comment\ncurl $'a\\n\\u0041\\'' ''; b # c"), ["curl|a\nA'|", "b"]);
        assert_eq!(split("'open"), ["open"]);
        assert!(split(" \n ; ").is_empty());
        assert_eq!(
            (first_line("# a\n b c; d").map(|line| line.join("|")).as_deref(), first_line(" \n ;")),
            (Some("b|c"), None)
        );
    }

    #[test]
    fn ansi_quotes_hold_bytes_of_utf8() {
        assert_eq!(
            split("a $'\\xc3\\xa9\\303\\251\\u00e9\\x9!\\?\\q\\cA\\e'").0,
            ["a|ééé\t!?\\q\u{1}\u{1b}"]
        );
        assert!(command_lines("a $'\\xff'").unwrap_err().to_string().contains("no text in UTF-8"));
        assert_eq!(split("a $\"b c\"").0, ["a|b c"]);
    }

    #[test]
    fn what_a_shell_would_replace_is_named() {
        let (words, notes) = split(
            "curl \"$TOKEN\" ${SHOP_URL}/x $1 \"$(date)\" `id` '$a' \"5$\" | jq . > out 2>&1\nb && c || d",
        );
        assert_eq!(
            words,
            ["curl|{env.TOKEN}|{env.SHOP_URL}/x|$1|$(date)|`id`|$a|5$", "jq|.", "b", "c", "d"]
        );
        assert_eq!(notes, ["`$1`", "$(date)", "`id`", "`> out`", "`>& 1`", "`||`"]);
    }

    #[test]
    fn cmd_and_powershell_are_distinguished() {
        let (words, notes) = split(
            "curl ^\"http://h/a^%^20b^\" ^\r\n  -H ^\"A: \\^\"x\\^\" ^& y^\" --data-raw ^\"^{^\\^\"a^\\^\": 1^}^\" > out & curl b\n",
        );
        assert_eq!(words, ["curl|http://h/a%20b|-H|A: \"x\" & y|--data-raw|{\"a\": 1}", "curl|b"]);
        assert_eq!(notes, ["`> out`"]);
        // Within quotes of cmd a caret is literal.
        assert_eq!(
            split("curl \"http://h/?a^b\" ^\n -d \"c \"\"d\"\" \\\\\" '' ").0,
            ["curl|http://h/?a^b|-d|c \"d\" \\|''"]
        );
        assert_eq!(split("curl ^\"a^\n\nb^\"").0, ["curl|a\nb"]);
        // Firefox doubles quotes when it copies for Windows.
        assert_eq!(
            split("curl \"http://h/\" -X POST --data-raw \"{\"\"a\"\": \"\"it's\"\"}\"").0,
            ["curl|http://h/|-X|POST|--data-raw|{\"a\": \"it's\"}"]
        );
        assert_eq!(split("curl -H 'A: b' \"c\"\"d\" \"\"").0, ["curl|-H|A: b|cd|"]);
        // This is not cmd, because the carets are quoted.
        assert_eq!(split("curl -d '^\"' \"^\n\"").0, ["curl|-d|^\"|^\n"]);
        assert!(
            command_lines("curl.exe http://h/ `\n -H 'A: b'")
                .unwrap_err()
                .to_string()
                .contains("PowerShell")
        );
    }
}
