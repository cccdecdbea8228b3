import { invalidArgument, type ServingError } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { soundType } from "../../tensor/media/sound-format.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type Form, splitForm } from "../split-form.ts";
import { Members, parseMembers, writeRequest, wrongMember } from "../text/members.ts";
import { MAX_IMAGES, type TextWish } from "../text/text-wish.ts";

const FORMATS = ["json", "text", "srt", "verbose_json", "vtt"] as const;
/** Forms of the text of a sound. */
type TranscriptFormat = (typeof FORMATS)[number];

/** A request for the text of a sound. */
export interface TranscribeWish extends TextWish {
  readonly format: TranscriptFormat;
  readonly task: "transcribe" | "translate";
}

/**
 * Reads the form of a request for the text of a sound; `contentType` is the header, which has the boundary. Throws
 * `invalid_argument` with the field that is wrong.
 */
async function readTranscription(
  body: Uint8Array,
  contentType: string,
  task: TranscribeWish["task"],
): Promise<TranscribeWish> {
  const form = await splitForm(body, contentType);
  const file = fileOf(form);
  checkLength(form.texts);
  const fields = new Members(toValues(form.texts));
  const names = [GRANULARITIES, `${GRANULARITIES}[]`];
  const timestamps = [...new Set(names.flatMap((name) => readTimestamps(fields, name)))];
  const format = fields.choice("response_format", FORMATS);
  const isStream = fields.boolean("stream") ?? false;
  if (isStream && format !== "json" && format !== "text")
    throw wrongMember("response_format", `${format} in a stream`, "json or text, or no stream");
  const needsTimes = format !== "json" && format !== "text" && timestamps.length === 0;
  const model = fields.text("model") ?? "";
  const request = JSON.stringify({
    task,
    mediaType: uploadType(file),
    language: fields.text("language"),
    prompt: fields.text("prompt"),
    temperature: fields.number("temperature", { min: 0 }),
    timestamps: needsTimes ? ["segment"] : timestamps,
    more: fields.rest(),
  });
  const requests = [{ entry: "transcribe" as const, request: file, facts: { request } }];
  return { model, isStream, format, task, includeUsage: true, echo: new Uint8Array(0), requests };
}

/** {@link readTranscription} for a codec thread. */
export const readTranscriptionJob = defineJob(import.meta.url, "readTranscriptionJob", readTranscription);

function fileOf({ files }: Form): Uint8Array {
  const [[name, [file, ...more]] = ["", []], ...others] = [...files];
  if (file === undefined)
    throw wrongMember("file", "missing", "a file of sound, as a part of the form with a file name");
  if (name !== "file") throw wrongMember(name.slice(0, 100), "a file", "one of the name file");
  if (more.length + others.length > 0) throw wrongMember("file", "more than one file", "one: send a request for each");
  if (file.length === 0) throw wrongMember("file", "empty", "a file of sound");
  return file;
}

/** Characters of the texts beside a file at most, which become JSON for the function. */
const MAX_FIELDS = 1024 * 1024;

function checkLength(texts: Form["texts"]): void {
  let length = 0;
  for (const [name, values] of texts) for (const text of values) length += name.length + text.length;
  if (length > MAX_FIELDS)
    throw invalidArgument(`The fields beside the file have ${length} characters; expected ${MAX_FIELDS} at most.`);
}

/** Beginnings of files that may have pictures too, which are taken for sound here. */
const UPLOADS: readonly (readonly [mediaType: string, beginning: RegExp])[] = [
  ["audio/webm", /^\W\x45\xdf\xa3/],
  ["audio/mp4", /^[\s\S]{4}ftyp/],
];

function uploadType(file: Uint8Array): string {
  const head = Buffer.from(file.subarray(0, 12)).toString("latin1");
  const known = soundType(file) ?? UPLOADS.find(([, beginning]) => beginning.test(head))?.[0];
  return known ?? "application/octet-stream";
}

const GRANULARITIES = "timestamp_granularities";
/** Fields that are numbers, or true or false: all of a form's are texts. */
const NUMBERS = ["temperature"];
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
  ["1", true],
  ["0", false],
]);

/**
 * The fields of a form as the members of a body of JSON: an empty one is null, one that came several times a list. A
 * name that ends in `[]` is always a list, in which clients send an empty text for none.
 */
function toValues(texts: Form["texts"]): Readonly<Record<string, unknown>> {
  const values = [...texts].map(([name, [text = "", ...more]]) => {
    if (name.endsWith("[]") || name === GRANULARITIES) return [name, [text, ...more].filter(Boolean)] as const;
    if (more.length > 0) return [name, [text, ...more]] as const;
    if (text === "") return [name, null] as const;
    if (NUMBERS.includes(name)) return [name, Number.isNaN(Number(text)) ? text : Number(text)] as const;
    return [name, name === "stream" ? (BOOLEANS.get(text.toLowerCase()) ?? text) : text] as const;
  });
  return Object.fromEntries(values);
}

