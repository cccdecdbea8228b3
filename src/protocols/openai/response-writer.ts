import type { ToldFailure } from "../../proxy/http-errors.ts";
import { type PartForm, TYPED_EVENTS } from "../../proxy/part-form.ts";
import type { FinishReason, TextUsage } from "../../serving/infer-text.ts";
import {
  type AnswerHead,
  type MadeCall,
  type MadeText,
  newId,
  type TextStep,
  type TextWriter,
  tooLong,
} from "../text/text-answer.ts";
import { openaiError } from "./openai-error.ts";

/** The kinds of text: the item and the part that they are in, the part's member, and their events. */
const TEXTS = {
  text: { item: "message", prefix: "msg_", part: "output_text", member: "text", event: "response.output_text" },
  refusal: { item: "message", prefix: "msg_", part: "refusal", member: "refusal", event: "response.refusal" },
  reasoning: {
    item: "reasoning",
    prefix: "rs_",
    part: "reasoning_text",
    member: "text",
    event: "response.reasoning_text",
  },
} as const;

/** Items of an answer, as many as a request has at most: clients send them again. */
const MAX_ITEMS = 4096;

/** An item of an answer while it is made. */
type Item =
  | { readonly kind: keyof typeof TEXTS; readonly id: string; readonly index: number; text: string }
  | { readonly kind: "call"; readonly id: string; readonly index: number; readonly call: MadeCall };

