import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PageTensor, PageVersion } from "../protocols/page/page-data.ts";
import type { Sides } from "./answer-forms.ts";
import { type Outcome, OutcomeView } from "./answer-view.tsx";
import { callServer, isSignedIn, urlOf } from "./call-server.ts";
import { countOf, type FormTensor, inferRequest, readOutputs } from "./form-tensor.ts";
import { InputField } from "./input-field.tsx";
import { type InputState, toFormTensor } from "./input-state.ts";
import type { SentImage } from "./overlay-view.tsx";
import { parseFreeInputs } from "./parse-values.ts";
import { LANGUAGES, type Language, type SentRequest, snippet } from "./snippets.ts";
import { addPart, NO_PARTS, type PartedAnswer, readParts } from "./stream-parts.ts";

/** A form that runs a version of a model. */
export function TryIt({ shown }: { readonly shown: PageVersion }) {
  const { model, version, signatures, isDecoupled } = shown;
  const { inputs, stateOf, change, free, setFree } = useForm(shown);
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const [outcome, setOutcome] = useState<Outcome>({});
  const [isRunning, setRunning] = useState(false);
  const readInputs = (read = stateOf) =>
    inputs === undefined ? parseFreeInputs(free) : inputs.flatMap((one) => toFormTensor(one, read(one.name)) ?? []);
  const runInParts = async () => {
    const specs = signatures[0]?.outputs ?? [];
    stop.current = new AbortController();
    const { signal } = stop.current;
    setOutcome({});
    const answer = await inferParts({ shown, readInputs, signal, onGrown: (parts) => setOutcome({ parts, specs }) });
    setOutcome({ parts: answer, specs });
  };
  const runOnce = async () => {
    const image = sentImage(inputs ?? [], stateOf);
    const { outcome: ran, encoded } = await inferInEitherForm(shown, { inputs: inputs ?? [], stateOf, readInputs });
    for (const name of encoded) change(name, { ...stateOf(name), isEncoded: true });
    setOutcome({ ...ran, specs: signatures[0]?.outputs ?? [], image });
  };
  const run = async (event: Event) => {
    event.preventDefault();
    setRunning(true);
    await (isDecoupled ? runInParts() : runOnce());
    setRunning(false);
  };
  // Large ones are not drawn again whenever the page hears of the models.
  const answer = useMemo(() => <OutcomeView outcome={outcome} />, [outcome]);
  return (
    <section aria-labelledby="try">
      <h3 id="try">Try it</h3>
      <form onSubmit={(event) => void run(event)}>
        {inputs?.map((tensor) => (
          <InputField
            key={tensor.name}
            tensor={tensor}
            value={stateOf(tensor.name)}
            onChange={(state) => change(tensor.name, state)}
          />
        ))}
        {inputs === undefined && (
          <label>
            Inputs by name, as JSON
            <textarea
              rows={4}
              spellcheck={false}
              value={free}
              onInput={(event) => setFree(event.currentTarget.value)}
            />
          </label>
        )}
        <div class="buttons">
          <button type="submit" class="main" disabled={isRunning}>
            {isRunning ? "Running …" : "Run"}
          </button>
          {isDecoupled && (
            <button type="button" disabled={!isRunning} onClick={() => stop.current?.abort()}>
              Stop
            </button>
          )}
        </div>
      </form>
      <div aria-live="polite">{answer}</div>
      {/* Those programs take one answer. */}
      {!isDecoupled && (
        <SnippetsView
          readRequest={() => ({ base: urlOf("./"), model, version, inputs: readInputs(), isSignedIn: isSignedIn() })}
        />
      )}
    </section>
  );
}

/** The first image among the inputs, with the size that its input has in the model. */
function sentImage(inputs: readonly PageTensor[], stateOf: (name: string) => InputState): SentImage | undefined {
  const sent = inputs.find(({ name }) => stateOf(name).file?.imageUrl !== undefined);
  const url = sent && stateOf(sent.name).file?.imageUrl;
  return url === undefined ? undefined : { url, sides: sidesOf(sent?.shape ?? []) };
}

/** Height and width of an input of images: the two sizes that are not channels. */
function sidesOf(shape: readonly number[]): Sides | undefined {
  const [height = -1, width = -1] = shape.slice(-3).filter((size) => size !== 1 && size !== 3);
  return height > 4 && width > 4 ? { width, height } : undefined;
}

interface FormReader {
  readonly inputs: readonly PageTensor[];
  readonly stateOf: (name: string) => InputState;
  readonly readInputs: (read?: (name: string) => InputState) => readonly FormTensor[];
}

/** Failures of a model that takes texts of base64, and got a file as it is. */
const WANTS_BASE64 = /base64/i;

/** Runs a request; once more with its files as texts if the model fails to decode them. */
async function inferInEitherForm(shown: PageVersion, { inputs, stateOf, readInputs }: FormReader) {
  const first = await infer(shown, readInputs);
  const files = inputs.filter(({ name, datatype }) => datatype === "BYTES" && stateOf(name).file !== undefined);
  const encoded = files.map(({ name }) => name).filter((name) => stateOf(name).isEncoded !== true);
  if (encoded.length === 0 || !WANTS_BASE64.test(first.error ?? "")) return { outcome: first, encoded: [] };
  const asTexts = (name: string) => ({ ...stateOf(name), ...(encoded.includes(name) && { isEncoded: true }) });
  const second = await infer(shown, () => readInputs(asTexts));
  return second.error === undefined ? { outcome: second, encoded } : { outcome: first, encoded: [] };
}

