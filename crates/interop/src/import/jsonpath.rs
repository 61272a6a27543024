//! Converts JSONPath to JSON pointers, if it names one place: `$.client.ids[0]` is `/client/ids/0`.

use spec::workload::pointer_token;

/// Returns the pointer of a path that names one place; `None` for a path that may name several.
pub fn pointer(path: &str) -> Option<String> {
    let mut rest = path.trim().strip_prefix('$')?;
    let mut pointer = String::new();
    let mut push = |key: &str| {
        pointer.push('/');
        pointer.push_str(&pointer_token(key));
    };
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let quote = inside.chars().next().filter(|c| "'\"".contains(*c));
            if let Some(quote) = quote {
                let (key, after) = inside[1..].split_once(quote)?;
                if key.contains('\\') {
                    return None;
                }
                push(key);
                rest = after.strip_prefix(']')?;
            } else {
                let (index, after) = inside.split_once(']')?;
                // An index from the end, a slice, a filter or a wildcard.
                if index.is_empty() || !index.bytes().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                push(index);
                rest = after;
            }
        } else {
            let named = rest.strip_prefix('.')?;
            let (key, after) = named.split_at(named.find(['.', '[']).unwrap_or(named.len()));
            let is_plain = |c: char| c.is_alphanumeric() || "_-@".contains(c);
            if key.is_empty() || !key.chars().all(is_plain) {
                return None;
            }
            push(key);
            rest = after;
        }
    }
    Some(pointer)
}

#[cfg(test)]
mod tests {
    use super::pointer;

    #[test]
    fn a_path_to_one_place_is_a_pointer() {
        for (path, found) in [
            ("$", Some("")),
            ("$.id", Some("/id")),
            ("$.a.b[0]['c d'].e", Some("/a/b/0/c d/e")),
            ("$[\"a/b\"]", Some("/a~1b")),
            ("$..id", None),
            ("$.*", None),
            ("$.a[*]", None),
            ("$.a[-1]", None),
            ("$.a[?(@.b)]", None),
            ("$.length()", None),
            ("id", None),
            ("$[", None),
            ("$['", None),
        ] {
            assert_eq!(pointer(path).as_deref(), found, "{path}");
        }
    }
}
