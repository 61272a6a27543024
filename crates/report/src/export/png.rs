//! Pictures as PNG. A built-in font draws their letters, so they look the same on every machine,
//! also without installed fonts.

use super::picture::{Chart, svg};
use super::source::Source;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use spec::problem::Problems;

/// The font, which has Latin, Greek and Cyrillic letters; other letters become boxes.
const FONT: (&str, [&[u8]; 2]) = ("Noto Sans", [notosans::REGULAR_TTF, notosans::BOLD_TTF]);
/// Pixels for each unit of the drawing ...
const SCALE: f32 = 2.0;
/// ... and of a side, at most.
const SIDE_MAX: f32 = 16_384.0;

/// Draws a picture with two pixels for each unit of [`svg`].
///
/// # Errors
/// Those of [`svg`], and a picture that is too large for memory.
pub fn png(source: &Source<'_>, chart: Chart) -> Result<Vec<u8>, Problems> {
    encoded(&svg(source, chart)?)
}

fn encoded(svg: &str) -> Result<Vec<u8>, Problems> {
    drawn(svg)?.encode_png().map_err(|e| failed(&e.to_string()))
}

fn failed(why: &str) -> Problems {
    Problems::plain(
        format!("the picture cannot be drawn: {why}"),
        "choose less of it with --cell or --contender, or write svg",
    )
}

fn drawn(svg: &str) -> Result<Pixmap, Problems> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    FONT.1.iter().for_each(|font| fonts.load_font_data(font.to_vec()));
    fonts.set_sans_serif_family(FONT.0);
    let tree = Tree::from_str(svg, &options).map_err(|e| failed(&e.to_string()))?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let scale = SCALE.min(SIDE_MAX / width.max(height));
    let pixels = |side: f32| (side * scale).ceil() as u32;
    let mut picture = Pixmap::new(pixels(width), pixels(height))
        .ok_or_else(|| failed(&format!("it is {width} by {height}")))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(height: u32, elements: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"{height}\" viewBox=\"0 0 200 {height}\" font-family=\"system-ui, sans-serif\"><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{elements}</svg>"
        )
    }

    /// The darkness of a picture.
    fn ink(elements: &str) -> u64 {
        drawn(&picture(50, elements))
            .unwrap()
            .pixels()
            .iter()
            .map(|pixel| u64::from(255 - pixel.green()))
            .sum()
    }

    fn text(weight: u32, text: &str) -> u64 {
        ink(&format!(
            "<text x=\"10\" y=\"30\" font-size=\"20\" font-weight=\"{weight}\">{text}</text>"
        ))
    }

    #[test]
    fn letters_are_drawn_with_the_built_in_font() {
        assert_eq!(ink(""), 0);
        let (usual, strong) = (text(400, "Which? 2.5×"), text(600, "Which? 2.5×"));
        assert!(usual > 20_000 && strong > usual + usual / 10, "{usual}, {strong}");
        assert!(text(400, "漢") > 0, "a box for a missing letter");
    }

    #[test]
    fn png_can_be_read_and_its_sides_are_bounded() {
        let png =
            |height| encoded(&picture(height, "<path d=\"M0,0L10,10\" stroke=\"#000\"/>")).unwrap();
        let size = |bytes: &[u8]| {
            Pixmap::decode_png(bytes).map(|picture| (picture.width(), picture.height())).unwrap()
        };
        assert_eq!(size(&png(50)), (400, 100));
        assert_eq!(size(&png(100_000)).1, SIDE_MAX as u32);
        assert!(encoded("<svg").unwrap_err().to_string().contains("the picture cannot be drawn"));
    }
}
