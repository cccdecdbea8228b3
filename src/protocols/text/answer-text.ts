import { setImmediate } from "node:timers/promises";
import { followSignal } from "../../platform/async/cancel-source.ts";
import { defineJob, type Job } from "../../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { answerInParts } from "../../proxy/answer-parts.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { PartForm } from "../../proxy/part-form.ts";
import { inferText, type TextPart } from "../../serving/infer-text.ts";
import type { CallOptions, InferenceService, Lease } from "../../serving/inference-service.ts";
import { copyBytes } from "../../tensor/copy-in-turns.ts";
import { hasEntry, leaseFor } from "./lease-for.ts";
import { withMedia } from "./media-addresses.ts";
import { wrongMember } from "./members.ts";
import { type AnswerHead, type MadeText, TextAnswer, type TextWriter } from "./text-answer.ts";
import type { TextWish } from "./text-wish.ts";

/** A route whose answer is a text. */
export interface TextRoute {
  readonly job: Job<[Uint8Array], TextWish>;
  /** Creates what writes one answer. */
  readonly write: (head: AnswerHead) => TextWriter;
}

/** Answers a request for a text, whole or in parts, by a function of the hooks of the model that it names. */
export async function answerText(
  exchange: HttpExchange,
  service: InferenceService,
  route: TextRoute,
): Promise<HttpAnswer> {
  const arrivedMs = performance.now();
  const wish = await readBody(exchange, route.job, await exchange.readBody());
  return answerWish({ ...route, wish, arrivedMs }, exchange, service);
}

/** A request that has been read, and the time at which it came. */
interface Asked extends Pick<TextRoute, "write">, Pick<AnswerHead, "arrivedMs"> {
  readonly wish: TextWish;
}

/** As {@link answerText}, for a request that has been read. */
export async function answerWish(
  { wish, arrivedMs, write }: Asked,
  exchange: HttpExchange,
  service: InferenceService,
): Promise<HttpAnswer> {
  exchange.record.model = wish.model;
  const call = exchange.callInfo();
  const entries = wish.requests.map(({ entry }) => entry);
  const lease = await leaseFor(service, { model: wish.model, entries }, call);
  const { model } = lease.description;
  const chosen = wish.requests.find(({ entry }) => hasEntry(lease.description, entry)) ?? { entry: "", request: NONE };
  const requests = await prepared(chosen, wish, exchange).catch((reason) => {
    lease.release();
    throw reason;
  });
  const { count = 1, others = [] } = wish;
  const echoes = [wish, ...others].map(({ echo }) => Buffer.from(echo).toString());
  const told: object = wish.told === undefined ? {} : JSON.parse(Buffer.from(wish.told).toString());
  const writer = write({ model, includeUsage: wish.includeUsage, echo: echoes[0] ?? "", told, count, arrivedMs });
  const choices = requests.map((_, index) => {
    const own = index === 0 ? writer : (writer.choice?.(index) ?? writer);
    return new TextAnswer(own, echoes[Math.floor(index / count)] ?? "", requests.length);
  });
  const { entry } = chosen;
  const made = {
    requests,
    entry,
    lease,
    call,
    choices,
    after: (all: readonly MadeText[]) => writer.after?.(all) ?? [],
  };
  return wish.isStream ? stream(made, { form: writer.form, ...wish }, exchange) : whole(made, wish.schema, exchange);
}

const NONE = new Uint8Array(0);
/** Bytes of the requests for all choices at most, each of which gets its own copy. */
const MAX_COPIED_BYTES = 16 * 1024 * 1024;

type Chosen = Pick<TextWish["requests"][number], "request" | "facts">;

/**
 * The request of each choice, those of the first prompt first, with what its addresses stand for; counts the memory of
 * all copies. Throws `invalid_argument` for too many of a large one.
 */
