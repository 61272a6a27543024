//! Parses what you type: a request, and the commands that build and start a service.

use crate::exit::Error;
use interop::import::{Requests, words};
use spec::problem::Problems;

/// Splits command lines as a shell does. Refuses anything else that only a shell understands.
pub fn split_commands(text: &str) -> Result<Vec<Vec<String>>, Error> {
    let lines = words::lines(text);
    if lines.is_empty() {
        return Err(Problems::plain(
            format!("`{text}` is not a command"),
            "write it as in a shell",
        )
        .into());
    }
    let needs_shell =
        |word: &&String| ["&&", "||", "|", "&", "<", ">", ">>", "2>&1"].contains(&word.as_str());
    if let Some(word) = lines.iter().flatten().find(needs_shell) {
        let hint = "separate build commands with `;`, or start a shell yourself: sh -c 'exec ...'";
        return Err(Problems::plain(
            format!("`{word}` needs a shell, and commands run without one"),
            hint,
        )
        .into());
    }
    Ok(lines)
}

/// Splits the command that starts a service. `hint` says where further commands belong.
pub fn split_one_command(name: &str, text: &str, hint: &str) -> Result<Vec<String>, Error> {
    let mut commands = split_commands(text)?;
    match commands.len() {
        1 => Ok(commands.remove(0)),
        n => Err(Problems::plain(
            format!("{name} needs one command to start, and {n} are given"),
            hint,
        )
        .into()),
    }
}

/// Returns curl's options for the content type of a body that looks like JSON, else none.
pub fn json_type(body: &str) -> Vec<String> {
    if body.trim_start().starts_with(['{', '[']) {
        ["-H", "content-type: application/json"].map(str::to_owned).to_vec()
    } else {
        Vec::new()
    }
}

/// Parses a request: `/path`, `POST /path BODY`, or a curl command line.
pub fn parse_request(text: &str) -> Result<Requests, Error> {
    let text = text.trim();
    if let Some(line) = text.strip_prefix("curl ") {
        return Ok(Requests::of_curl(&words::first_line(line).unwrap_or_default())?);
    }
    let wrong = || {
        Problems::plain(
            format!("`{text}` is not a request"),
            "write `/path`, `POST /path BODY`, or a curl command line",
        )
    };
    let (method, rest) = if text.starts_with('/') {
        ("GET", text)
    } else {
        text.split_once(' ').ok_or_else(wrong)?
    };
    let (path, body) =
        rest.trim().split_once(' ').map_or((rest.trim(), ""), |(path, body)| (path, body.trim()));
    if !path.starts_with('/') {
        return Err(wrong().into());
    }
    let mut words =
        ["-X", method, format!("http://127.0.0.1{path}").as_str()].map(str::to_owned).to_vec();
    if !body.is_empty() {
        words.extend(["--data-raw".to_owned(), body.to_owned()]);
        words.extend(json_type(body));
    }
    Ok(Requests::of_curl(&words)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(request: &str) -> String {
        parse_request(request)
            .map(|requests| requests.text("r"))
            .unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn requests_are_parsed_in_all_three_forms() {
        assert!(
            text("/a?b=c").contains("method = \"GET\"\npath = \"/a?b=c\""),
            "{}",
            text("/a?b=c")
        );
        let post = text("POST /orders {\"n\": 1}");
        assert!(
            post.contains("method = \"POST\"\npath = \"/orders\"")
                && post.contains("body = '{\"n\": 1}'"),
            "{post}"
        );
        assert!(post.contains("content-type = \"application/json\""), "{post}");
        let curl = text("curl -H 'x-a: b' http://localhost:8080/c");
        assert!(curl.contains("path = \"/c\"") && curl.contains("x-a = \"b\""), "{curl}");
        for bad in ["", "GET", "GET x", "orders"] {
            assert!(text(bad).contains("is not a request"), "{bad}: {}", text(bad));
        }
    }

    #[test]
    fn commands_are_split_and_shell_syntax_is_refused() {
        let split = |text: &str| split_commands(text).map_err(|e| e.to_string());
        assert_eq!(
            split("node 'a b.js' {port}"),
            Ok(vec![vec!["node".into(), "a b.js".into(), "{port}".into()]])
        );
        assert_eq!(split("npm ci; npm run build").map(|all| all.len()), Ok(2));
        assert!(split("a && b").unwrap_err().contains("`&&` needs a shell"));
        assert!(split(" ").unwrap_err().contains("is not a command"));
    }
}
