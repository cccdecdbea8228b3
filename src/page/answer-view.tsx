import type { PageTensor } from "../protocols/page/page-data.ts";
import { elementText } from "./element-text.ts";
import { countOf, type FormTensor } from "./form-tensor.ts";
import { outputImageOf } from "./output-image.ts";
import { OutputImageView } from "./output-image-view.tsx";
import { TopBars } from "./top-bars.tsx";
import { topClasses } from "./top-classes.ts";

interface AnswerViewProps {
  readonly outputs: readonly FormTensor[];
  readonly ms: number;
  readonly specs: readonly PageTensor[];
}

/** Rows and columns of an output that are shown, and elements of it in the raw answer. */
const [MAX_ROWS, MAX_COLUMNS, MAX_RAW] = [20, 8, 1000];

/** The outputs of an answer, each in the form that suits it, and the answer as JSON. */
export function AnswerView({ outputs, ms, specs }: AnswerViewProps) {
  return (
    <section aria-label="Answer">
      <h4>
        Answer <span class="facts">after {ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms in the browser</span>
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
