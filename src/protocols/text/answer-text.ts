import { defineJob, type Job } from "../../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { answerInParts } from "../../proxy/answer-parts.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { PartForm } from "../../proxy/part-form.ts";
import { inferText, type TextPart } from "../../serving/infer-text.ts";
import type { CallOptions, InferenceService, Lease } from "../../serving/inference-service.ts";
import { hasEntry, leaseFor } from "./lease-for.ts";
import { type AnswerHead, TextAnswer, type TextWriter } from "./text-answer.ts";
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
  const asked = wish.requests.find(({ entry }) => hasEntry(lease.description, entry)) ?? { entry: "", request: NONE };
  const echo = Buffer.from(wish.echo).toString();
  const told: object = wish.told === undefined ? {} : JSON.parse(Buffer.from(wish.told).toString());
  const writer = write({ model, includeUsage: wish.includeUsage, echo, told, arrivedMs });
  const made = { ...asked, lease, call, answer: new TextAnswer(writer, echo) };
  return wish.isStream ? stream(made, writer.form, exchange) : whole(made, wish.schema, exchange);
}

const NONE = new Uint8Array(0);

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
  readonly request: Uint8Array;
  readonly answer: TextAnswer;
}

/** Counts the memory of the kept part of an answer, each time it is called. */
function holder(answer: TextAnswer, exchange: HttpExchange): () => void {
  let held = 0;
  return () => {
    const bytes = answer.heldBytes;
    exchange.hold(bytes - held);
    held = bytes;
  };
}

async function whole(
  { lease, answer, ...asked }: Made,
  schema: TextWish["schema"],
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  let headers: HttpAnswer["headers"] = {};
  const hold = holder(answer, exchange);
  const take = async (part: TextPart, given: NonNullable<HttpAnswer["headers"]>) => {
    headers = { ...headers, ...given };
    answer.add(part);
    hold();
  };
  try {
    hold();
    await inferText(lease, { ...asked, take });
  } finally {
    lease.release();
  }
  const made = answer.whole(schema && (await schemaCheck(schema)));
  // A text of a million characters that JSON escapes, as a client may have it echoed, takes long to write.
  const isLong = answer.heldBytes > LARGE_MESSAGE_BYTES;
  const body = isLong ? await exchange.encode(writeTextJob, [made]) : writeText(made);
  return { contentType: typeof made === "string" ? "text/plain; charset=utf-8" : "application/json", body, headers };
}

function writeText(made: object | string): Uint8Array {
  return Buffer.from(typeof made === "string" ? made : JSON.stringify(made));
}

/** {@link writeText} for a codec thread, which finds it by its name. @public */
export const writeTextJob = defineJob(import.meta.url, "writeTextJob", writeText);

async function schemaCheck(schema: Uint8Array): Promise<(text: string) => void> {
  const { checkJson } = await import("./json-schema.ts");
  return (text) => checkJson(text, JSON.parse(Buffer.from(schema).toString()));
}

/** An event, or the end of so many of them. */
interface Event {
  readonly data: string;
  readonly headers?: HttpAnswer["headers"];
  readonly parts?: number;
}

function stream({ lease, answer, ...asked }: Made, form: PartForm, exchange: HttpExchange): Promise<HttpAnswer> {
  const hold = holder(answer, exchange);
  const run = async (write: (event: Event) => Promise<void>): Promise<Event> => {
    let parts = 0;
    const send = async (data: string, headers?: Event["headers"]) => {
      parts++;
      await write({ data, ...(headers && { headers }) });
    };
    try {
      const take = async (part: TextPart, headers: Event["headers"]) => {
        const written = answer.partsOf(part);
        hold();
        for (const each of written) await send(each, headers);
      };
      await inferText(lease, { ...asked, take });
      for (const each of answer.lastParts()) await send(each);
      return { data: "", parts };
    } finally {
      lease.release();
    }
  };
  const toPart = async ({ data, headers }: Event): Promise<HttpAnswer> => ({
    ...{ contentType: "application/json", body: Buffer.from(data) },
    ...(headers && { headers }),
  });
  return answerInParts<Event>({ form }, exchange, { run, toPart });
}