async function prepared(
  chosen: Chosen,
  { addresses, count = 1, others = [], tail = NONE, schema }: TextWish,
  exchange: HttpExchange,
): Promise<readonly Chosen[]> {
  const first = addresses === undefined ? chosen : await withMedia(chosen, addresses, exchange);
  const prompts: readonly Chosen[] = [first, ...others];
  const bytes = prompts.reduce((sum, { request }) => sum + request.length + tail.length, 0);
  const what = prompts.length > 1 ? `${prompts.length} prompts` : "a request";
  if (count > 1 && count * bytes > MAX_COPIED_BYTES)
    throw wrongMember("n", `${count} for ${what} of ${bytes} bytes`, `${MAX_COPIED_BYTES} bytes in all choices`);
  // The parts of a request that was read in a codec thread may lie in the same memory.
  const isWhole = tail.length === 0 && first.request.buffer !== schema?.buffer;
  exchange.hold(count * bytes - (isWhole ? first.request.length : 0));
  const all: Chosen[] = [];
  for (const { request, facts: given } of prompts)
    for (let choice = 0; choice < count; choice++) {
      const facts = choice === 0 ? given : { ...given, choice: String(choice) };
      // The last one may give the request's own memory away, since the others have copies.
      const own = isWhole && choice === count - 1 ? request : await copyBytes([request, tail]);
      all.push({ request: own, ...(facts && { facts }) });
    }
  return all;
}

/** Decodes a body, in a codec thread if it is large. */
export async function readBody<Wish>(
  exchange: HttpExchange,
  job: Job<[Uint8Array], Wish>,
  body: Uint8Array,
): Promise<Wish> {
  return body.length > LARGE_MESSAGE_BYTES ? exchange.decode(job, [body], body) : job.run(body);
}

/** A request under its lease, which is released with it, and its answer. */
interface Made {
  readonly lease: Lease;
  readonly entry: string;
  readonly call: CallOptions;
  /** The request of each choice. */
  readonly requests: readonly Chosen[];
  /** One at least. */
  readonly choices: readonly TextAnswer[];
  /** The parts behind the ends of all choices. */
  readonly after: (all: readonly MadeText[]) => readonly string[];
}

/** Counts the memory of the kept part of an answer, each time it is called. */
function holder(choices: readonly TextAnswer[], exchange: HttpExchange): () => void {
  let held = 0;
  return () => {
    const bytes = choices.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
    exchange.hold(bytes - held);
    held = bytes;
  };
}

/**
 * Makes all choices at the same time, each by a run of its own, which is admitted and counted as one. If one fails the
 * others are ended, and its error is that of all.
 */
async function makeChoices(
  { lease, choices, requests, after: _, ...asked }: Made,
  run: (choice: TextAnswer, infer: (take: TakePart) => Promise<void>) => Promise<void>,
): Promise<void> {
  const [only] = choices;
  if (choices.length === 1 && only !== undefined)
    return run(only, (take) => inferText(lease, { ...asked, request: NONE, ...requests[0], take }));
  const { source, leave } = followSignal(asked.call.signal);
  const call = { ...asked.call, signal: source };
  let failure: { readonly reason: unknown } | undefined;
  const runs = choices.map(async (choice, index) => {
    try {
      await run(choice, (take) => inferText(lease, { ...asked, request: NONE, ...requests[index], call, take }));
    } catch (reason) {
      failure ??= { reason };
      source.abort(reason);
    }
  });
  await Promise.all(runs);
  leave();
  if (failure !== undefined) throw failure.reason;
}

type TakePart = Parameters<typeof inferText>[1]["take"];

async function whole(made: Made, schema: TextWish["schema"], exchange: HttpExchange): Promise<HttpAnswer> {
  let headers: HttpAnswer["headers"] = {};
  const hold = holder(made.choices, exchange);
  try {
    hold();
    await makeChoices(made, (choice, infer) =>
      infer(async (part, given) => {
        headers = { ...headers, ...given };
        choice.add(part);
        hold();
      }),
    );
  } finally {
    made.lease.release();
  }
  const [first, ...others] = made.choices;
  for (const text of made.choices.map(({ finalText }) => finalText))
    if (schema !== undefined && text !== undefined) await checkText(text, schema, exchange);
  const body = first?.whole(others) ?? "";
  // A text of a million characters that JSON escapes, as a client may have it echoed, takes long to write.
  const isLong = made.choices.some(({ heldBytes }) => heldBytes > LARGE_MESSAGE_BYTES);
  const bytes = isLong ? await exchange.encode(writeTextJob, [body]) : writeText(body);
  const contentType = typeof body === "string" ? "text/plain; charset=utf-8" : "application/json";
  return { contentType, body: bytes, headers };
}

