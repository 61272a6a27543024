//! The report: one HTML file that works offline. `web/` builds an empty report, and this module
//! puts the data of a record into it.
//!
//! `data.rs` defines the data and fills it from record and judgement; the files next to it do so
//! for one subject each. `typescript.rs` generates the TypeScript type of the data. Start with
//! [`html`] and `data.rs`.

mod audit;
mod capacity;
mod causes;
mod contenders;
mod costs;
mod data;
mod effects;
mod fact;
mod faults;
mod generators;
mod self_test;
mod sweeps;
mod symptoms;
mod trials;
#[cfg(test)]
mod typescript;
mod verdicts;
mod warm_up;

use record::Record;
use record::judgement::Judgement;

/// The report as `npm run build` in `web/` writes it. It is committed, so that Rust alone builds
/// the command.
const PAGE: &str = include_str!("../../page/index.html");
const MARKER: &str = r#"id="page-data">null</script>"#;

/// Returns the report of a record as one HTML file.
pub fn html(record: &Record, judgement: &Judgement) -> String {
    let page = data::page(record, judgement);
    let data = serde_json::to_string(&page).expect("the report's data is plain data");
    // A `<` in a string of the data must not end the script element.
    let safe = data.replace('<', "\\u003c");
    PAGE.replacen(MARKER, &format!(r#"id="page-data">{safe}</script>"#), 1)
}

/// Returns the content security policy that the report carries: it runs its own script, uses its
/// own style, and loads nothing.
pub fn policy() -> &'static str {
    const BEFORE: &str = "http-equiv=\"Content-Security-Policy\" content=\"";
    let after = PAGE.split_once(BEFORE).and_then(|(_, after)| after.split_once('"'));
    after.map_or("default-src 'none'", |(policy, _)| policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_report_has_one_place_for_its_data() {
        assert_eq!(PAGE.matches(MARKER).count(), 1);
    }

    #[test]
    fn policy_is_found_in_the_built_report() {
        assert!(
            policy().contains("script-src 'sha256-")
                && policy().contains("base-uri 'none'")
                && !policy().contains('"'),
            "{}",
            policy()
        );
    }
}
