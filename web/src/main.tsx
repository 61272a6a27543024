/** Shows the report: reads its data from the document and renders it. */
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { render } from "preact";
import { App } from "./app";
import { read } from "./read";

const data = document.getElementById("page-data")?.textContent ?? "null";
// On paper, everything is open.
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll<HTMLDetailsElement>("details.fold"))
    fold.open = true;
});
render(<App reading={read(data)} />, document.getElementById("page")!);