function writeText(made: object | string): Uint8Array {
  return Buffer.from(typeof made === "string" ? made : JSON.stringify(made));
}

/** {@link writeText} for a codec thread, which finds it by its name. @public */
export const writeTextJob = defineJob(import.meta.url, "writeTextJob", writeText);

/** Checks an answer in a codec thread: a short schema may take long too, by naming itself. */
async function checkText(text: string, schema: Uint8Array, exchange: HttpExchange): Promise<void> {
  const { checkTextJob, MAX_TEXT } = await import("./json-schema.ts");
  if (text.length <= MAX_TEXT) await exchange.encode(checkTextJob, [text, schema]);
}

/** An event, or the end of so many of them. */
interface Event {
  readonly data: string;
  readonly headers?: HttpAnswer["headers"];
  readonly parts?: number;
}

/** A text that does not fit the schema has been sent when that is found: the error is the last part. */
async function stream(
  made: Made,
  { form, schema }: { readonly form: PartForm } & Pick<TextWish, "schema">,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  const hold = holder(made.choices, exchange);
  const { StreamedText = undefined } = schema === undefined ? {} : await import("./json-schema.ts");
  const run = async (write: (event: Event) => Promise<void>): Promise<Event> => {
    let parts = 0;
    // One after the other, whichever choice they are of.
    let written = Promise.resolve();
    const send = (data: string, headers?: Event["headers"]): Promise<void> => {
      parts++;
      written = written.then(() => write({ data, ...(headers && { headers }) }));
      return written;
    };
    try {
      await makeChoices(made, async (choice, infer) => {
        const checked = StreamedText && new StreamedText((bytes) => exchange.hold(bytes));
        await infer(async (part, headers) => {
          checked?.add(part);
          for (const piece of piecesOf(part)) {
            if (piece !== part) await setImmediate();
            const own = choice.partsOf(piece);
            hold();
            for (const each of own) await send(each, headers);
          }
        });
        const text = checked?.finalText(choice.made());
        if (schema !== undefined && text !== undefined) await checkText(text, schema, exchange);
        for (const each of choice.lastParts()) await send(each);
      });
      for (const each of made.after(made.choices.map((choice) => choice.made()))) await send(each);
      return { data: "", parts };
    } finally {
      made.lease.release();
    }
  };
  const toPart = async ({ data, headers }: Event): Promise<HttpAnswer> => ({
    ...{ contentType: "application/json", body: Buffer.from(data) },
    ...(headers && { headers }),
  });
  return answerInParts<Event>({ form }, exchange, { run, toPart });
}

/** Characters that take a few milliseconds to write, were each a half of a pair, which JSON escapes slowest. */
const MAX_PIECE = 64 * 1024;

/**
 * A part of an answer, in pieces of which each is written soon: its texts one after the other, then what else it says.
 * One that is short is the only piece.
 */
function* piecesOf(part: TextPart): Generator<TextPart> {
  const { reasoning = "", text = "", refusal = "", toolCalls = [], ...rest } = part;
  const all = [reasoning, text, refusal, ...toolCalls.map((call) => call.arguments)];
  if (all.every(({ length }) => length <= MAX_PIECE)) {
    yield part;
    return;
  }
  for (const [name, whole] of Object.entries({ reasoning, text, refusal }))
    for (const piece of cut(whole)) yield { [name]: piece };
  for (const { arguments: given, ...call } of toolCalls) {
    let named: object = call;
    for (const piece of cut(given)) {
      yield { toolCalls: [{ ...named, arguments: piece }] };
      named = {};
    }
  }
  yield rest;
}

/** At least one piece; the two halves of a pair stay together. */
function* cut(text: string): Generator<string> {
  let from = 0;
  do {
    const isPair = (text.codePointAt(from + MAX_PIECE - 1) ?? 0) > 0xffff;
    const to = from + MAX_PIECE + (isPair ? 1 : 0);
    yield text.slice(from, to);
    from = to;
  } while (from < text.length);
}
