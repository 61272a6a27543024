/**
 * Reads the data that `faceoff report` put into the report. A file that was cut short, or made by
 * another version, becomes a sentence that the reader can act on.
 */
import type { Page } from "./page";

export type Reading = { page: Page } | { problem: string };

/** Reads the data of the report, or returns why that is not possible. */
export function read(text: string): Reading {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return {
      problem: "The data of this report is incomplete. Run faceoff report to write it again.",
    };
  }
  if (data === null)
    return {
      problem: "This report has no record. Run faceoff report on a record to write one.",
    };
  const schema = (data as Partial<Page>).schema;
  if (schema !== "faceoff.page.v1")
    return {
      problem: `This report can show faceoff.page.v1, but its data is ${String(schema)}. Run faceoff report to write it again.`,
    };
  return { page: data as Page };
}
