import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { buildInto } from "../scripts/build.mjs";

declare module "vitest" {
  export interface ProvidedContext {
    /** The folder with the report, built from the current sources. */
    page: string;
  }
}

/** Builds the report once for all tests, outside of the repository. */
export default function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), "faceoff-page-"));
  buildInto(folder);
  project.provide("page", folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
