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
export async function* readParts(response: Response): AsyncGenerator<readonly FormTensor[]> {
  for await (const event of readEvents(response)) yield outputsOf(event);
}

/** The data of each event of an answer, as they come. */
export async function* readEvents({ body }: Response): AsyncGenerator<string> {
  // Not every browser goes through a stream by a loop.
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  /** Pieces of an event whose end has not come: joined once, since each look at a joined text copies it. */
  const pieces: string[] = [];
  let last = "";
  try {
    for (;;) {
      const { done, value = "" } = await reader.read();
      if (done) return;
      // An end may begin in one piece and end in the next.
      let text = last + value;
      for (let end = text.indexOf(EVENT_END); end >= 0; end = text.indexOf(EVENT_END)) {
        const event = pieces.splice(0).join("") + text.slice(0, end);
        text = text.slice(end + EVENT_END.length);
        if (event.startsWith(EVENT_START)) yield event.slice(EVENT_START.length);
      }
      pieces.push(text.slice(0, -1));
      last = text.slice(-1);
    }
  } finally {
    // The server writes on for a reader who has not left.
    await reader.cancel();
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

/** A call of a tool that an answer has made. */
interface ChatCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as far as it has come. */
  readonly arguments: string;
}

/** A message of a conversation, which an answer is as far as it has come. */
export interface ChatMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
  /** Data URIs. */
  readonly pictures?: readonly string[];
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly calls?: readonly ChatCall[];
  /** The call that it answers. */
  readonly call?: ChatCall;
  /** The reason of its end before its own: an error, or that it was stopped. */
  readonly end?: { readonly text: string; readonly isBad: boolean };
}

/** An answer of which nothing has come. */
export const NO_ANSWER: ChatMessage = { role: "assistant", text: "" };

/** An event of an answer to a conversation, in OpenAI's form. */
interface ChatChunk {
  readonly error?: { readonly message?: string };
  readonly choices?: readonly { readonly delta?: ChatDelta }[];
}
interface ChatDelta {
  readonly content?: string | null;
  readonly reasoning_content?: string;
  readonly refusal?: string;
  readonly tool_calls?: readonly {
    readonly index: number;
    readonly id?: string;
    readonly function?: { readonly name?: string; readonly arguments?: string };
  }[];
}

/** Characters of an answer that the page keeps: each look at it draws all of them. */
const MAX_ANSWER = 200_000;

/** The answer with one event more; throws an Error with the text of one, and for an answer without an end. */
export function withChunk(answer: ChatMessage, { error, choices }: ChatChunk): ChatMessage {
  if (error !== undefined) throw new Error(error.message ?? "The answer ended with an error.");
  const { content, reasoning_content: reasoning, refusal, tool_calls: more = [] } = choices?.[0]?.delta ?? {};
  const calls = [...(answer.calls ?? [])];
  for (const { index, id, function: part } of more) {
    const call = calls[index] ?? { id: id ?? String(index), name: part?.name ?? "", arguments: "" };
    calls[index] = { ...call, arguments: call.arguments + (part?.arguments ?? "") };
  }
  const all = [answer.text, answer.reasoning, answer.refusal, ...calls.map((call) => call.arguments)];
  if (all.reduce((sum, text = "") => sum + text.length, 0) > MAX_ANSWER)
    throw new Error(`The answer has more than ${MAX_ANSWER} characters; the page takes no more of it.`);
  return {
    ...answer,
    text: answer.text + (content ?? ""),
    ...(reasoning && { reasoning: (answer.reasoning ?? "") + reasoning }),
    ...(refusal && { refusal: (answer.refusal ?? "") + refusal }),
    ...(calls.length > 0 && { calls }),
  };
}
