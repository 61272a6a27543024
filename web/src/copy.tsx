/** The button that copies a table or a chart. */
import { useState } from "preact/hooks";

interface Props {
  /** the text of the button */
  text: string;
  /** its subject, for screen readers */
  of: string;
  make: (button: HTMLElement) => string;
}

/** Copies a text; if the browser does not allow that, it shows the text to be copied by hand. */
export function Copy({ text, of, make }: Props) {
  const [state, setState] = useState<"idle" | "copied" | { text: string }>("idle");
  const copy = async (button: HTMLElement) => {
    const made = make(button);
    try {
      await navigator.clipboard.writeText(made);
      setState("copied");
    } catch {
      setState({ text: made });
    }
  };
  return (
    <span class="copy">
      <button
        type="button"
        onClick={(e) => void copy(e.currentTarget)}
        aria-label={`${text}: ${of}`}
      >
        {text}
      </button>
      <span class="small" role="status">
        {state === "copied" ? "copied" : state === "idle" ? "" : "select it and copy it by hand:"}
      </span>
      {typeof state === "object" && (
        <textarea
          readOnly
          rows={2}
          aria-label={`${text}: ${of}`}
          value={state.text}
          ref={(area) => area?.select()}
        />
      )}
    </span>
  );
}
