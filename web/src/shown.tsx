/** Which contenders are hidden or highlighted, in all charts at once. */
import { type ComponentChildren, createContext } from "preact";
import { useContext, useMemo, useState } from "preact/hooks";
import { Name } from "./identity";

/** The hidden contenders, which every chart leaves out. */
interface Choice {
  hidden: ReadonlySet<string>;
  toggle: (name: string) => void;
  hide: (names: readonly string[]) => void;
  showAll: () => void;
}

const NONE: ReadonlySet<string> = new Set();
const Chosen = createContext<Choice>({
  hidden: NONE,
  toggle: () => {},
  hide: () => {},
  showAll: () => {},
});
/** Separate from the choice, as it changes with every move of the pointer. */
const Pointed = createContext<{ strong: string | null; point: (name: string | null) => void }>({
  strong: null,
  point: () => {},
});

export function Shown({ children }: { children: ComponentChildren }) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(NONE);
  const [strong, point] = useState<string | null>(null);
  const choice = useMemo<Choice>(
    () => ({
      hidden,
      toggle: (name) => {
        const next = new Set(hidden);
        if (!next.delete(name)) next.add(name);
        setHidden(next);
      },
      hide: (names) => setHidden(new Set([...hidden, ...names])),
      showAll: () => setHidden(NONE),
    }),
    [hidden],
  );
  const pointed = useMemo(
    () => ({ strong: strong !== null && hidden.has(strong) ? null : strong, point }),
    [strong, hidden],
  );
  return (
    <Chosen.Provider value={choice}>
      <Pointed.Provider value={pointed}>{children}</Pointed.Provider>
    </Chosen.Provider>
  );
}

export const useHidden = (): ReadonlySet<string> => useContext(Chosen).hidden;
/** The highlighted contender, if the pointer is on one. */
export const useStrong = (): string | null => useContext(Pointed).strong;

/** One button for each contender, which hides it in every chart of the report. */
export function Legend({
  names,
  note,
}: {
  names: readonly string[];
  note?: (name: string) => string;
}) {
  const { hidden, toggle, hide, showAll } = useContext(Chosen);
  const { point } = useContext(Pointed);
  return (
    <div class="legend" role="group" aria-label="Show or hide a contender in every chart">
      {names.map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={!hidden.has(name)}
          onClick={() => toggle(name)}
          onPointerEnter={() => point(name)}
          onPointerLeave={() => point(null)}
          onFocus={() => point(name)}
          onBlur={() => point(null)}
        >
          <Name name={name} />
          {note && <small> {note(name)}</small>}
        </button>
      ))}
      {names.length > 2 && (
        <span class="legend-all">
          <button
            type="button"
            aria-disabled={!names.some((name) => hidden.has(name))}
            onClick={showAll}
          >
            Show all
          </button>
          <button
            type="button"
            aria-disabled={names.every((name) => hidden.has(name))}
            onClick={() => hide(names)}
          >
            Hide all
          </button>
        </span>
      )}
    </div>
  );
}
