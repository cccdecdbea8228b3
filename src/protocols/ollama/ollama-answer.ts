import type { Job } from "../../platform/codec-host/job.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { LINES, type PartForm } from "../../proxy/part-form.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { elementCount } from "../../tensor/tensor.ts";
import { answerWish, readBody } from "../text/answer-text.ts";
import { answerVectors, EMBEDDING_MODELS } from "../text/answer-vectors.ts";
import { leaseFor } from "../text/lease-for.ts";
import {
  type AnswerHead,
  argumentsOf,
  type MadeCall,
  type MadeText,
  type TextStep,
  type TextWriter,
} from "../text/text-answer.ts";
import { jsonAnswer } from "../text-answer.ts";
import { servedName } from "./ollama-models.ts";
import {
  type OllamaWish,
  readEmbeddingJob,
  readGenerateJob,
  readOllamaChatJob,
  readOllamaEmbedJob,
} from "./ollama-request.ts";

/** Members of an item for its texts, which differ between the two routes. */
type ToItem = (text: string, more?: { readonly thinking?: string; readonly calls?: readonly MadeCall[] }) => object;

interface OllamaRoute {
  readonly job: Job<[Uint8Array], OllamaWish>;
  readonly toItem: ToItem;
}

const ROUTES: Readonly<Record<"chat" | "generate", OllamaRoute>> = {
  chat: {
    job: readOllamaChatJob,
    toItem: (content, { thinking, calls = [] } = {}) => ({
      message: {
        ...{ role: "assistant", content },
        ...(thinking && { thinking }),
        ...(calls.length > 0 && { tool_calls: calls.map(toCall) }),
      },
    }),
  },
  generate: {
    job: readGenerateJob,
    toItem: (response, { thinking } = {}) => ({ response, ...(thinking && { thinking }) }),
  },
};

const STREAM: PartForm = { ...LINES, hasNoCodes: true };

/** Answers `POST /api/chat` or `POST /api/generate`, in parts unless the client wants it whole. */
export async function answerOllama(
  exchange: HttpExchange,
  service: InferenceService,
  name: keyof typeof ROUTES,
): Promise<HttpAnswer> {
  const arrivedMs = performance.now();
  const { job, toItem } = ROUTES[name];
  const read = await readBody(exchange, job, await exchange.readBody());
  const wish = { ...read, model: await servedName(read.model, service, exchange.callInfo()) };
  if (wish.isEmpty) return answerEmpty(wish, toItem, { exchange, service, asked: read.model });
  const write = (head: AnswerHead) => new ItemWriter({ ...head, model: read.model || head.model }, toItem);
  return answerWish({ wish, arrivedMs, write }, exchange, service);
}

/** A request, and the name that it has for the model, which answers repeat; empty = none. */
interface AskedModel {
  readonly exchange: HttpExchange;
  readonly service: InferenceService;
  readonly asked: string;
}

/** A request without a text, which Ollama answers once the model is loaded. */
async function answerEmpty(
  { model, requests }: OllamaWish,
  toItem: ToItem,
  { exchange, service, asked }: AskedModel,
): Promise<HttpAnswer> {
  exchange.record.model = model;
  const entries = requests.map(({ entry }) => entry);
  const lease = await leaseFor(service, { model, entries }, exchange.callInfo());
  lease.release();
  const head = { model: asked || lease.description.model, created_at: new Date().toISOString() };
  return jsonAnswer({ ...head, ...toItem(""), done: true, done_reason: "load" });
}

/** Writes an answer as Ollama's items. */
class ItemWriter implements TextWriter {
  readonly form = STREAM;
  readonly keeps = "calls";
  readonly callPrefix = "call_";
  readonly #head: AnswerHead;
  readonly #toItem: ToItem;
  readonly #leasedMs = performance.now();
  /** A call whose arguments may go on until the next one, behind texts too: clients get it as one item. */
  #call: MadeCall | undefined;

  constructor(head: AnswerHead, toItem: ToItem) {
    this.#head = head;
    this.#toItem = toItem;
  }

