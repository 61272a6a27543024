import { createHash } from "node:crypto";
import type { Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";
import { defineConfig } from "vitest/config";

/** The place where `faceoff report` puts the record: it replaces the `null`. */
const MARKER = `<script type="application/json" id="page-data">null</script>`;

/**
 * Runs after everything is in one file. The page may run the script and the style it was built
 * with, known by their digests, and reach nothing else; trusted types make any use of innerHTML an
 * error.
 */
function seal(): Plugin {
  return {
    name: "seal",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        const page = bundle["index.html"];
        if (page?.type !== "asset") throw new Error("the build made no index.html");
        const html = String(page.source);
        if (html.split(MARKER).length !== 2)
          throw new Error(`the page must hold exactly one ${MARKER}`);
        const digests = (element: RegExp) =>
          [...html.matchAll(element)]
            .map(([, text]) => `'sha256-${createHash("sha256").update(text!).digest("base64")}'`)
            .join(" ");
        const policy = [
          "default-src 'none'",
          `script-src ${digests(/<script type="module"[^>]*>([\s\S]*?)<\/script>/g)}`,
          `style-src ${digests(/<style[^>]*>([\s\S]*?)<\/style>/g)}`,
          "base-uri 'none'",
          "form-action 'none'",
          "require-trusted-types-for 'script'",
        ].join("; ");
        page.source = html.replace(
          "<!-- policy -->",
          () => `<meta http-equiv="Content-Security-Policy" content="${policy}" />`,
        );
      },
    },
  };
}

export default defineConfig(({ command }) => {
  // The committed page must not depend on the environment of the build.
  if (command === "build") process.env.NODE_ENV = "production";
  return {
    plugins: [viteSingleFile(), seal()],
    build: {
      // The crate that embeds the page holds it, so that building the command needs no Node.
      outDir: "../crates/report/page",
      emptyOutDir: true,
      // light-dark() needs these; older browsers would get a page without colours
      target: ["chrome123", "firefox120", "safari17.5"],
      modulePreload: false,
    },
    test: {
      environment: "happy-dom",
      include: ["**/*.test.{ts,tsx}"],
      globalSetup: "test/build.ts",
      testTimeout: 120_000,
      hookTimeout: 60_000,
    },
  };
});
