import { useState } from "preact/hooks";
import { type PlacedOperation, prettyJson } from "./api-document.ts";
import { askServer, urlOf } from "./call-server.ts";

/** Longer answers are cut: the page is for people. */
const MAX_SHOWN = 20_000;
const MAX_LAID_OUT = 1_000_000;

interface Answered {
  readonly status: string;
  readonly text: string;
}

/** A form that sends a call and shows its answer, be it an error. */
export function OperationForm({ placed }: { readonly placed: PlacedOperation }) {
  const { method, path, operation } = placed;
  const names = (operation.parameters ?? []).map(({ name }) => name);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [body, setBody] = useState(() => exampleOf(placed));
  const [answered, setAnswered] = useState<Answered>();
  const [isSending, setSending] = useState(false);
  const hasBody = operation.requestBody !== undefined;
  const filled = path.slice(1).replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  const send = async (event: Event) => {
    event.preventDefault();
    setSending(true);
    setAnswered(await ask(filled, { method, ...(hasBody && { body }) }));
    setSending(false);
  };
  return (
    <form onSubmit={(event) => void send(event)} aria-label={`Try ${operation.summary}`}>
      <h3>Try it</h3>
      {names.map((name) => (
        <label key={name}>
          {name}
          <input
            value={values[name] ?? ""}
            required
            onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
          />
        </label>
      ))}
      {hasBody && (
        <label>
          Body, as JSON
          <textarea
            rows={Math.min(20, body.split("\n").length + 1)}
            value={body}
            spellcheck={false}
            onInput={(event) => setBody(event.currentTarget.value)}
          />
        </label>
      )}
      <div class="buttons">
        <button type="submit" disabled={isSending}>
          Send
        </button>
        <code>{urlOf(filled)}</code>
      </div>
      {answered !== undefined && (
        <section aria-label="Answer" aria-live="polite">
          <p>{answered.status}</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard */}
          <pre tabIndex={0}>{answered.text}</pre>
        </section>
      )}
    </form>
  );
}

function exampleOf({ operation: { requestBody } }: PlacedOperation): string {
  const { example = {} } = requestBody?.content["application/json"] ?? {};
  return JSON.stringify(example, null, 2);
}

async function ask(path: string, init: RequestInit): Promise<Answered> {
  const begin = performance.now();
  const headers = init.body === undefined ? {} : { "content-type": "application/json" };
  try {
    const response = await askServer(path, { ...init, headers });
    const text = await response.text();
    const ms = (performance.now() - begin).toFixed(1);
    return { status: `${response.status} ${response.statusText}, ${ms} ms`, text: shownOf(text) };
  } catch {
    return { status: "The server does not answer.", text: "" };
  }
}

/** The beginning of a text, in lines if it is JSON that is not too long for that. */
function shownOf(text: string): string {
  const lines = text.length > MAX_LAID_OUT ? text : prettyJson(text);
  return lines.length > MAX_SHOWN ? `${lines.slice(0, MAX_SHOWN)}…` : lines;
}
