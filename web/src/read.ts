import type { Page } from "./page";

export type Reading = { page: Page } | { problem: string };

/** The record that stands in the page, or a sentence on why there is none. */
export function read(text: string): Reading {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return {
      problem:
        "The record in this page cannot be read: it is not whole. Make the page again with faceoff report.",
    };
  }
  if (data === null)
    return {
      problem: "This page holds no record. Run faceoff report on a record to make one that does.",
    };
  const schema = (data as Partial<Page>).schema;
  if (schema !== "faceoff.page.v1")
    return {
      problem: `This page was made to show faceoff.page.v1 and cannot show ${String(schema)}. Make the page again with faceoff report.`,
    };
  return { page: data as Page };
}
