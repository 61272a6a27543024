import { scaleLog } from "d3-scale";
import { duration, startUp } from "../format";
import { Mark, Name, useLook } from "../identity";
import type { Contender, Trial } from "../page";
import { logTicks } from "./scales";
import { DrawnUp, useStretch, Zoom } from "./stretch";

const HEIGHT = 26;
const MIDDLE = HEIGHT / 2;
const pct = (x: number) => `${x.toFixed(3)}%`;
const drawable = (v: number | null): v is number => v !== null && Number.isFinite(v) && v > 0;

/**
 * Every start from the start of its process: when it first answered rightly, and when it was
 * steady.
 */
export function Starts({ trials, contenders }: { trials: Trial[]; contenders: Contender[] }) {
  const look = useLook();
  const all = trials.flatMap((t) => [t.ready_ms, t.steady_ms]).filter(drawable);
  const low = all.reduce((a, b) => Math.min(a, b), Infinity);
  const high = all.reduce((a, b) => Math.max(a, b), 0);
  const whole = scaleLog()
    .domain(all.length === 0 ? [1, 10] : [low / 1.15, high * 1.15])
    .range([0, 100])
    .clamp(true);
  const view = useStretch({ x: whole, at: (place) => whole.invert(place) }, "starts");
  if (all.length === 0)
    return <p class="empty">No start that came to a right answer was recorded.</p>;
  const { x, shows } = view;
  const ticks = logTicks(...view.ends);
  const started = contenders.filter((c) => trials.some((t) => t.contender === c.name));
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the buttons of Zoom do the same */}
      <div
        class="stretched"
        onPointerDown={view.down}
        onPointerMove={view.move}
        onPointerUp={view.up}
        onPointerCancel={view.cancel}
        onDblClick={() => view.zoom(null)}
      >
        <div class="forest-row">
          <span />
          <svg class="ratio-axis plane" width="100%" height="20" aria-hidden="true">
            {ticks.map((t) => (
              <text key={t} x={pct(x(t))} y="14">
                {duration(t)}
              </text>
            ))}
            <DrawnUp view={view} height={20} />
          </svg>
          <span class="small">first right answer</span>
        </div>
        {started.map((c) => {
          const own = trials.filter((t) => t.contender === c.name);
          const said = startUp(c);
          return (
            <div class="forest-row" key={c.name}>
              <Name name={c.name} />
              <svg
                class="strip-of-starts"
                width="100%"
                height={HEIGHT}
                overflow="visible"
                role="img"
                aria-label={`Starts of ${c.name}, first right answer: ${said}`}
              >
                {ticks.map((t) => (
                  <line key={t} class="grid" x1={pct(x(t))} x2={pct(x(t))} y1="0" y2={HEIGHT} />
                ))}
                {own.map((t) => (
                  <g key={`${t.block} ${t.position}`} class={t.valid ? "" : "faint"}>
                    {drawable(t.steady_ms) && shows(t.steady_ms) && t.steady_ms !== t.ready_ms && (
                      <circle
                        class="steady-at"
                        cx={pct(x(t.steady_ms))}
                        cy={MIDDLE}
                        r="3.5"
                        stroke={look(c.name).colour}
                      />
                    )}
                    {drawable(t.ready_ms) && shows(t.ready_ms) && (
                      <Mark look={look(c.name)} x={pct(x(t.ready_ms))} y={MIDDLE} size={0.8} />
                    )}
                  </g>
                ))}
                {c.ready_ms && drawable(c.ready_ms.median) && shows(c.ready_ms.median) && (
                  <line
                    class="median"
                    x1={pct(x(c.ready_ms.median))}
                    x2={pct(x(c.ready_ms.median))}
                    y1="2"
                    y2={HEIGHT - 2}
                  />
                )}
                <DrawnUp view={view} height={HEIGHT} />
              </svg>
              <span class="phrase">{said}</span>
            </div>
          );
        })}
      </div>
      <Zoom
        of="every start"
        zoomed={view.zoomed}
        zoom={view.zoom}
        shown={view.ends.map(duration).join(" to ")}
      />
      <p class="key">
        <span>
          <svg width="14" height="12" aria-hidden="true">
            <line class="median" x1="7" x2="7" y1="0" y2="12" />
          </svg>
          median of the first right answers
        </span>
        <span>
          <svg width="14" height="12" aria-hidden="true">
            <circle class="steady-at" cx="7" cy="6" r="3.5" stroke="currentColor" />
          </svg>
          the steady state begins
        </span>
        <span>Filled: a start's first right answer. Log scale.</span>
      </p>
    </>
  );
}
