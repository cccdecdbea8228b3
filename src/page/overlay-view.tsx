import { useEffect, useRef, useState } from "preact/hooks";
import type { PageTensor } from "../protocols/page/page-data.ts";
import type { FormTensor } from "./form-tensor.ts";
import { useObjectUrl } from "./output-view.tsx";
import {
  BOX_FORMS,
  type Box,
  type BoxForm,
  type BoxNote,
  boxNotes,
  boxRowsOf,
  type ColourMap,
  guessForm,
  mapOf,
  type NamedOutput,
  type Sides,
  toBoxes,
} from "./overlay-forms.ts";

/** The image that a request had. */
export interface SentImage {
  readonly blob: Blob;
  /** The size that the model's input has; boxes in pixels count from it. Undefined = that of the image. */
  readonly sides: Sides | undefined;
}

/** The scores of boxes that are shown. */
const MIN_SCORE = 0.3;

interface OverlaysProps {
  readonly outputs: readonly FormTensor[];
  readonly specs: readonly PageTensor[];
  readonly image: SentImage;
}

/** What outputs of the forms of boxes and maps say, each over the image of the request. */
export function OverlayView({ outputs, specs, image }: OverlaysProps) {
  const all = outputs.map((output) => ({ output, labels: specs.find(({ name }) => name === output.name)?.labels }));
  return (
    <>
      {all
        .filter((named) => !isOfClasses(named))
        .map((named) => (
          <Overlay key={named.output.name} named={named} all={all} image={image} />
        ))}
    </>
  );
}

/** Scores of four to six classes have the form of a box. */
function isOfClasses({ output, labels }: NamedOutput): boolean {
  return labels?.length === output.shape.at(-1);
}

interface OverlayProps {
  readonly named: NamedOutput;
  readonly all: readonly NamedOutput[];
  readonly image: SentImage;
}

function Overlay({ named, all, image }: OverlayProps) {
  const { output } = named;
  const rows = boxRowsOf(output);
  if (rows !== undefined && rows.length > 0) {
    const notes = boxNotes(
      rows.length,
      all.filter((other) => other !== named),
    );
    return <Boxes named={named} rows={rows} notes={notes} image={image} />;
  }
  const map = mapOf(output, image.sides);
  return map === undefined ? null : <MapOver name={output.name} map={map} image={image} />;
}

interface BoxesProps {
  readonly named: NamedOutput;
  readonly rows: readonly (readonly number[])[];
  readonly notes: readonly BoxNote[];
  readonly image: SentImage;
}

/** A box that is drawn, with its row in the output and the words on it. */
interface ShownBox extends Box {
  readonly row: number;
  readonly text: string;
}

function Boxes({ named, rows, notes, image }: BoxesProps) {
  const { name } = named.output;
  const [form, setForm] = useState<BoxForm>(() => guessForm(rows));
  const [own, setOwn] = useState<Sides>({ width: 1, height: 1 });
  const url = useObjectUrl(image.blob);
  const boxes = toBoxes(rows, form, image.sides ?? own).map((box, row) => withText(box, { row, named, notes }));
  const shown = boxes.filter((box) => (box.score ?? 1) >= MIN_SCORE && canBeDrawn(box));
  return (
    <figure>
      <div class="overlay">
        <img
          src={url}
          alt="Sent with the request"
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
            setOwn({ width: naturalWidth, height: naturalHeight })
          }
        />
        <svg viewBox="0 0 1 1" preserveAspectRatio="none" role="img" aria-label={`Boxes of ${name}: ${shown.length}`}>
          {shown.map(({ left, top, width, height, row, text }) => (
            <rect key={row} x={left} y={top} width={width} height={height}>
              <title>{text}</title>
            </rect>
          ))}
        </svg>
        <Tags name={name} boxes={shown} />
      </div>
      <figcaption class="facts">
        {name}: {shown.length} of {boxes.length} boxes
        {boxes[0]?.score !== undefined && `, with a score of ${MIN_SCORE} or more`}
        <label class="inline">
          {" "}
          as{" "}
          <select value={form} onChange={(event) => setForm(event.currentTarget.value as BoxForm)}>
            {BOX_FORMS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      </figcaption>
    </figure>
  );
}

interface BoxFacts {
  readonly row: number;
  readonly named: NamedOutput;
  readonly notes: readonly BoxNote[];
}

/** The box with its class, its score, and what other outputs say of it, as far as they are known. */
function withText(box: Box, { row, named, notes }: BoxFacts): ShownBox {
  const { kind } = box;
  const { score = box.score, texts } = notes[row] ?? { texts: [] };
  const own = box.score ?? score;
  const known = [
    ...(kind === undefined ? [] : [named.labels?.[kind] ?? `class ${kind}`]),
    ...(own === undefined ? [] : [own.toFixed(2)]),
    ...texts,
  ];
  return { ...box, score: own, row, text: known.join(", ") };
}

/** Boxes that have a tag: more would hide the image. */
const MAX_TAGS = 40;

/** The rows of the boxes and the words on them, each at its box. */
function Tags({ name, boxes }: { readonly name: string; readonly boxes: readonly ShownBox[] }) {
  const best = boxes.toSorted((a, b) => (b.score ?? 1) - (a.score ?? 1)).slice(0, MAX_TAGS);
  return (
    <ol class="tags" aria-label={`What is said of the boxes of ${name}`}>
      {best.map((box) => (
        <li key={box.row} style={placeOfTag(box)}>
          {box.text === "" ? box.row : `${box.row}: ${box.text}`}
        </li>
      ))}
    </ol>
  );
}

/** At the box's upper corner on the side with more room, within the image. */
function placeOfTag({ left, top, width }: Box) {
  const percent = (part: number) => `${100 * Math.max(0, Math.min(part, 0.95))}%`;
  const isLeft = left + width / 2 < 0.5;
  return { top: percent(top), ...(isLeft ? { left: percent(left) } : { right: percent(1 - left - width) }) };
}

/** False for sides that are not finite, or in another order than the chosen one. */
function canBeDrawn({ left, top, width, height }: Box): boolean {
  return [left, top, width, height].every(Number.isFinite) && width >= 0 && height >= 0;
}

function MapOver({ name, map, image }: { readonly name: string; readonly map: ColourMap; readonly image: SentImage }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const url = useObjectUrl(image.blob);
  const { width, height, pixels } = map;
  useEffect(() => {
    canvas.current?.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [pixels, width, height]);
  return (
    <figure>
      <div class="overlay">
        <img src={url} alt="Sent with the request" />
        <canvas ref={canvas} width={width} height={height} role="img" aria-label={`Map of ${name}`} />
      </div>
      <figcaption class="facts">{name}, over the image</figcaption>
    </figure>
  );
}
