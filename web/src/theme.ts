import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";

/** The reader's system decides until the reader does; paper is always light. */
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

  // set before the charts below read their colours, hence not in an effect
  document.documentElement.dataset.theme = theme;
  return [theme, () => setChosen(theme === "dark" ? "light" : "dark")];
}
