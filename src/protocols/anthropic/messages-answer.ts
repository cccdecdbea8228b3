import { ServingError } from "../../errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { type PartForm, TYPED_EVENTS } from "../../proxy/part-form.ts";
import type { FinishReason, TextUsage } from "../../serving/infer-text.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { answerText, type TextRoute } from "../text/answer-text.ts";
import {
  type AnswerHead,
  argumentsOf,
  type MadeCall,
  type MadeText,
  newId,
  type TextStep,
  type TextWriter,
} from "../text/text-answer.ts";
import { anthropicError } from "./anthropic-error.ts";
import { readMessagesJob } from "./messages-request.ts";

const ROUTE: TextRoute = { job: readMessagesJob, write: (head) => new BlockWriter(head) };

/** Answers `POST /v1/messages`, whole or in parts. */
export function answerMessages(exchange: HttpExchange, service: InferenceService): Promise<HttpAnswer> {
  return answerText(exchange, service, ROUTE);
}

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

/** Kinds of blocks, each with its delta's type and the member that both have. */
const TEXTS = {
  text: ["text", "text_delta", "text"],
  refusal: ["text", "text_delta", "text"],
  reasoning: ["thinking", "thinking_delta", "thinking"],
} as const;

/** Writes an answer as Anthropic's blocks. */
class BlockWriter implements TextWriter {
  readonly form: PartForm = { ...TYPED_EVENTS, errorForm: anthropicError };
  readonly keeps = "nothing";
  readonly callPrefix = "toolu_";
  readonly #model: string;
  readonly #id = newId("msg_");
  /** Of the last block. */
  #index = -1;
  /** Type of the block that has not ended. */
  #open: string | undefined;

  constructor({ model }: AnswerHead) {
    this.#model = model;
  }

  begin(): readonly string[] {
    const message = { ...this.#fields(), content: [], ...stopOf(undefined), usage: toUsage(undefined) };
    return [event("message_start", { message }), event("ping", {})];
  }

  step(step: TextStep): readonly string[] {
    if (step.kind === "arguments") {
      if (this.#open !== "tool_use") throw lateArguments();
      return [this.#delta(this.#index, { type: "input_json_delta", partial_json: step.text })];
    }
    if (step.kind === "call") {
      const { id, name } = step.call;
      return this.#beginBlock("tool_use", { id, name, input: {} });
    }
    const [type, delta, member] = TEXTS[step.kind];
    const empty = type === "thinking" ? { thinking: "", signature: "" } : { text: "" };
    const begun = this.#open === type ? [] : this.#beginBlock(type, empty);
    return [...begun, this.#delta(this.#index, { type: delta, [member]: step.text })];
  }

  end({ finish, usage }: MadeText): readonly string[] {
    const last = event("message_delta", { delta: stopOf(finish), usage: toUsage(usage) });
    return [...this.#endBlock(), last, event("message_stop", {})];
  }

  whole({ text, reasoning, refusal, calls, finish, usage }: MadeText): object {
    const content = [
      ...(reasoning === "" ? [] : [{ type: "thinking", thinking: reasoning, signature: "" }]),
      ...[text, refusal].flatMap((each) => (each === "" ? [] : [{ type: "text", text: each }])),
      ...calls.map(toBlock),
    ];
    return { ...this.#fields(), content, ...stopOf(finish), usage: toUsage(usage) };
  }

  #beginBlock(type: string, members: object): readonly string[] {
    const before = this.#endBlock();
    this.#open = type;
    this.#index++;
    return [...before, event("content_block_start", { index: this.#index, content_block: { type, ...members } })];
  }

  #endBlock(): readonly string[] {
    if (this.#open === undefined) return [];
    this.#open = undefined;
    return [event("content_block_stop", { index: this.#index })];
  }

  #delta(index: number, delta: object): string {
    return event("content_block_delta", { index, delta });
  }

  #fields(): object {
    return { id: this.#id, type: "message", role: "assistant", model: this.#model };
  }
}

/** A block that has ended takes no more. */
function lateArguments(): ServingError {
  const message =
    "The hook chat gave more arguments of a tool call behind a text; a stream of this route has them before.";
  return new ServingError("internal", message);
}

/** A typed event without its beginning, which all have. */
function event(type: string, members: object): string {
  return `${type}\ndata: ${JSON.stringify({ type, ...members })}`;
}

function stopOf(finish: FinishReason | undefined): object {
  return { stop_reason: finish === undefined ? null : STOP_REASONS[finish], stop_sequence: null };
}

/** Clients need both numbers: 0 = the function does not tell. */
function toUsage({ promptTokens = 0, completionTokens = 0 }: TextUsage = {}): object {
  return { input_tokens: promptTokens, output_tokens: completionTokens };
}

function toBlock(call: MadeCall): object {
  return { type: "tool_use", id: call.id, name: call.name, input: argumentsOf(call) };
}
