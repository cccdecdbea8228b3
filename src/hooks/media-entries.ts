import { types } from "node:util";
import { kindOf } from "../platform/text/kind-of.ts";
import { toJsonText } from "../tensor/json-text.ts";
import { isObject } from "../tensor/record.ts";
import { isTensor } from "../tensor/tensor.ts";
import { checkMembers, type Refuse, refusal, toUsage } from "./given-members.ts";
import type { RawResult, RawStream } from "./raw-entry.ts";
import { mapParts, partsOf } from "./raw-parts.ts";

const ANY_BYTES = "application/octet-stream";

/** Segments or words of one part: as many as an answer keeps. */
const MAX_SPANS = 32 * 1024;

/** Checks the times in a part of a transcript, whose text is that of its segments unless it has one. */
export function toTranscript(part: Readonly<Record<string, unknown>>, refuse: Refuse): object {
  const { segments, words, language, duration } = part;
  if (language !== undefined && typeof language !== "string")
    throw refuse(`${kindOf(language)} as language`, "a text such as en");
  if (duration !== undefined && !isSeconds(duration))
    throw refuse(`${numberOr(duration)} as duration`, "seconds, 0 or more");
  const spans = toSpans("segments", segments, "text", refuse);
  const text = part.text ?? spans?.map((span) => span.text).join("");
  return { text, segments: spans, words: toSpans("words", words, "word", refuse) };
}