async function infer({ model, version }: PageVersion, readInputs: () => readonly FormTensor[]): Promise<Outcome> {
  try {
    const request = inferRequest(readInputs());
    const started = performance.now();
    const response = await callServer(`v2/models/${encodeURIComponent(model)}/versions/${version}/infer`, request);
    const body = await response.arrayBuffer();
    const ms = performance.now() - started;
    return { outputs: readOutputs(body, response.headers.get("inference-header-content-length")), ms };
  } catch (reason) {
    return { error: reason instanceof Error ? reason.message : String(reason) };
  }
}

/** A request of a form for parts. */
interface PartsRequest {
  readonly shown: PageVersion;
  readonly readInputs: () => readonly FormTensor[];
  /** Aborts when a person has had enough. */
  readonly signal: AbortSignal;
  /** Takes the answer as it grows, as often as the screen shows it. */
  readonly onGrown: (answer: PartedAnswer) => void;
}

/** Runs a request whose answer comes in parts; resolves with all of it, also if it ends with an error. */
async function inferParts({ shown, readInputs, signal, onGrown }: PartsRequest): Promise<PartedAnswer> {
  const { model, version } = shown;
  const started = performance.now();
  let answer = NO_PARTS;
  let frame: number | undefined;
  const told = () => ({ ...answer, ms: performance.now() - started });
  const show = () => {
    frame = undefined;
    onGrown(told());
  };
  try {
    const path = `v2/models/${encodeURIComponent(model)}/versions/${version}/infer_stream`;
    const response = await callServer(path, { ...inferRequest(readInputs()), signal });
    for await (const outputs of readParts(response)) {
      answer = addPart(answer, outputs);
      frame ??= requestAnimationFrame(show);
    }
    return told();
  } catch (reason) {
    if (signal.aborted) return { ...told(), isStopped: true };
    return { ...told(), error: reason instanceof Error ? reason.message : String(reason) };
  } finally {
    if (frame !== undefined) cancelAnimationFrame(frame);
  }
}

/** The form's request as a program, to copy. */
function SnippetsView({ readRequest }: { readonly readRequest: () => SentRequest }) {
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

type States = ReadonlyMap<string, InputState>;

/** Entries of the forms by version, for when the page comes back to them. */
const written = new Map<string, { readonly entered: States; readonly free: string }>();
const NOTHING = { entered: new Map(), free: '{"x": [1, 2, 3]}' } as const;

/** The fields of a version's form, which begin with values that run; `free` has inputs of any names. */
function useForm({ model, version, signatures }: PageVersion) {
  const inputs = signatures[0]?.inputs;
  // A version that is loaded again may have others.
  const declared = JSON.stringify(inputs);
  const [found, setFound] = useState<readonly ExampleInput[]>([]);
  const key = `${model}/${version}`;
  const [{ entered, free }, setForm] = useState(written.get(key) ?? NOTHING);
  useEffect(() => void written.set(key, { entered, free }), [key, entered, free]);
  useEffect(() => {
    const stop = new AbortController();
    const path = `ui/models/${encodeURIComponent(model)}/versions/${version}/example`;
    callServer(path, { signal: stop.signal })
      .then(async (response) => setFound(((await response.json()) as { inputs: readonly ExampleInput[] }).inputs))
      // Fields have values of the declared shapes, then.
      .catch(() => setFound([]));
    return () => stop.abort();
  }, [model, version, declared]);
  const stateOf = (name: string): InputState => {
    const tensor = inputs?.find((one) => one.name === name);
    const first =
      tensor &&
      exampleField(
        tensor,
        found.find((one) => one.name === name),
      );
    return entered.get(name) ?? { shape: "", values: "", ...first, isOmitted: tensor?.isOptional === true };
  };
  const change = (name: string, state: InputState) =>
    setForm((form) => ({ ...form, entered: new Map(form.entered).set(name, state) }));
  const setFree = (text: string) => setForm((form) => ({ ...form, free: text }));
  return { inputs, stateOf, change, free, setFree };
}

/** An example of an input, as the server has found it. */
interface ExampleInput {
  readonly name: string;
  readonly shape: readonly number[];
  /** A number, or a text. */
  readonly element: number | string;
}

/** Up to so many elements are written out, for people to change. */
const MAX_WRITTEN = 24;

/** The first texts of an input's fields: values with which a model probably runs. */
function exampleField(
  { datatype, shape: declared = [1] }: PageTensor,
  found: ExampleInput | undefined,
): { readonly shape: string; readonly values: string } {
  const shape = found?.shape ?? declared.map((size) => (size < 0 ? 1 : size));
  const element = found?.element ?? (datatype === "BYTES" ? "text" : 0);
  if (datatype === "BYTES") return { shape: shape.join(", "), values: String(element) };
  const value = datatype === "BOOL" ? element === 1 : element;
  if (countOf(shape) > MAX_WRITTEN) return { shape: shape.join(", "), values: JSON.stringify(value) };
  const nested = shape.reduceRight<unknown>((inner, size) => new Array(size).fill(inner), value);
  return { shape: shape.join(", "), values: JSON.stringify(nested) };
}
