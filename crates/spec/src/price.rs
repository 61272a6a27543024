//! Prices of CPU and memory, from which the cost of requests follows.
//!
//! People write `0.034/cpu-hour` or `0.034 USD/cpu-hour,0.004 USD/gib-hour`, as clouds list their
//! prices, or name a TOML file with `cpu_hour`, `gib_hour` and `currency`. Start with
//! [`Price::parse`].

use crate::name::did_you_mean;
use crate::reader::{Table, read_file};
use crate::units::show_decimal;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What CPU and memory cost. At least one of them has a price.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Price {
    /// The price of one CPU for an hour.
    pub cpu_hour: Option<f64>,
    /// The price of 1 GiB of memory for an hour.
    pub gib_hour: Option<f64>,
    /// The currency, as people write it; empty if it was not given.
    #[serde(default)]
    pub currency: String,
}

/// The units that have a price.
const UNITS: [&str; 2] = ["cpu-hour", "gib-hour"];
/// No price is higher, in any currency.
const MOST: f64 = 1e9;

impl Price {
    /// Parses a price, or reads it from a file if the text ends with `.toml`.
    ///
    /// # Errors
    /// The part that is wrong, and what is possible; the problems of the file.
    pub fn parse(text: &str) -> Result<Price, String> {
        if text.ends_with(".toml") {
            let read = read_file(Path::new(text), Price::of_table);
            return read.map_err(|problems| {
                let text = problems.to_string();
                text.strip_prefix("error: ").map_or(text.clone(), str::to_owned)
            });
        }
        let mut price = Price::default();
        for part in text.split(',').map(str::trim) {
            let Part { amount, currency, unit } = parse_part(part)?;
            if !price.currency.is_empty() && !currency.is_empty() && price.currency != currency {
                return Err(format!("`{text}` has two currencies: write one"));
            }
            if price.currency.is_empty() {
                price.currency = currency.to_owned();
            }
            let of_unit = if unit == UNITS[0] { &mut price.cpu_hour } else { &mut price.gib_hour };
            if of_unit.replace(amount).is_some() {
                return Err(format!("`{text}` has two prices of a {unit}: write one"));
            }
        }
        Ok(price)
    }

    fn of_table(table: &Table<'_>) -> Price {
        let price = Price {
            cpu_hour: table.number("cpu_hour", 0.0, MOST),
            gib_hour: table.number("gib_hour", 0.0, MOST),
            currency: table.string("currency").unwrap_or_default(),
        };
        if !price.currency.is_empty() && !is_currency(&price.currency) {
            table.problem("currency", NO_CURRENCY, "write `currency = \"USD\"`");
        }
        if !table.has("cpu_hour") && !table.has("gib_hour") {
            let hint = "write `cpu_hour = 0.034`, `gib_hour = 0.004` or both";
            table.problem("cpu_hour", "there is no price", hint);
        }
        price
    }

    /// Shows an amount of money: `0.000944 USD`.
    pub fn show(&self, amount: f64) -> String {
        format!("{} {}", show_decimal(amount), self.currency).trim_end().to_owned()
    }

    /// Writes it as [`Price::parse`] reads it: `0.034 USD/cpu-hour,0.004 USD/gib-hour`.
    pub fn as_option(&self) -> String {
        let of = |price: Option<f64>, unit: &str| {
            price.map(|amount| self.with_currency(amount) + "/" + unit)
        };
        let parts = [of(self.cpu_hour, UNITS[0]), of(self.gib_hour, UNITS[1])];
        parts.into_iter().flatten().collect::<Vec<_>>().join(",")
    }

    /// Writes an amount with all its digits and the currency.
    fn with_currency(&self, amount: f64) -> String {
        format!("{amount} {}", self.currency).trim_end().to_owned()
    }

    /// Describes it: `0.034 USD per CPU-hour and 0.004 USD per GiB-hour`.
    pub fn describe(&self) -> String {
        let of = |price: Option<f64>, unit: &str| {
            price.map(|amount| self.with_currency(amount) + " per " + unit)
        };
        let parts: Vec<String> = [of(self.cpu_hour, "CPU-hour"), of(self.gib_hour, "GiB-hour")]
            .into_iter()
            .flatten()
            .collect();
        parts.join(" and ")
    }
}

/// One part of a price.
struct Part<'t> {
    amount: f64,
    /// Empty if it was not given.
    currency: &'t str,
    unit: &'t str,
}

const NO_CURRENCY: &str = "a currency is a word of at most 12 letters or signs, such as USD or €";

fn is_currency(text: &str) -> bool {
    let is_usual = |c: char| !c.is_control() && !c.is_whitespace() && !c.is_ascii_digit();
    (1..=12).contains(&text.chars().count())
        && text.chars().all(|c| is_usual(c) && !"/,.".contains(c))
}

