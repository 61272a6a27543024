//! Names of environment variables in the files that people write: `{env.NAME}` and `${env.NAME}`.

/// The beginning of such a placeholder's name.
pub const PREFIX: &str = "env.";

/// Returns whether an environment variable can have this name.
pub fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns the environment variable that a placeholder of this name is for, if it is for one.
pub fn of_placeholder(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX).filter(|variable| is_variable(variable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_letters_digits_and_underscores() {
        assert!(
            is_variable("A_1") && !is_variable("1A") && !is_variable("a-b") && !is_variable("")
        );
        let named = ["env.A_1", "env.", "env.1A", "A_1"].map(of_placeholder);
        assert_eq!(named, [Some("A_1"), None, None, None]);
    }
}
