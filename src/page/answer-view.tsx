import type { PageTensor } from "../protocols/page/page-data.ts";
import { elementText, type FormTensor } from "./form-tensor.ts";
import { OutputImageView, OutputView } from "./output-view.tsx";
import { OverlayView, type SentImage } from "./overlay-view.tsx";
import type { PartedAnswer } from "./stream-parts.ts";

interface AnswerViewProps {
  readonly outputs: readonly FormTensor[];
  readonly ms: number;
  readonly specs: readonly PageTensor[];
}

/** Elements of an output in the raw answer. */
const MAX_RAW = 1000;

/** The outputs of an answer, each in the form that suits it, and the answer as JSON. */
function AnswerView({ outputs, ms, specs }: AnswerViewProps) {
  return (
    <section aria-label="Answer">
      <h4>
        Answer <span class="facts">after {msText(ms)} in the browser</span>
      </h4>
      {outputs.map((output) => (
        <OutputView key={output.name} output={output} labels={specs.find(({ name }) => name === output.name)?.labels} />
      ))}
      <details>
        <summary>As JSON</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard */}
        <pre tabIndex={0}>{rawText(outputs)}</pre>
      </details>
    </section>
  );
}

function msText(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

interface PartsViewProps {
  readonly answer: PartedAnswer;
  readonly specs: readonly PageTensor[];
}

/** An answer in parts: texts that grow, an image for each part, and all else of the newest one. */
function PartsView({ answer, specs }: PartsViewProps) {
  const { count, texts, images, newest, ms, isStopped, error } = answer;
  return (
    <section aria-label="Answer">
      <h4>
        Answer{" "}
        <span class="facts">
          {count === 1 ? "1 part" : `${count} parts`} in {msText(ms)} in the browser{isStopped && ", stopped"}
        </span>
      </h4>
      {[...texts].map(([name, text]) => (
        <figure key={name}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard */}
          <pre tabIndex={0} class="grown">
            {text}
          </pre>
          <figcaption class="facts">{name}</figcaption>
        </figure>
      ))}
      {images.length > 0 && (
        <div class="part-images">
          {images.map(({ part, name, image }) => (
            <OutputImageView key={`${part} ${name}`} image={image} name={`${name}, part ${part}`} />
          ))}
        </div>
      )}
      {newest.map((output) => (
        <OutputView key={output.name} output={output} labels={specs.find(({ name }) => name === output.name)?.labels} />
      ))}
      {error !== undefined && <p class="notice bad">{error}</p>}
    </section>
  );
}

function rawText(outputs: readonly FormTensor[]): string {
  const plain = outputs.map(({ name, datatype, shape, values }) => ({
    ...{ name, datatype, shape },
    data: values
      .slice(0, MAX_RAW)
      .map((value) => (typeof value === "number" || typeof value === "boolean" ? value : elementText(value))),
    ...(values.length > MAX_RAW && { omitted: values.length - MAX_RAW }),
  }));
  return JSON.stringify({ outputs: plain }, undefined, 1).replace(/\n\s+(?=[^\s"{}[\]][^\n]*|"[^"\n]*",?\n)/g, " ");
}

/** An answer, or why there is none. */
export interface Outcome {
  readonly outputs?: readonly FormTensor[];
  /** What is known of the outputs. */
  readonly specs?: readonly PageTensor[];
  readonly error?: string;
  readonly ms?: number;
  /** In place of outputs, if they come in parts. */
  readonly parts?: PartedAnswer;
  /** The image that was sent. */
  readonly image?: SentImage | undefined;
}

/** An answer with what it says of the image, or an error. */
export function OutcomeView({ outcome }: { readonly outcome: Outcome }) {
  const { outputs, specs = [], error, ms = 0, image, parts } = outcome;
  return (
    <>
      {parts !== undefined && <PartsView answer={parts} specs={specs} />}
      {error !== undefined && <p class="notice bad">{error}</p>}
      {outputs !== undefined && image !== undefined && <OverlayView outputs={outputs} specs={specs} image={image} />}
      {outputs !== undefined && <AnswerView outputs={outputs} ms={ms} specs={specs} />}
    </>
  );
}
