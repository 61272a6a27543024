//! Escapes that Lua and bash's `$'...'` have in common: those of C.
//!
//! Each language has further ones, which `lua.rs` and `words.rs` read themselves.

/// Returns the character of an escape letter, such as `n` for a line break.
pub fn control(letter: char) -> Option<char> {
    Some(match letter {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        _ => return None,
    })
}

/// Reads the number of an escape: digits that were read already, and more up to a total of `most`.
pub fn number(
    chars: &mut (impl Iterator<Item = char> + Clone),
    begun: &str,
    most: usize,
    radix: u32,
) -> Option<u32> {
    let mut digits = begun.to_owned();
    let mut ahead = chars.clone();
    while digits.len() < most
        && let Some(digit) = ahead.next().filter(|c| c.is_digit(radix))
    {
        digits.push(digit);
        *chars = ahead.clone();
    }
    u32::from_str_radix(&digits, radix).ok()
}
