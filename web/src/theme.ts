/** The light or dark theme of the report. */
import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";

/** The theme of the reader's system until the reader chooses one; paper is always light. */
export function useTheme(): [theme: Theme, flip: () => void] {
  const [system, setSystem] = useState<Theme>(() =>
    matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
  );
  const [chosen, setChosen] = useState<Theme | null>(null);
  const [printing, setPrinting] = useState(false);
  const theme = printing ? "light" : (chosen ?? system);

  useEffect(() => {
    const watch = (query: string, changed: (matches: boolean) => void) => {
      const media = matchMedia(query);
      const listener = () => changed(media.matches);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    };
    const stops = [
      watch("(prefers-color-scheme: dark)", (dark) => setSystem(dark ? "dark" : "light")),
      watch("print", setPrinting),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, []);

  // not in an effect, as charts below read their colours before effects run
  document.documentElement.dataset.theme = theme;
  return [theme, () => setChosen(theme === "dark" ? "light" : "dark")];
}
