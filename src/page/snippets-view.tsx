import { useState } from "preact/hooks";
import { LANGUAGES, type Language, type SentRequest, snippet } from "./snippets.ts";

/** The form's request as a program, to copy. */
export function SnippetsView({ readRequest }: { readonly readRequest: () => SentRequest }) {
  const [language, setLanguage] = useState<Language>("curl");
  const [told, setTold] = useState("");
  const [isOpen, setOpen] = useState(false);
  const text = isOpen ? textOf(language, readRequest) : "";
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setTold("Copied."),
      () => setTold("The browser does not let this page copy; select the text."),
    );
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same request as a program</summary>
      <div class="buttons">
        <label class="inline">
          Language{" "}
          <select value={language} onChange={(event) => setLanguage(event.currentTarget.value as Language)}>
            {LANGUAGES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        {/* Browsers have a clipboard for pages over TLS or of this machine alone. */}
        {"clipboard" in navigator && (
          <button type="button" onClick={() => void copy()}>
            Copy
          </button>
        )}
        <span class="facts" role="status">
          {told}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}

function textOf(language: Language, readRequest: () => SentRequest): string {
  try {
    return snippet(language, readRequest());
  } catch (reason) {
    return reason instanceof Error ? reason.message : String(reason);
  }
}
