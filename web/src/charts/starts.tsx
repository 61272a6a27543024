/** Every start on one axis: first correct response and steady state. */
import { scaleLog } from "d3-scale";
import { duration, startUp } from "../format";
import { Mark, Name, useLook } from "../identity";
import type { Contender, Trial } from "../page";
import { pct } from "./plane";
import { drawable, logTicks } from "./scales";
import { DrawnUp, useStretch, type View, Zoom } from "./stretch";

const HEIGHT = 26;
const MIDDLE = HEIGHT / 2;

/** Every start: the first correct response and the steady state, from the start of its process. */
export function Starts({ trials, contenders }: { trials: Trial[]; contenders: Contender[] }) {
  const all = trials.flatMap((t) => [t.ready_ms, t.steady_ms]).filter(drawable);
  const low = all.reduce((a, b) => Math.min(a, b), Infinity);
  const high = all.reduce((a, b) => Math.max(a, b), 0);
  const whole = scaleLog()
    .domain(all.length === 0 ? [1, 10] : [low / 1.15, high * 1.15])
    .range([0, 100])
    .clamp(true);
  const view = useStretch({ x: whole, at: (place) => whole.invert(place) }, "starts");
  if (all.length === 0) return <p class="empty">No start with a correct response was recorded.</p>;
  const { x } = view;
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
          <span class="small">first correct response</span>
        </div>
        {started.map((c) => (
          <StartsOf
            key={c.name}
            contender={c}
            trials={trials.filter((t) => t.contender === c.name)}
            ticks={ticks}
            view={view}
          />
        ))}
      </div>
      <Zoom
        of="every start"
        zoomed={view.zoomed}
        zoom={view.zoom}
        shown={view.ends.map(duration).join(" to ")}
      />
      <StartsKey />
    </>
  );
}

/** The starts of one contender, with the median of their first correct responses. */
function StartsOf({
  contender,
  trials,
  ticks,
  view,
}: {
  contender: Contender;
  trials: Trial[];
  ticks: readonly number[];
  view: View;
}) {
  const look = useLook()(contender.name);
  const { x, shows } = view;
  const text = startUp(contender);
  const median = contender.ready_ms?.median ?? null;
  return (
    <div class="forest-row">
      <Name name={contender.name} />
      <svg
        class="strip-of-starts"
        width="100%"
        height={HEIGHT}
        overflow="visible"
        role="img"
        aria-label={`Starts of ${contender.name}, first correct response: ${text}`}
      >
        {ticks.map((t) => (
          <line key={t} class="grid" x1={pct(x(t))} x2={pct(x(t))} y1="0" y2={HEIGHT} />
        ))}
        {trials.map((t) => (
          <g key={`${t.block} ${t.position}`} class={t.valid ? "" : "faint"}>
            {drawable(t.steady_ms) && shows(t.steady_ms) && t.steady_ms !== t.ready_ms && (
              <circle
                class="steady-at"
                cx={pct(x(t.steady_ms))}
                cy={MIDDLE}
                r="3.5"
                stroke={look.colour}
              />
            )}
            {drawable(t.ready_ms) && shows(t.ready_ms) && (
              <Mark look={look} x={pct(x(t.ready_ms))} y={MIDDLE} size={0.8} />
            )}
          </g>
        ))}
        {drawable(median) && shows(median) && (
          <line class="median" x1={pct(x(median))} x2={pct(x(median))} y1="2" y2={HEIGHT - 2} />
        )}
        <DrawnUp view={view} height={HEIGHT} />
      </svg>
      <span class="phrase">{text}</span>
    </div>
  );
}

/** Explains the marks. */
function StartsKey() {
  return (
    <p class="key">
      <span>
        <svg width="14" height="12" aria-hidden="true">
          <line class="median" x1="7" x2="7" y1="0" y2="12" />
        </svg>
        median of the first correct responses
      </span>
      <span>
        <svg width="14" height="12" aria-hidden="true">
          <circle class="steady-at" cx="7" cy="6" r="3.5" stroke="currentColor" />
        </svg>
        the steady state begins
      </span>
      <span>Filled: the first correct response of a start. Log scale.</span>
    </p>
  );
}
