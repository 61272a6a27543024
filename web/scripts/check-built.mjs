// Fails if the committed page is not what the sources of web/ build to.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildInto, COMMITTED } from "./build.mjs";

const folder = mkdtempSync(join(tmpdir(), "faceoff-page-"));
try {
  buildInto(folder);
  const fresh = readFileSync(join(folder, "index.html"));
  const committed = existsSync(COMMITTED) ? readFileSync(COMMITTED) : null;
  if (!committed?.equals(fresh)) {
    const found = committed ? `it has ${committed.length} bytes` : "it is missing";
    console.error(
      `error: crates/report/page/index.html differs from a fresh build of web/: ` +
        `${found}, the build has ${fresh.length}\n` +
        "hint: run `npm ci && npm run build` in web/ and commit crates/report/page/index.html",
    );
    process.exitCode = 1;
  }
} catch (failure) {
  console.error(`error: ${failure.message}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