/** Writes an answer as OpenAI's responses: https://platform.openai.com/docs/api-reference/responses-streaming. */
export class ResponseWriter implements TextWriter {
  readonly form: PartForm = { ...TYPED_EVENTS, errorForm: (failure) => this.#error(failure) };
  readonly keeps = "all";
  readonly callPrefix = "call_";
  readonly #head: AnswerHead;
  readonly #id = newId("resp_");
  readonly #created = Math.floor(Date.now() / 1000);
  readonly #items: Item[] = [];
  /** The items that have not ended: a text, and a call whose arguments may go on behind it. */
  readonly #open: { text?: Item; call?: Item } = {};
  #number = 0;

  constructor(head: AnswerHead) {
    this.#head = head;
  }

  begin(): readonly string[] {
    const response = this.#response("in_progress");
    return [this.#event("response.created", { response }), this.#event("response.in_progress", { response })];
  }

  step(step: TextStep): readonly string[] {
    if (step.kind === "call") return this.#beginCall(step.call);
    if (step.kind === "arguments") {
      const { call } = this.#open;
      return call === undefined ? [] : [this.#delta("response.function_call_arguments.delta", call, step.text)];
    }
    const { text: open } = this.#open;
    const begun = open?.kind === step.kind ? [] : this.#beginText(step.kind);
    const item = this.#open.text;
    if (item === undefined || item.kind === "call") return begun;
    item.text += step.text;
    return [...begun, this.#delta(`${TEXTS[step.kind].event}.delta`, item, step.text)];
  }

  *end(made: MadeText): Iterable<string> {
    const status = statusOf(made);
    yield* this.#end("text", status);
    yield* this.#end("call", status);
    yield this.#event(`response.${status}`, { response: this.#ended(made) });
  }

  whole(made: MadeText): object {
    for (const kind of ["reasoning", "text", "refusal"] as const)
      if (made[kind] !== "") this.#items.push({ ...this.#newItem(TEXTS[kind].prefix), kind, text: made[kind] });
    for (const call of made.calls) this.#items.push({ ...this.#newItem("fc_"), kind: "call", call });
    return this.#ended(made);
  }

  #newItem(prefix: string) {
    if (this.#items.length === MAX_ITEMS) throw tooLong(`${MAX_ITEMS} items`);
    return { id: newId(prefix), index: this.#items.length };
  }

  #beginText(kind: keyof typeof TEXTS): readonly string[] {
    const before = [...this.#end("text")];
    const item: Item = { ...this.#newItem(TEXTS[kind].prefix), kind, text: "" };
    this.#open.text = item;
    this.#items.push(item);
    return [
      ...before,
      this.#event("response.output_item.added", { output_index: item.index, item: toItem(item, "in_progress") }),
      this.#event("response.content_part.added", { ...placeOf(item), content_index: 0, part: toPart(kind, "") }),
    ];
  }

  #beginCall(call: MadeCall): readonly string[] {
    const before = [...this.#end("text"), ...this.#end("call")];
    const item: Item = { ...this.#newItem("fc_"), kind: "call", call };
    this.#open.call = item;
    this.#items.push(item);
    const added = { ...toItem(item, "in_progress"), arguments: "" };
    return [...before, this.#event("response.output_item.added", { output_index: item.index, item: added })];
  }

  #delta(type: string, item: Item, delta: string): string {
    const more = item.kind === "call" ? {} : { content_index: 0, ...(item.kind === "text" && { logprobs: [] }) };
    return this.#event(type, { ...placeOf(item), ...more, delta });
  }

  *#end(which: "text" | "call", status: Status = "completed"): Iterable<string> {
    const item = this.#open[which];
    if (item === undefined) return;
    delete this.#open[which];
    yield* this.#lastOf(item);
    yield this.#event("response.output_item.done", { output_index: item.index, item: this.#toEnded(item, status) });
  }

  *#lastOf(item: Item): Iterable<string> {
    const place = placeOf(item);
    if (item.kind === "call") {
      const { name, arguments: given } = item.call;
      yield this.#event("response.function_call_arguments.done", { ...place, name, arguments: given });
      return;
    }
    const { event, member } = TEXTS[item.kind];
    const at = { ...place, content_index: 0 };
    const more = item.kind === "text" ? { logprobs: [] } : {};
    yield this.#event(`${event}.done`, { ...at, ...more, [member]: item.text });
    yield this.#event("response.content_part.done", { ...at, part: toPart(item.kind, item.text) });
  }

  #ended(made: MadeText): object {
    const [status, reason] = [statusOf(made), INCOMPLETE[made.finish]];
    const details = reason === undefined ? null : { reason };
    const output = this.#items.map((item) => this.#toEnded(item, status));
    return { ...this.#response(status), incomplete_details: details, output, usage: toUsage(made.usage) };
  }

  /** Of an answer that is not complete, the last item is not either. */
  #toEnded(item: Item, status: Status): object {
    return toItem(item, item.index === this.#items.length - 1 ? status : "completed");
  }

  #response(status: string): object {
    return {
      ...{ id: this.#id, object: "response", created_at: this.#created, status, error: null, incomplete_details: null },
      ...{ instructions: null, metadata: {}, parallel_tool_calls: true, tool_choice: "auto", tools: [] },
      ...{ temperature: null, top_p: null, max_output_tokens: null, text: { format: { type: "text" } } },
      ...this.#head.told,
      ...{ model: this.#head.model, previous_response_id: null, store: false, output: [], usage: null },
    };
  }

  #event(type: string, members: object): string {
    return `${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#number++, ...members })}`;
  }

  /** An error as the last event of a stream: by its member `error` clients know it, by its type others do. */
  #error(failure: ToldFailure): { readonly body: object } {
    const { body } = openaiError(failure);
    const members = "error" in body && Object(body.error);
    return { body: { ...members, ...body, type: "error", sequence_number: this.#number++ } };
  }
}

type Status = "in_progress" | "completed" | "incomplete";

function statusOf({ finish }: MadeText): "completed" | "incomplete" {
  return INCOMPLETE[finish] === undefined ? "completed" : "incomplete";
}

const INCOMPLETE: Readonly<Partial<Record<FinishReason, string>>> = {
  length: "max_output_tokens",
  content_filter: "content_filter",
};

function placeOf({ id, index }: Item): object {
  return { item_id: id, output_index: index };
}

function toPart(kind: keyof typeof TEXTS, text: string): object {
  const { part, member } = TEXTS[kind];
  return { type: part, [member]: text, ...(kind === "text" && { annotations: [], logprobs: [] }) };
}

/** One that has just begun has no content. */
function toItem(item: Item, status: Status): object {
  const { kind, id } = item;
  if (kind === "call") {
    const { id: call_id, name, arguments: given } = item.call;
    return { id, type: "function_call", status, call_id, name, arguments: given };
  }
  const content = status === "in_progress" ? [] : [toPart(kind, item.text)];
  const own = kind === "reasoning" ? { summary: [] } : { role: "assistant" };
  return { id, type: TEXTS[kind].item, status, ...own, content };
}

/** Clients need all of the numbers: 0 = the function does not tell. */
function toUsage({ promptTokens = 0, completionTokens = 0 }: TextUsage = {}): object {
  return {
    ...{ input_tokens: promptTokens, input_tokens_details: { cached_tokens: 0 } },
    ...{ output_tokens: completionTokens, output_tokens_details: { reasoning_tokens: 0 } },
    total_tokens: promptTokens + completionTokens,
  };
}
