import "uplot/dist/uPlot.min.css";
import "./style.css";
import { render } from "preact";
import { App } from "./app";
import { read } from "./read";

const data = document.getElementById("page-data")?.textContent ?? "null";
render(<App reading={read(data)} />, document.getElementById("page")!);
