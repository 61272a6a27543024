//! The page must have been built before it can be embedded.

fn main() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist/index.html");
    println!("cargo::rerun-if-changed={}", page.display());
    if !page.is_file() {
        println!("cargo::error=web/dist/index.html is missing: run `make page` first (it needs Node with npm)");
    }
}