  begin(): readonly string[] {
    return [];
  }

  step(step: TextStep): readonly string[] {
    if (step.kind === "arguments") return [];
    if (step.kind === "call") {
      const before = this.#endCall();
      this.#call = step.call;
      return before;
    }
    const isThought = step.kind === "reasoning";
    return [this.#part(isThought ? this.#toItem("", { thinking: step.text }) : this.#toItem(step.text))];
  }

  end(made: MadeText): readonly string[] {
    return [...this.#endCall(), JSON.stringify(this.#last(this.#toItem(""), made))];
  }

  whole(made: MadeText): object {
    const { text, refusal, reasoning: thinking, calls } = made;
    return this.#last(this.#toItem(text + refusal, { thinking, calls }), made);
  }

  #endCall(): readonly string[] {
    const call = this.#call;
    this.#call = undefined;
    return call === undefined ? [] : [this.#part(this.#toItem("", { calls: [call] }))];
  }

  #part(item: object): string {
    return JSON.stringify({ ...this.#fields(), ...item, done: false });
  }

  #last(item: object, { finish, usage, begunMs }: MadeText): object {
    const [endMs, leasedMs, { arrivedMs }] = [performance.now(), this.#leasedMs, this.#head];
    return {
      ...this.#fields(),
      ...item,
      ...{ done: true, done_reason: finish === "length" ? "length" : "stop" },
      ...{ total_duration: nanoseconds(arrivedMs, endMs), load_duration: nanoseconds(arrivedMs, leasedMs) },
      prompt_eval_count: usage?.promptTokens,
      prompt_eval_duration: nanoseconds(leasedMs, begunMs ?? endMs),
      eval_count: usage?.completionTokens,
      eval_duration: nanoseconds(begunMs ?? endMs, endMs),
    };
  }

  #fields(): object {
    return { model: this.#head.model, created_at: new Date().toISOString() };
  }
}

function nanoseconds(fromMs: number, toMs: number): number {
  return Math.round((toMs - fromMs) * 1e6);
}

function toCall(call: MadeCall): object {
  return { id: call.id, function: { name: call.name, arguments: argumentsOf(call) } };
}

/** Answers `POST /api/embed`, or the older `POST /api/embeddings` with one vector. */
export async function answerOllamaVectors(
  exchange: HttpExchange,
  service: InferenceService,
  isOlder: boolean,
): Promise<HttpAnswer> {
  const arrivedMs = performance.now();
  const wish = await readBody(exchange, isOlder ? readEmbeddingJob : readOllamaEmbedJob, await exchange.readBody());
  const model = await servedName(wish.model, service, exchange.callInfo());
  const load_duration = nanoseconds(arrivedMs, performance.now());
  if (elementCount(wish.texts.shape) === 0)
    return answerNoVectors(model, isOlder, { exchange, service, asked: wish.model });
  return answerVectors(exchange, service, {
    ...wish,
    model,
    frameOf: ({ promptTokens: prompt_eval_count }) => {
      const facts = { total_duration: nanoseconds(arrivedMs, performance.now()), load_duration, prompt_eval_count };
      const after = `,${JSON.stringify(facts).slice(1)}`;
      const texts = isOlder ? (['{"embedding":', ",", "}"] as const) : (['{"embeddings":[', "],", after] as const);
      return { isBase64: false, isIndexed: false, texts, ...(wish.model !== "" && { model: wish.model }) };
    },
  });
}

/** A request without a text, which Ollama answers once the model is loaded. */
async function answerNoVectors(
  model: string,
  isOlder: boolean,
  { exchange, service, asked }: AskedModel,
): Promise<HttpAnswer> {
  exchange.record.model = model;
  const lease = await leaseFor(service, { model, entries: ["embed"] }, exchange.callInfo(), EMBEDDING_MODELS);
  lease.release();
  const head = { model: asked || lease.description.model };
  return jsonAnswer({ ...head, ...(isOlder ? { embedding: [] } : { embeddings: [] }) });
}
