import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { indexText } from "../tensor/elements.ts";
import { type OutputImage, outputImageOf, type TopClass, topClasses } from "./answer-forms.ts";
import { countOf, elementText, type FormTensor } from "./form-tensor.ts";
import { summaryOf, summaryText, type ValueSummary } from "./value-summary.ts";

interface OutputViewProps {
  readonly output: FormTensor;
  /** Names of its classes. */
  readonly labels: readonly string[] | undefined;
}

/** One output in the form that suits it. */
export function OutputView({ output, labels }: OutputViewProps) {
  const rows = topClasses(output, labels);
  const image = outputImageOf(output);
  return (
    <>
      {rows && <TopBars name={output.name} rows={rows} />}
      {image && <OutputImageView image={image} name={output.name} />}
      {!rows && !(image && "bytes" in image) && <Values output={output} labels={labels} />}
    </>
  );
}

/** So many elements are a table; more are a summary, behind which the table is. */
const MAX_PLAIN = 32;
/** Rows and columns of an output that are shown. */
const [MAX_ROWS, MAX_COLUMNS] = [20, 8];

/** The elements: few as a table, many at a glance. */
function Values({ output, labels }: OutputViewProps) {
  const { name, datatype, shape, values } = output;
  if (values.length <= MAX_PLAIN) return <ValueTable output={output} />;
  const summary = summaryOf(output);
  return (
    <details class="many">
      <summary>
        <strong>{name}</strong>{" "}
        <span class="facts">
          {datatype} [{shape.join(", ")}], {values.length} values{summary && ` ${summaryText(summary)}`}
        </span>
        {summary && <Histogram name={name} summary={summary} />}
      </summary>
      {summary && <p>{greatestText(output, summary, labels)}</p>}
      <ValueTable output={output} />
    </details>
  );
}

/** The greatest value with its place, and the name of its class if the last size is that of the classes. */
function greatestText(
  { shape, values }: FormTensor,
  { high, greatest }: ValueSummary,
  labels: OutputViewProps["labels"],
) {
  const classes = shape.at(-1) ?? 0;
  const label = labels?.length === classes ? labels[greatest % classes] : undefined;
  const equals = values.filter((value) => Number(value) === high).length - 1;
  const others = equals === 0 ? "" : `; ${equals} more ${equals === 1 ? "is" : "are"} as great`;
  return `Greatest: ${elementText(high)} at ${indexText(greatest, shape)}${label === undefined ? "" : `, ${label}`}${others}`;
}

/** Height and width of a bar, in units of the picture. */
const [BAR_HEIGHT, BAR_WIDTH] = [24, 4];

function Histogram({ name, summary: { low, high, parts } }: { readonly name: string; readonly summary: ValueSummary }) {
  const most = Math.max(...parts);
  const width = parts.length * BAR_WIDTH;
  const said = `Histogram of ${name} from ${elementText(low)} to ${elementText(high)}: ${parts.join(", ")} values`;
  return (
    <svg
      class="histogram"
      viewBox={`0 0 ${width} ${BAR_HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={said}
    >
      {parts.map((count, part) => {
        // One value among many is still seen.
        const height = count === 0 ? 0 : Math.max(1, (BAR_HEIGHT * count) / most);
        return <rect key={part} x={part * BAR_WIDTH} y={BAR_HEIGHT - height} width={BAR_WIDTH - 0.5} height={height} />;
      })}
    </svg>
  );
}

/** The elements in rows. */
function ValueTable({ output: { name, datatype, shape, values } }: { readonly output: FormTensor }) {
  const rowSize = sizeOfRow(shape);
  const rows = Math.min(rowSize === 0 ? 0 : values.length / rowSize, MAX_ROWS);
  const columns = Math.min(rowSize, MAX_COLUMNS);
  const isCut = values.length > rows * columns;
  return (
    <div class="rows" tabIndex={columns > 1 ? 0 : undefined}>
      <table class={datatype === "BYTES" ? undefined : "numbers"}>
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
    </div>
  );
}

/** Elements of a row: those of the first size that is not a batch of one. */
function sizeOfRow(shape: readonly number[]): number {
  const [first, ...rest] = shape;
  if (rest.length > 1 && first === 1) return sizeOfRow(rest);
  return rest.length === 0 ? 1 : countOf(rest);
}

/** The best classes of each row, with bars. */
function TopBars({ name, rows }: { readonly name: string; readonly rows: readonly (readonly TopClass[])[] }) {
  return (
    <>
      {rows.map((row, index) => (
        <table class="bars" key={index}>
          <caption>
            {name}
            {rows.length > 1 && `, row ${index + 1}`}: the highest scores
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
export function OutputImageView({ image, name }: { readonly image: OutputImage; readonly name: string }) {
  return (
    <figure>
      {"bytes" in image ? <Encoded image={image} name={name} /> : <Pixels image={image} name={name} />}
      <figcaption class="facts">{name}</figcaption>
    </figure>
  );
}

function Encoded({ image, name }: { readonly image: Extract<OutputImage, { bytes: unknown }>; readonly name: string }) {
  const blob = useMemo(() => new Blob([image.bytes], { type: image.type }), [image]);
  const url = useObjectUrl(blob);
  return url === undefined ? null : <img src={url} alt={`Output ${name}`} />;
}

/** A URL of bytes for as long as they are shown: with it a browser keeps them. */
export function useObjectUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (blob === undefined) return undefined;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => {
      URL.revokeObjectURL(made);
      setUrl(undefined);
    };
  }, [blob]);
  return url;
}

function Pixels({ image, name }: { readonly image: Extract<OutputImage, { pixels: unknown }>; readonly name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height, pixels } = image;
  useEffect(() => {
    canvas.current?.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [pixels, width, height]);
  return <canvas ref={canvas} width={width} height={height} role="img" aria-label={`Output ${name}`} />;
}
