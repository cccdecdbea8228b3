import { useEffect, useRef, useState } from "preact/hooks";
import {
  BOX_FORMS,
  type Box,
  type BoxForm,
  boxRowsOf,
  type ColourMap,
  guessForm,
  mapOf,
  type Sides,
  toBoxes,
} from "./answer-forms.ts";
import type { FormTensor } from "./form-tensor.ts";

/** The image that a request had. */
export interface SentImage {
  readonly url: string;
  /** The size that the model's input has; boxes in pixels count from it. Undefined = that of the image. */
  readonly sides: Sides | undefined;
}

/** The scores of boxes that are shown. */
const MIN_SCORE = 0.3;

/** What outputs of the forms of boxes and maps say, each over the image of the request. */
export function OverlayView({
  outputs,
  image,
}: {
  readonly outputs: readonly FormTensor[];
  readonly image: SentImage;
}) {
  return (
    <>
      {outputs.map((output) => (
        <Overlay key={output.name} output={output} image={image} />
      ))}
    </>
  );
}

function Overlay({ output, image }: { readonly output: FormTensor; readonly image: SentImage }) {
  const rows = boxRowsOf(output);
  if (rows !== undefined && rows.length > 0) return <Boxes name={output.name} rows={rows} image={image} />;
  const map = mapOf(output);
  return map === undefined ? null : <MapOver name={output.name} map={map} image={image} />;
}

interface BoxesProps {
  readonly name: string;
  readonly rows: readonly (readonly number[])[];
  readonly image: SentImage;
}

function Boxes({ name, rows, image }: BoxesProps) {
  const [form, setForm] = useState<BoxForm>(() => guessForm(rows));
  const [own, setOwn] = useState<Sides>({ width: 1, height: 1 });
  const boxes = toBoxes(rows, form, image.sides ?? own);
  const shown = boxes.filter((box) => (box.score ?? 1) >= MIN_SCORE && canBeDrawn(box));
  return (
    <figure>
      <div class="overlay">
        <img
          src={image.url}
          alt="Sent with the request"
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
            setOwn({ width: naturalWidth, height: naturalHeight })
          }
        />
        <svg viewBox="0 0 1 1" preserveAspectRatio="none" role="img" aria-label={`Boxes of ${name}: ${shown.length}`}>
          {shown.map(({ left, top, width, height, score, kind }, index) => (
            <rect key={index} x={left} y={top} width={width} height={height}>
              <title>{[kind !== undefined && `class ${kind}`, score?.toFixed(2)].filter(Boolean).join(", ")}</title>
            </rect>
          ))}
        </svg>
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

/** False for sides that are not finite, or in another order than the chosen one. */
function canBeDrawn({ left, top, width, height }: Box): boolean {
  return [left, top, width, height].every(Number.isFinite) && width >= 0 && height >= 0;
}

function MapOver({ name, map, image }: { readonly name: string; readonly map: ColourMap; readonly image: SentImage }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height, pixels } = map;
  useEffect(() => {
    canvas.current?.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [pixels, width, height]);
  return (
    <figure>
      <div class="overlay">
        <img src={image.url} alt="Sent with the request" />
        <canvas ref={canvas} width={width} height={height} role="img" aria-label={`Map of ${name}`} />
      </div>
      <figcaption class="facts">{name}, over the image</figcaption>
    </figure>
  );
}
