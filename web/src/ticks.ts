/** Ticks of axes, which come with the data of the report. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Ticks } from "./page";

export const AxisTicks = createContext<Ticks>({ ratios: [], quantiles: [], fine_quantiles: [] });

export const useTicks = (): Ticks => useContext(AxisTicks);