function readTimestamps(fields: Members, name: string): readonly string[] {
  const given = fields.list(name) ?? [];
  const wrong = given.find((each) => each !== "word" && each !== "segment");
  if (wrong !== undefined) throw wrongMember(name, String(wrong).slice(0, 40), "word or segment");
  return given as readonly string[];
}

/** A request for a text as sound. */
export interface SpeakWish {
  readonly model: string;
  readonly format: SpeechFormat;
  /** True = the sound comes in events. */
  readonly isEvents: boolean;
  /** The request for the function of hooks, as JSON. */
  readonly request: Uint8Array;
}

const SPEECH_FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;
/** Kinds of files of sound. */
export type SpeechFormat = (typeof SPEECH_FORMATS)[number];

/** Reads a request for a text as sound. Throws `invalid_argument` with the place of a wrong member. */
function readSpeech(bytes: Uint8Array): SpeakWish {
  const body = parseMembers(bytes);
  const model = body.text("model") ?? "";
  const text = body.requiredText("input");
  if (text === "") throw wrongMember("input", "an empty text", "a text to be spoken");
  const given = body.value("voice");
  const voice = typeof given === "string" ? given : (body.object("voice")?.requiredText("id") ?? "");
  const format = body.choice("response_format", SPEECH_FORMATS);
  const isEvents = body.choice("stream_format", ["audio", "sse"]) === "sse";
  const speed = body.number("speed", { min: 0.01 }) ?? 1;
  const request = { text, voice, instructions: body.text("instructions"), format, speed, more: body.rest() };
  return { model, format, isEvents, request: writeRequest(request) };
}

/** {@link readSpeech} for a codec thread. */
export const readSpeechJob = defineJob(import.meta.url, "readSpeechJob", readSpeech);

/** A request for pictures. */
export interface ImagesWish {
  readonly model: string;
  readonly count: number;
  /** The request for the function of hooks, as JSON. */
  readonly request: Uint8Array;
}

const SIZE = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/;

/** Reads a request for pictures. Throws likewise. */
function readImages(bytes: Uint8Array): ImagesWish {
  const body = parseMembers(bytes);
  const model = body.text("model") ?? "";
  const prompt = body.requiredText("prompt");
  const count = body.number("n", { isWhole: true, min: 1 }) ?? 1;
  if (count > MAX_IMAGES) throw wrongMember("n", String(count), `${MAX_IMAGES} at most: send several requests`);
  const size = body.text("size") || "auto";
  const [, width, height] = SIZE.exec(size) ?? [];
  if (width === undefined && size !== "auto") throw body.wrong("size", "WIDTHxHEIGHT in pixels, such as 512x512");
  if (body.value("response_format") === "url")
    throw body.wrong("response_format", "b64_json: the server keeps no pictures that an address could lead to");
  body.choice("response_format", ["b64_json"]);
  if (body.boolean("stream") === true) throw body.wrong("stream", "false: pictures come when they are done");
  const format = body.value("output_format") === undefined ? undefined : body.choice("output_format", PICTURES);
  const sides = width !== undefined && { width: Number(width), height: Number(height) };
  return { model, count, request: writeRequest({ prompt, count, ...sides, format, more: body.rest() }) };
}

/** Kinds of files of pictures. */
export const PICTURES = ["png", "jpeg", "webp"] as const;
/** One of {@link PICTURES}. */
export type PictureFormat = (typeof PICTURES)[number];

/** {@link readImages} for a codec thread. */
export const readImagesJob = defineJob(import.meta.url, "readImagesJob", readImages);

/** Facts about pictures, as JSON: of each the members beside its bytes, and the members behind all of them. */
export interface ImagesFacts {
  readonly told: readonly string[];
  /** Begins with the bracket that ends the list. */
  readonly after: string;
}

/** Writes the answer with the files of pictures, in base64. */
export function writeImages({ data }: Tensor<"bytes">, { told, after }: ImagesFacts): Buffer {
  const created = Math.floor(Date.now() / 1000);
  const pieces = [Buffer.from(`{"created":${created},"data":[`)];
  for (const [index, { buffer, byteOffset, length }] of data.entries()) {
    const base64 = Buffer.from(buffer, byteOffset, length).toString("base64");
    pieces.push(
      Buffer.from(`${index === 0 ? "" : ","}{${told[index] ?? ""}"b64_json":"`),
      Buffer.from(base64, "latin1"),
    );
    pieces.push(Buffer.from('"}'));
  }
  return Buffer.concat([...pieces, Buffer.from(after)]);
}

/** {@link writeImages} for a codec thread. */
export const writeImagesJob = defineJob(import.meta.url, "writeImagesJob", writeImages);

/** The error for a body that is no form. */
export function noForm(mediaType: string): ServingError {
  return invalidArgument(`Content-Type is "${mediaType.slice(0, 100)}"; expected multipart/form-data with a file.`);
}