function isSeconds(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function toSpans(place: string, spans: unknown, member: "text" | "word", refuse: Refuse) {
  if (spans === undefined) return undefined;
  const example = `{ start: 0, end: 1.5, ${member}: "Hi" }, with seconds`;
  if (!Array.isArray(spans)) throw refuse(`${kindOf(spans)} as ${place}`, `a list of objects such as ${example}`);
  if (spans.length > MAX_SPANS) throw refuse(`${spans.length} ${place} at once`, `${MAX_SPANS} at most`);
  // A list may have holes, which its own methods leave out.
  return Array.from(spans, (span: unknown, index) => {
    if (!isObject(span)) throw refuse(`${kindOf(span)} as ${place}[${index}]`, `an object such as ${example}`);
    const { start, end, [member]: text } = span;
    const wrong = isSeconds(start) ? wrongEnd(start, end) : "no start";
    const what = wrong ?? (typeof text === "string" ? undefined : `no ${member}`);
    if (what !== undefined) throw refuse(`${what} in ${place}[${index}]`, `an object such as ${example}`);
    return { start, end, [member]: text };
  });
}

function wrongEnd(start: number, end: unknown): string | undefined {
  if (!isSeconds(end)) return "no end";
  return end < start ? "an end before its start" : undefined;
}

function numberOr(value: unknown): string {
  return typeof value === "number" ? String(value) : kindOf(value);
}

const MEDIA_TYPE = /^audio\/[\w.+-]{1,64}$/;
const SOUND = "the bytes of a sound, a generator of them, or { audio, mediaType }";

/** Throws for values that are often given instead of the bytes of a file, by their names. */
function checkBytes(value: unknown, refuse: Refuse, tensors: string): void {
  if (types.isAnyArrayBuffer(value)) throw refuse("an ArrayBuffer", "its bytes: new Uint8Array(…) of it");
  if (ArrayBuffer.isView(value) && !(value instanceof Uint8Array))
    throw refuse(`a ${value.constructor.name}`, "a Uint8Array with the bytes of a file");
  if (isTensor(value)) throw refuse("a tensor", tensors);
}

/** Checks what `speak` returned. */
export function sealSpeech(returned: unknown): RawResult | RawStream {
  const refuse = refusal("speak", "returned");
  checkBytes(returned, refuse, SOUND);
  const isBare = returned instanceof Uint8Array || partsOf(returned) !== undefined;
  const whole = isBare ? { audio: returned } : returned;
  if (!isObject(whole)) throw refuse(returnedKind(returned), SOUND);
  checkMembers(whole, ["audio", "mediaType"], refuse);
  const { audio, mediaType: contentType = ANY_BYTES } = whole;
  checkBytes(audio, refuse, SOUND);
  if (typeof contentType !== "string" || (contentType !== ANY_BYTES && !MEDIA_TYPE.test(contentType)))
    throw refuse(`${kindOf(contentType)} as mediaType`, "that of a sound, such as audio/wav");
  const open = partsOf(audio);
  if (open !== undefined) return { status: 200, contentType, open: () => mapParts(open(), toPiece) };
  if (!(audio instanceof Uint8Array) || audio.length === 0)
    throw refuse(audio instanceof Uint8Array ? "no bytes" : kindOf(audio), SOUND);
  return { status: 200, contentType, body: audio };
}

function toPiece(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  const refuse = refusal("speak", "yielded");
  checkBytes(value, refuse, "bytes of a sound");
  throw refuse(kindOf(value), "bytes of a sound");
}

function returnedKind(returned: unknown): string {
  return `${kindOf(returned)}${returned === undefined ? " (is a return, or an await, missing?)" : ""}`;
}

const PICTURES = "the bytes of a PNG, JPEG or WebP, a list of them, or { images, usage }";
const FILE = "a file, which encodeImage makes of pixels";
/** Pictures of one answer: a client may ask for fewer. */
const MAX_PICTURES = 64;
/** Characters of a prompt, which the main thread writes into its answer. */
const MAX_PROMPT = 64 * 1024;
/** Bytes of the words about all pictures, likewise: as many as a part of a text has. */
const MAX_HEAD_BYTES = 4 * 1024 * 1024;

/** Checks what `generateImage` returned: the length of a head as uint32, the head as JSON, the pictures' files. */
export function sealImages(returned: unknown): RawResult {
  const refuse = refusal("generateImage", "returned");
  checkBytes(returned, refuse, FILE);
  const isOne = returned instanceof Uint8Array || (isObject(returned) && "bytes" in returned);
  const whole = isOne ? { images: [returned] } : Array.isArray(returned) ? { images: returned } : returned;
  if (!isObject(whole)) throw refuse(returnedKind(returned), PICTURES);
  checkMembers(whole, ["images", "usage"], refuse);
  const { images, usage } = whole;
  checkBytes(images, refuse, FILE);
  if (!Array.isArray(images)) throw refuse(`${kindOf(images)} as images`, PICTURES);
  if (images.length > MAX_PICTURES) throw refuse(`${images.length} pictures`, `${MAX_PICTURES} at most`);
  // As for spans.
  const pictures = Array.from(images, (picture, index) => toPicture(picture, `images[${index}]`, refuse));
  const told = pictures.map(({ bytes, revisedPrompt }) => ({ size: bytes.length, revisedPrompt }));
  const head = Buffer.from(toJsonText({ images: told, usage: toUsage(usage, refuse) }));
  if (head.length > MAX_HEAD_BYTES) throw refuse(`${head.length} bytes of prompts`, `${MAX_HEAD_BYTES} at most`);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  const body = new Uint8Array(Buffer.concat([length, head, ...pictures.map(({ bytes }) => bytes)]));
  return { status: 200, contentType: ANY_BYTES, body };
}

function toPicture(picture: unknown, place: string, refuse: Refuse) {
  checkBytes(picture, refuse, FILE);
  const given = picture instanceof Uint8Array ? { bytes: picture } : picture;
  if (!isObject(given)) throw refuse(`${kindOf(given)} as ${place}`, PICTURES);
  checkMembers(given, ["bytes", "revisedPrompt"], refuse);
  const { bytes, revisedPrompt } = given;
  checkBytes(bytes, refuse, FILE);
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) throw refuse(`no bytes in ${place}`, PICTURES);
  if (revisedPrompt !== undefined && typeof revisedPrompt !== "string")
    throw refuse(`${kindOf(revisedPrompt)} as ${place}.revisedPrompt`, "a text");
  if (revisedPrompt !== undefined && revisedPrompt.length > MAX_PROMPT)
    throw refuse(`${revisedPrompt.length} characters as ${place}.revisedPrompt`, `${MAX_PROMPT} at most`);
  return { bytes, revisedPrompt };
}
