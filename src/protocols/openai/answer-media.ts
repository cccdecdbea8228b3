import { failedPrecondition, ServingError } from "../../errors.ts";
import { isLargeText, LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { answerInParts } from "../../proxy/answer-parts.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { EVENTS, type PartForm } from "../../proxy/part-form.ts";
import { inferRaw, type RawResponse } from "../../serving/infer-raw.ts";
import { inferImages, type TextUsage, type TimedText } from "../../serving/infer-text.ts";
import type { InferenceService, Lease } from "../../serving/inference-service.ts";
import { FORMAT_NAMES, imageFormat } from "../../tensor/media/image-format.ts";
import { soundType } from "../../tensor/media/sound-format.ts";
import { createTensor } from "../../tensor/tensor.ts";
import { answerWish, readBody } from "../text/answer-text.ts";
import { leaseFor } from "../text/lease-for.ts";
import type { MadeText, TextStep, TextWriter } from "../text/text-answer.ts";
import {
  noForm,
  PICTURES,
  type PictureFormat,
  readImagesJob,
  readSpeechJob,
  readTranscriptionJob,
  type SpeakWish,
  type SpeechFormat,
  type TranscribeWish,
  writeImages,
  writeImagesJob,
} from "./media-codec.ts";
import { openaiError } from "./openai-error.ts";

const STREAM: PartForm = { ...EVENTS, errorForm: openaiError };

/** Answers `POST …/audio/transcriptions` or `…/audio/translations`, by the function `transcribe` of hooks. */
export async function answerTranscription(
  exchange: HttpExchange,
  service: InferenceService,
  task: TranscribeWish["task"],
): Promise<HttpAnswer> {
  const arrivedMs = performance.now();
  if (exchange.mediaType !== "multipart/form-data") throw noForm(exchange.mediaType);
  const body = await exchange.readBody();
  const args: [Uint8Array, string, TranscribeWish["task"]] = [
    body,
    exchange.request.headers["content-type"] ?? "",
    task,
  ];
  const wish =
    body.length > LARGE_MESSAGE_BYTES
      ? await exchange.decodeForm(readTranscriptionJob, args, body)
      : await readTranscriptionJob.run(...args);
  return answerWish({ wish, arrivedMs, write: () => new TranscriptWriter(wish) }, exchange, service);
}

/** Writes the text of a sound. */
class TranscriptWriter implements TextWriter {
  readonly form = STREAM;
  readonly keeps = "all";
  readonly callPrefix = "call_";
  readonly #wish: TranscribeWish;
  #text = "";

  constructor(wish: TranscribeWish) {
    this.#wish = wish;
  }

  /** Forms with times come whole alone. */
  get remedy(): string | undefined {
    const { format } = this.#wish;
    if (format === "json" || format === "text") return undefined;
    return "send the sound in pieces, or ask for json or text in a stream";
  }

  begin(): readonly string[] {
    return [];
  }

  step(step: TextStep): readonly string[] {
    if (step.kind === "call") return [];
    this.#text += step.text;
    return [JSON.stringify({ type: "transcript.text.delta", delta: step.text })];
  }

  end({ usage }: MadeText): readonly string[] {
    return [JSON.stringify({ type: "transcript.text.done", text: this.#text, ...toUsage(usage) })];
  }

  whole({ text, heard, usage }: MadeText): object | string {
    const { segments, words, language = "", duration } = heard;
    const { format, task } = this.#wish;
    if (format === "json") return { text, ...toUsage(usage) };
    if (format === "text") return `${text}\n`;
    if (format === "verbose_json") {
      const seconds = duration ?? segments.at(-1)?.end ?? 0;
      const told = { task, language, duration: seconds, text };
      const times = segments.map((segment, id) => ({ id, ...segment }));
      return { ...told, segments: times, ...(words.length > 0 && { words }), ...toUsage(usage) };
    }
    if (segments.length === 0 && text !== "") throw noTimes(format);
    return format === "srt" ? toSrt(segments) : toVtt(segments);
  }
}

function toUsage(usage: TextUsage | undefined): object {
  return usage === undefined ? {} : { usage: { type: "tokens", ...tokensOf(usage) } };
}

function tokensOf({ promptTokens: input_tokens = 0, completionTokens: output_tokens = 0 }: TextUsage = {}): object {
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
}

function noTimes(format: string): ServingError {
  const message = `The function transcribe gave a text without segments, of which ${format} is made; ask for json or text.`;
  return failedPrecondition(message);
}

function toSrt(segments: readonly TimedText[]): string {
  return segments.map((each, index) => `${index + 1}\n${times(each, ",")}\n${lineOf(each)}\n\n`).join("");
}

function toVtt(segments: readonly TimedText[]): string {
  return `WEBVTT\n\n${segments.map((each) => `${times(each, ".")}\n${lineOf(each)}\n\n`).join("")}`;
}

/** An empty line, and an arrow, would begin another one. */
function lineOf({ text }: TimedText): string {
  return text
    .trim()
    .replace(/[\r\n]+/g, " ")
    .replaceAll("-->", "->");
}

function times({ start, end }: TimedText, point: "," | "."): string {
  return `${clock(start, point)} --> ${clock(end, point)}`;
}

function clock(seconds: number, point: string): string {
  const ms = Math.round(seconds * 1000);
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const [hours, minutes] = [ms / 3_600_000, (ms / 60_000) % 60];
  return `${two(hours)}:${two(minutes)}:${two((ms / 1000) % 60)}${point}${String(ms % 1000).padStart(3, "0")}`;
}

const SPEECH_TYPES: Readonly<Record<SpeechFormat, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};

/** Answers `POST …/audio/speech` by the function `speak` of hooks: with the file, as it is made, or in events. */
export async function answerSpeech(exchange: HttpExchange, service: InferenceService): Promise<HttpAnswer> {
  const wish = await readBody(exchange, readSpeechJob, await exchange.readBody());
  exchange.record.model = wish.model;
  const call = exchange.callInfo();
  const lease = await leaseFor(service, { model: wish.model, entries: ["speak"] }, call);
  const spoken = { entry: "speak", facts: {}, body: wish.request, call };
  const speak = async (write: (part: RawResponse) => Promise<void>) => {
    try {
      return await inferRaw(lease, { ...spoken, write });
    } finally {
      lease.release();
    }
  };
  if (wish.isEvents) return speechEvents(exchange, speak);
  const typeOf = contentTypes(wish);
  const toAnswer = (part: RawResponse) => ({
    ...{ contentType: typeOf(part), body: part.body, headers: part.metadata },
  });
  const toPart = async (part: RawResponse) => toAnswer(part);
  return answerInParts<RawResponse>({ orAnswer: true }, exchange, { run: speak, toPart, toAnswer });
}

/** The type of a file by its first bytes, since a hook may make another kind than it was asked for. */
function contentTypes({ format }: SpeakWish): (part: RawResponse) => string {
  let found: string | undefined;
  return ({ contentType, body }) => {
    const told = contentType.startsWith("audio/") ? contentType : undefined;
    found ??= told ?? (format === "pcm" ? undefined : soundType(body)) ?? SPEECH_TYPES[format];
    return found;
  };
}

/** Bytes of one event; a multiple of three, so that their base64 has no padding in between. */
const EVENT_BYTES = 192 * 1024;

interface SpeechEvent {
  readonly body: object;
  readonly headers: HttpAnswer["headers"];
  readonly parts?: number;
}

function speechEvents(
  exchange: HttpExchange,
  speak: (write: (part: RawResponse) => Promise<void>) => Promise<RawResponse>,
): Promise<HttpAnswer> {
  const run = async (write: (event: SpeechEvent) => Promise<void>): Promise<SpeechEvent> => {
    const send = async ({ body, metadata: headers }: RawResponse) => {
      for (let from = 0; from < body.length; from += EVENT_BYTES) {
        const piece = Buffer.from(body.buffer, body.byteOffset + from, Math.min(EVENT_BYTES, body.length - from));
        await write({ body: { type: "speech.audio.delta", audio: piece.toString("base64") }, headers });
      }
    };
    const end = await speak(send);
    if (end.parts === undefined) await send(end);
    await write({ body: { type: "speech.audio.done", usage: tokensOf() }, headers: {} });
    return { body: {}, headers: {}, parts: 1 };
  };
  const toPart = async ({ body, headers = {} }: SpeechEvent): Promise<HttpAnswer> => ({
    ...{ contentType: "application/json", body: Buffer.from(JSON.stringify(body)), headers },
  });
  return answerInParts<SpeechEvent>({ form: STREAM }, exchange, { run, toPart });
}

/** Answers `POST …/images/generations` by the function `generateImage` of hooks. */
export async function answerImages(exchange: HttpExchange, service: InferenceService): Promise<HttpAnswer> {
  const { model, count, request } = await readBody(exchange, readImagesJob, await exchange.readBody());
  exchange.record.model = model;
  const call = exchange.callInfo();
  const lease: Lease = await leaseFor(service, { model, entries: ["generateImage"] }, call);
  try {
    const { images, usage, headers } = await inferImages(lease, request, call, count);
    const [format] = images.map(({ bytes }) => formatOf(bytes));
    const told = images.map(({ revisedPrompt }) =>
      revisedPrompt === undefined ? "" : `"revised_prompt":${JSON.stringify(revisedPrompt)},`,
    );
    const behind = { output_format: format, ...(usage && { usage: tokensOf(usage) }) };
    const files = createTensor(
      "bytes",
      [count],
      images.map(({ bytes }) => bytes),
    );
    const facts = { told, after: `],${JSON.stringify(behind).slice(1)}` };
    const body = isLargeText([files])
      ? await exchange.encode(writeImagesJob, [files, facts])
      : writeImages(files, facts);
    return { contentType: "application/json", body, headers };
  } finally {
    lease.release();
  }
}

function formatOf(bytes: Uint8Array): PictureFormat {
  const format = imageFormat(bytes);
  const sent = PICTURES.find((each) => each === format);
  if (sent !== undefined) return sent;
  const what = format === undefined ? "bytes that are no image" : `a picture in ${FORMAT_NAMES[format]}`;
  throw new ServingError("internal", `The hook generateImage gave ${what}; expected a PNG, JPEG or WebP.`);
}
