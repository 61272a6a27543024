// @vitest-environment node
/** The built report: one file with a strict policy. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { filled } from "../fixture";
import { hostile } from "../hostile";

const folder = inject("page");
const html = readFileSync(join(folder, "index.html"), "utf8");

test("the report is one file, small enough for mail", () => {
  expect(readdirSync(folder)).toEqual(["index.html"]);
  expect(Buffer.byteLength(html)).toBeLessThan(250_000);
  expect(html).not.toMatch(/<(script|link|img)[^>]*\s(src|href)=/);
});

test("the marker for the record is in it once", () => {
  expect(html.split(`id="page-data">null</script>`)).toHaveLength(2);
  expect(html).toContain(`<script type="application/json" id="page-data">null</script>`);
});

test("the policy allows only this script and this style", () => {
  const policy = /<meta http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1];
  const digest = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const script = /<script type="module"[^>]*>([\s\S]*?)<\/script>/.exec(html)![1]!;
  const style = /<style[^>]*>([\s\S]*?)<\/style>/.exec(html)![1]!;
  expect(policy?.split("; ")).toEqual([
    "default-src 'none'",
    `script-src ${digest(script)}`,
    `style-src ${digest(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ]);
  expect(html.indexOf("Content-Security-Policy")).toBeLessThan(html.indexOf("<script"));
});

test("a record cannot end its script element", () => {
  const page = filled(html, hostile());
  expect(page.match(/<\/script>/g)).toHaveLength(html.match(/<\/script>/g)!.length);
});