/// Parses one part, such as `0.034/cpu-hour` or `0.034 USD/cpu-hour`.
fn parse_part(part: &str) -> Result<Part<'_>, String> {
    let wrong = |why: String| format!("`{part}` is not a price: {why}");
    let (amount, unit) = part.split_once('/').ok_or_else(|| {
        wrong("write 0.034/cpu-hour, 0.004/gib-hour, both with a comma, or a .toml file".into())
    })?;
    let unit = unit.trim();
    if !UNITS.contains(&unit) {
        return Err(wrong(format!("`{unit}` is unknown; {}", did_you_mean(unit, UNITS))));
    }
    let amount = amount.trim();
    let (number, currency) = amount.split_once(' ').unwrap_or((amount, ""));
    let currency = currency.trim();
    if !currency.is_empty() && !is_currency(currency) {
        return Err(wrong(NO_CURRENCY.into()));
    }
    let amount = number.parse::<f64>().ok().filter(|n| (0.0..=MOST).contains(n));
    let amount =
        amount.ok_or_else(|| wrong(format!("`{number}` must be a number from 0 to {MOST}")))?;
    Ok(Part { amount, currency, unit })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(cpu_hour: Option<f64>, gib_hour: Option<f64>, currency: &str) -> Price {
        Price { cpu_hour, gib_hour, currency: currency.into() }
    }

    #[test]
    fn prices_are_parsed_as_clouds_list_them() {
        assert_eq!(Price::parse("0.034/cpu-hour").unwrap(), price(Some(0.034), None, ""));
        assert_eq!(
            Price::parse("0.004/gib-hour, 0.034 / cpu-hour").unwrap(),
            price(Some(0.034), Some(0.004), "")
        );
        assert_eq!(
            Price::parse("0.034 USD/cpu-hour,0.004 USD/gib-hour").unwrap(),
            price(Some(0.034), Some(0.004), "USD")
        );
    }

    #[test]
    fn a_price_is_written_as_it_is_parsed() {
        for text in ["0.034/cpu-hour", "0.034 USD/cpu-hour,0.0000004 USD/gib-hour", "1 €/gib-hour"]
        {
            assert_eq!(Price::parse(text).unwrap().as_option(), text);
        }
    }

    #[test]
    fn a_wrong_price_names_the_part_and_what_is_possible() {
        let refused = |text: &str| Price::parse(text).unwrap_err();
        assert_eq!(
            refused("0.03/cpu-hour,1/gb-hour"),
            "`1/gb-hour` is not a price: `gb-hour` is unknown; did you mean `gib-hour`?"
        );
        assert_eq!(
            refused("1/minute"),
            "`1/minute` is not a price: `minute` is unknown; known: `cpu-hour`, `gib-hour`"
        );
        assert!(refused("0.03").contains("write 0.034/cpu-hour"), "{}", refused("0.03"));
        assert!(refused("").starts_with("`` is not a price"));
        for amount in ["x", "-1", "NaN", "inf", "1e10", ""] {
            let text = refused(&format!("{amount}/cpu-hour"));
            assert!(text.contains(&format!("`{amount}` must be a number")), "{text}");
        }
        assert_eq!(
            refused("1/cpu-hour,2/cpu-hour"),
            "`1/cpu-hour,2/cpu-hour` has two prices of a cpu-hour: write one"
        );
        assert!(refused("1 USD/cpu-hour,1 EUR/gib-hour").contains("two currencies"));
        assert!(refused("1 2/cpu-hour").contains("a currency is a word"));
    }

    #[test]
    fn a_price_is_read_from_a_file_with_its_currency() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let file = folder.path().join("price.toml");
            std::fs::write(&file, text).unwrap();
            Price::parse(file.to_str().unwrap())
        };
        assert_eq!(
            read("cpu_hour = 0.034\ngib_hour = 1\ncurrency = \"EUR\"\n").unwrap(),
            price(Some(0.034), Some(1.0), "EUR")
        );
        let text = read("cpu_hours = 0.034\ncpu_hour = -1\n").unwrap_err();
        assert!(text.contains("`cpu_hour` must be from 0") && text.contains("cpu_hours"), "{text}");
        assert!(read("currency = \"EUR\"").unwrap_err().contains("there is no price"));
        assert!(Price::parse("no such/file.toml").unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn amounts_have_no_exponent() {
        let price = price(Some(0.034), Some(0.004), "USD");
        assert_eq!(price.show(0.000_944_4), "0.000944 USD");
        assert_eq!(price.show(1.5), "1.50 USD");
        assert_eq!(price.describe(), "0.034 USD per CPU-hour and 0.004 USD per GiB-hour");
    }
}
