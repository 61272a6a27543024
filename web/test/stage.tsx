/** Renders reports in a document for tests. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach } from "vitest";
import { App } from "../src/app";
import type { Page } from "../src/page";

/** A document in which each test shows its report. */
export function stage() {
  const root = document.createElement("div");
  beforeEach(() => void document.body.appendChild(root));
  afterEach(() => {
    act(() => render(null, root));
    root.remove();
  });
  return {
    root,
    show: (page: Page) => act(() => render(<App reading={{ page }} />, root)),
    all: (selector: string) => [...root.querySelectorAll<HTMLElement>(selector)],
    press: (element: HTMLElement) => act(() => element.click()),
    key: (element: Element, name: string, how: KeyboardEventInit = {}) =>
      act(
        () =>
          void element.dispatchEvent(
            new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...how }),
          ),
      ),
  };
}
