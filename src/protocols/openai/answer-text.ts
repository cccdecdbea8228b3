import type { Job } from "../../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { answerInParts } from "../../proxy/answer-parts.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { EVENTS, type PartForm } from "../../proxy/part-form.ts";
import { inferText, type TextPart } from "../../serving/infer-text.ts";
import type { CallOptions, InferenceService, Lease } from "../../serving/inference-service.ts";
import { jsonAnswer } from "../text-answer.ts";
import { readChatJob } from "./chat-request.ts";
import { leaseFor } from "./lease-for.ts";
import { openaiError } from "./openai-error.ts";
import { CHAT, COMPLETION, TextAnswer, type TextForm } from "./text-answer.ts";
import { readCompletionJob, type TextWish } from "./text-request.ts";

/** A route whose answer is a text. */
interface TextRoute {
  /** The function of hooks that answers. */
  readonly entry: string;
  readonly job: Job<[Uint8Array], TextWish>;
  readonly form: TextForm;
}

const ROUTES: Readonly<Record<"chat" | "complete", TextRoute>> = {
  chat: { entry: "chat", job: readChatJob, form: CHAT },
  complete: { entry: "complete", job: readCompletionJob, form: COMPLETION },
};

/** Answers `POST …/chat/completions` or `POST …/completions`, whole or in parts. */
export async function answerText(
  exchange: HttpExchange,
  service: InferenceService,
  name: keyof typeof ROUTES,
): Promise<HttpAnswer> {
  const { entry, job, form } = ROUTES[name];
  const body = await exchange.readBody();
  const wish = await readBody(exchange, job, body);
  exchange.record.model = wish.model;
  const call = exchange.callInfo();
  const lease = await leaseFor(service, { model: wish.model, entry }, call);
  const { model } = lease.description;
  const { request, includeUsage } = wish;
  const head = { model, includeUsage, echo: Buffer.from(wish.echo).toString() };
  const made = { lease, entry, call, request, answer: new TextAnswer(form, head) };
  return wish.isStream ? stream(made, exchange) : whole(made, exchange);
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
  readonly request: Uint8Array;
  readonly answer: TextAnswer;
}

async function whole({ lease, answer, ...asked }: Made, exchange: HttpExchange): Promise<HttpAnswer> {
  let headers: HttpAnswer["headers"] = {};
  let held = 0;
  const hold = () => {
    const bytes = answer.heldBytes;
    exchange.hold(bytes - held);
    held = bytes;
  };
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
  return { ...jsonAnswer(answer.whole()), headers };
}

const STREAM: PartForm = { ...EVENTS, errorForm: openaiError };

/** An event, or the end of so many of them. */
interface Event {
  readonly data: string;
  readonly headers?: HttpAnswer["headers"];
  readonly parts?: number;
}

function stream({ lease, answer, ...asked }: Made, exchange: HttpExchange): Promise<HttpAnswer> {
  const run = async (write: (event: Event) => Promise<void>): Promise<Event> => {
    let parts = 0;
    const send = async (data: string, headers?: Event["headers"]) => {
      parts++;
      await write({ data, ...(headers && { headers }) });
    };
    try {
      const take = async (part: TextPart, headers: Event["headers"]) => {
        for (const each of answer.partsOf(part)) await send(JSON.stringify(each), headers);
      };
      await inferText(lease, { ...asked, take });
      for (const each of answer.lastParts()) await send(JSON.stringify(each));
      await send("[DONE]");
      return { data: "", parts };
    } finally {
      lease.release();
    }
  };
  const toPart = async ({ data, headers }: Event): Promise<HttpAnswer> => ({
    ...{ contentType: "application/json", body: Buffer.from(data) },
    ...(headers && { headers }),
  });
  return answerInParts<Event>({ form: STREAM }, exchange, { run, toPart });
}
