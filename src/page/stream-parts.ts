import { parseExactJson } from "../tensor/codecs/json/tensor-from-json.ts";
import { type OutputImage, outputImageOf } from "./answer-forms.ts";
import type { Element, FormTensor } from "./form-tensor.ts";

/** An answer in parts, as far as it has come. */
export interface PartedAnswer {
  readonly count: number;
  /** Outputs of one text, by name: what all parts say together. */
  readonly texts: ReadonlyMap<string, string>;
  /** The newest outputs that are images. */
  readonly images: readonly PartImage[];
  /** The other outputs of the newest part. */
  readonly newest: readonly FormTensor[];
  readonly ms: number;
  readonly isStopped: boolean;
  /** The server's words, if it ended before its end. */
  readonly error?: string;
}

interface PartImage {
  readonly part: number;
  readonly name: string;
  readonly image: OutputImage;
}

/** Characters of a text that are kept, of its end, and images. */
const [MAX_CHARACTERS, MAX_IMAGES] = [100_000, 24];

/** An answer of which nothing has come. */
export const NO_PARTS: PartedAnswer = {
  count: 0,
  texts: new Map(),
  images: [],
  newest: [],
  ms: 0,
  isStopped: false,
};

/** The answer with one part more. */
export function addPart(answer: PartedAnswer, outputs: readonly FormTensor[]): PartedAnswer {
  const count = answer.count + 1;
  const texts = new Map(answer.texts);
  const images = [...answer.images];
  const newest: FormTensor[] = [];
  for (const output of outputs) {
    const { name, values } = output;
    const image = outputImageOf(output);
    const [first] = values;
    if (image !== undefined) images.push({ part: count, name, image });
    else if (values.length === 1 && typeof first === "string")
      texts.set(name, `${texts.get(name) ?? ""}${first}`.slice(-MAX_CHARACTERS));
    else newest.push(output);
  }
  return { ...answer, count, texts, images: images.slice(-MAX_IMAGES), newest };
}

const [EVENT_START, EVENT_END] = ["data: ", "\n\n"];

/** The outputs of each part of an answer of infer_stream, as they come; throws an Error with the text of one. */
export async function* readParts({ body }: Response): AsyncGenerator<readonly FormTensor[]> {
  // Not every browser goes through a stream by a loop.
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  /** Pieces of an event whose end has not come: joined once, since each look at a joined text copies it. */
  const pieces: string[] = [];
  let last = "";
  for (;;) {
    const { done, value = "" } = await reader.read();
    if (done) return;
    // An end may begin in one piece and end in the next.
    let text = last + value;
    for (let end = text.indexOf(EVENT_END); end >= 0; end = text.indexOf(EVENT_END)) {
      const event = pieces.splice(0).join("") + text.slice(0, end);
      text = text.slice(end + EVENT_END.length);
      if (event.startsWith(EVENT_START)) yield outputsOf(event.slice(EVENT_START.length));
    }
    pieces.push(text.slice(0, -1));
    last = text.slice(-1);
  }
}

interface WirePart {
  readonly error?: string;
  readonly outputs?: readonly (Omit<FormTensor, "values"> & { readonly data: readonly WireElement[] })[];
}

type WireElement = number | boolean | string | { readonly b64: string };

function outputsOf(json: string): readonly FormTensor[] {
  const { error, outputs = [] } = parseExactJson(json) as WirePart;
  if (error !== undefined) throw new Error(error);
  return outputs.map(({ name, datatype, shape, data }) => {
    return { name, datatype, shape, values: data.map((element) => toElement(datatype, element)) };
  });
}

/** Bytes that are no text are in base64, and numbers that JSON has no words for are texts. */
function toElement(datatype: string, element: WireElement): Element {
  if (typeof element === "object") return Uint8Array.from(atob(element.b64), (character) => character.charCodeAt(0));
  if (typeof element !== "string" || datatype === "BYTES") return element;
  return datatype.endsWith("INT64") ? BigInt(element) : Number(element);
}
