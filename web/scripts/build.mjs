import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(dirname(fileURLToPath(import.meta.url)));

/** The page that the Rust crate embeds. */
export const COMMITTED = join(web, "../crates/report/page/index.html");

/** Builds the page into a folder of the caller's, and leaves the committed one alone. */
export function buildInto(folder) {
  const vite = join(web, "node_modules/vite/bin/vite.js");
  if (!existsSync(vite)) {
    throw new Error(
      "the page cannot be built: web/node_modules has no vite\nhint: run `npm ci` in web/",
    );
  }
  const options = ["build", "--logLevel", "warn", "--outDir", folder, "--emptyOutDir"];
  execFileSync(process.execPath, [vite, ...options], { cwd: web, stdio: "inherit" });
}
