/** A linear axis from zero, in per cents of the width. */
import { scaleLinear } from "d3-scale";

export function linear(values: readonly number[]) {
  const most = values.filter(Number.isFinite).reduce((a, b) => Math.max(a, b), 0);
  const x = scaleLinear()
    .domain([0, most || 1])
    .range([0, 98])
    .clamp(true);
  return { x, ticks: x.ticks(5) };
}
