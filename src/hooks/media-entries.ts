import { kindOf } from "../platform/text/kind-of.ts";
import { toJsonText } from "../tensor/json-text.ts";
import { isObject } from "../tensor/record.ts";
import { checkMembers, type Refuse, refusal, toUsage } from "./given-members.ts";
import type { RawResult, RawStream } from "./raw-entry.ts";
import { mapParts, partsOf } from "./raw-parts.ts";

const ANY_BYTES = "application/octet-stream";

/** Segments or words of one part. */
const MAX_SPANS = 100_000;

/** Checks the times in a part of a transcript, whose text is that of its segments unless it has one. */
export function toTranscript(part: Readonly<Record<string, unknown>>, refuse: Refuse): object {
  const { segments, words, language, duration } = part;
  if (language !== undefined && typeof language !== "string")
    throw refuse(`${kindOf(language)} as language`, "a text such as en");
  if (duration !== undefined && !isSeconds(duration)) throw refuse(`${kindOf(duration)} as duration`, "seconds");
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
  if (!Array.isArray(spans) || spans.length > MAX_SPANS)
    throw refuse(`${kindOf(spans)} as ${place}`, `a list of at most ${MAX_SPANS} objects such as ${example}`);
  return spans.map((span: unknown, index) => {
    if (!isObject(span)) throw refuse(`${kindOf(span)} as ${place}[${index}]`, `an object such as ${example}`);
    const { start, end, [member]: text } = span;
    const wrong = [...(isSeconds(start) ? [] : ["start"]), ...(isSeconds(end) && end >= Number(start) ? [] : ["end"])];
    if (wrong.length > 0 || typeof text !== "string")
      throw refuse(`no ${wrong[0] ?? member} in ${place}[${index}]`, `an object such as ${example}`);
    return { start, end, [member]: text };
  });
}

const MEDIA_TYPE = /^audio\/[\w.+-]{1,64}$/;
const SOUND = "the bytes of a sound, a generator of them, or { audio, mediaType }";

/** Checks what `speak` returned. */
export function sealSpeech(returned: unknown): RawResult | RawStream {
  const refuse = refusal("speak", "returned");
  const isBare = returned instanceof Uint8Array || partsOf(returned) !== undefined;
  const whole = isBare ? { audio: returned } : returned;
  if (!isObject(whole)) throw refuse(returnedKind(returned), SOUND);
  checkMembers(whole, ["audio", "mediaType"], refuse);
  const { audio, mediaType: contentType = ANY_BYTES } = whole;
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
  throw refusal("speak", "yielded")(kindOf(value), "bytes of a sound");
}

function returnedKind(returned: unknown): string {
  return `${kindOf(returned)}${returned === undefined ? " (is a return, or an await, missing?)" : ""}`;
}

const PICTURES = "the bytes of a PNG, JPEG or WebP, a list of them, or { images, usage }";
/** Pictures of one answer: a client may ask for fewer. */
const MAX_PICTURES = 64;

/** Checks what `generateImage` returned: the length of a head as uint32, the head as JSON, the pictures' files. */
export function sealImages(returned: unknown): RawResult {
  const refuse = refusal("generateImage", "returned");
  const isOne = returned instanceof Uint8Array || (isObject(returned) && returned.bytes instanceof Uint8Array);
  const whole = isOne ? { images: [returned] } : Array.isArray(returned) ? { images: returned } : returned;
  if (!isObject(whole)) throw refuse(returnedKind(returned), PICTURES);
  checkMembers(whole, ["images", "usage"], refuse);
  const { images, usage } = whole;
  if (!Array.isArray(images) || images.length > MAX_PICTURES) throw refuse(`${kindOf(images)} as images`, PICTURES);
  const pictures = images.map((picture, index) => toPicture(picture, `images[${index}]`, refuse));
  const told = pictures.map(({ bytes, revisedPrompt }) => ({ size: bytes.length, revisedPrompt }));
  const head = Buffer.from(toJsonText({ images: told, usage: toUsage(usage, refuse) }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  const body = new Uint8Array(Buffer.concat([length, head, ...pictures.map(({ bytes }) => bytes)]));
  return { status: 200, contentType: ANY_BYTES, body };
}

function toPicture(picture: unknown, place: string, refuse: Refuse) {
  const given = picture instanceof Uint8Array ? { bytes: picture } : picture;
  if (!isObject(given)) throw refuse(`${kindOf(given)} as ${place}`, PICTURES);
  checkMembers(given, ["bytes", "revisedPrompt"], refuse);
  const { bytes, revisedPrompt } = given;
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) throw refuse(`no bytes in ${place}`, PICTURES);
  if (revisedPrompt !== undefined && typeof revisedPrompt !== "string")
    throw refuse(`${kindOf(revisedPrompt)} as ${place}.revisedPrompt`, "a text");
  return { bytes, revisedPrompt };
}
