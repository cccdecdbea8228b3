import { useEffect, useRef, useState } from "preact/hooks";
import type { PageTensor } from "../protocols/page/page-data.ts";
import { type OutputImage, outputImageOf, type TopClass, topClasses } from "./answer-forms.ts";
import { countOf, elementText, type FormTensor } from "./form-tensor.ts";
import { OverlayView, type SentImage } from "./overlay-view.tsx";
import type { PartedAnswer } from "./stream-parts.ts";

interface AnswerViewProps {
  readonly outputs: readonly FormTensor[];
  readonly ms: number;
  readonly specs: readonly PageTensor[];
}

/** Rows and columns of an output that are shown, and elements of it in the raw answer. */
const [MAX_ROWS, MAX_COLUMNS, MAX_RAW] = [20, 8, 1000];

/** The outputs of an answer, each in the form that suits it, and the answer as JSON. */
function AnswerView({ outputs, ms, specs }: AnswerViewProps) {
  return (
    <section aria-label="Answer">
      <h4>
        Answer <span class="facts">after {msText(ms)} in the browser</span>
      </h4>
      {outputs.map((output) => (
        <Output key={output.name} output={output} labels={specs.find(({ name }) => name === output.name)?.labels} />
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
        <Output key={output.name} output={output} labels={specs.find(({ name }) => name === output.name)?.labels} />
      ))}
      {error !== undefined && <p class="notice bad">{error}</p>}
    </section>
  );
}

function Output({ output, labels }: { readonly output: FormTensor; readonly labels: readonly string[] | undefined }) {
  const rows = topClasses(output, labels);
  const image = outputImageOf(output);
  return (
    <>
      {rows && <TopBars name={output.name} rows={rows} />}
      {image && <OutputImageView image={image} name={output.name} />}
      {!rows && !(image && "bytes" in image) && <Values output={output} />}
    </>
  );
}

/** The elements in rows. */
function Values({ output: { name, datatype, shape, values } }: { readonly output: FormTensor }) {
  const rowSize = sizeOfRow(shape);
  const rows = Math.min(rowSize === 0 ? 0 : values.length / rowSize, MAX_ROWS);
  const columns = Math.min(rowSize, MAX_COLUMNS);
  const isCut = values.length > rows * columns;
  return (
    <table>
      <caption>
        {name}: {datatype} [{shape.join(", ")}]{isCut && ", the first of its values"}
      </caption>
      <tbody>
        {Array.from({ length: rows }, (_, row) => (
          <tr key={row}>
            <th scope="row" class="facts">
              {row}
            </th>
            {values.slice(row * rowSize, row * rowSize + columns).map((value, column) => (
              <td key={column}>{elementText(value)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Elements of a row: those of the first size that is not a batch of one. */
function sizeOfRow(shape: readonly number[]): number {
  const [first, ...rest] = shape;
  if (rest.length > 1 && first === 1) return sizeOfRow(rest);
  return rest.length === 0 ? 1 : countOf(rest);
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

/** The best classes of each row, with bars. */
function TopBars({ name, rows }: { readonly name: string; readonly rows: readonly (readonly TopClass[])[] }) {
  return (
    <>
      {rows.map((row, index) => (
        <table class="bars" key={index}>
          <caption>
            {name}
            {rows.length > 1 && `, row ${index}`}: the highest scores
          </caption>
          <tbody>
            {row.map(({ index: place, label, score, part }) => (
              <tr key={place}>
                <th scope="row">{label ?? `class ${place}`}</th>
                <td class="bar">
                  <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                    <rect width={100 * part} height="8" rx="1" />
                  </svg>
                </td>
                <td class="score">{elementText(score)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
    </>
  );
}

/** An output that is an image. */
function OutputImageView({ image, name }: { readonly image: OutputImage; readonly name: string }) {
  return (
    <figure>
      {"bytes" in image ? <Encoded image={image} name={name} /> : <Pixels image={image} name={name} />}
      <figcaption class="facts">{name}</figcaption>
    </figure>
  );
}

function Encoded({ image, name }: { readonly image: Extract<OutputImage, { bytes: unknown }>; readonly name: string }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([image.bytes], { type: image.type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [image]);
  return url === "" ? null : <img src={url} alt={`Output ${name}`} />;
}

function Pixels({ image, name }: { readonly image: Extract<OutputImage, { pixels: unknown }>; readonly name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height, pixels } = image;
  useEffect(() => {
    canvas.current?.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [pixels, width, height]);
  return <canvas ref={canvas} width={width} height={height} role="img" aria-label={`Output ${name}`} />;
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
      {outputs !== undefined && image !== undefined && (
        <OverlayView outputs={outputs.filter((output) => !isOfClasses(output, specs))} image={image} />
      )}
      {outputs !== undefined && <AnswerView outputs={outputs} ms={ms} specs={specs} />}
    </>
  );
}

/** Scores of four to six classes have the form of a box. */
function isOfClasses({ name, shape }: FormTensor, specs: readonly PageTensor[]): boolean {
  return specs.find((spec) => spec.name === name)?.labels?.length === shape.at(-1);
}
