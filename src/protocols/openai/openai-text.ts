import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { EVENTS, type PartForm } from "../../proxy/part-form.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { answerText, type TextRoute } from "../text/answer-text.ts";
import { type AnswerHead, type MadeText, newId, type TextStep, type TextWriter } from "../text/text-answer.ts";
import { readChatJob } from "./chat-request.ts";
import { openaiError } from "./openai-error.ts";
import { ResponseWriter } from "./response-writer.ts";
import { readResponseJob } from "./responses-request.ts";
import { readCompletionJob } from "./text-request.ts";

const STREAM: PartForm = { ...EVENTS, errorForm: openaiError };

const ROUTES: Readonly<Record<"chat" | "completion" | "response", TextRoute>> = {
  chat: { job: readChatJob, write: (head) => new ChoiceWriter(CHAT, head) },
  completion: { job: readCompletionJob, write: (head) => new ChoiceWriter(COMPLETION, head) },
  response: { job: readResponseJob, write: (head) => new ResponseWriter(head) },
};

/** Answers `POST …/chat/completions`, `…/completions` or `…/responses`, whole or in parts. */
export function answerOpenai(
  exchange: HttpExchange,
  service: InferenceService,
  name: keyof typeof ROUTES,
): Promise<HttpAnswer> {
  return answerText(exchange, service, ROUTES[name]);
}

/** A difference between two states of a message, as the parts of a stream have it. */
interface Delta {
  readonly role?: "assistant";
  readonly content?: string;
  readonly reasoning_content?: string;
  readonly refusal?: string;
  readonly tool_calls?: readonly object[];
}

/** The form of an answer: of a conversation, or of a text that goes on. */
interface ChoiceForm {
  readonly idPrefix: string;
  readonly object: string;
  readonly partObject: string;
  /** The only choice of a part. */
  readonly part: (delta: Delta) => object;
  /** That of a whole answer. */
  readonly whole: (made: MadeText) => object;
  /** Begins a stream; undefined = nothing does. */
  readonly first: Delta | undefined;
}

/** An answer of chat/completions. */
const CHAT: ChoiceForm = {
  idPrefix: "chatcmpl-",
  object: "chat.completion",
  partObject: "chat.completion.chunk",
  part: (delta) => ({ delta }),
  whole: ({ text, reasoning, refusal, calls }) => ({
    message: {
      role: "assistant",
      content: text === "" && (calls.length > 0 || refusal !== "") ? null : text,
      refusal: refusal === "" ? null : refusal,
      ...(reasoning !== "" && { reasoning_content: reasoning }),
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ id, ...call }) => ({ id, type: "function", function: call })),
      }),
    },
  }),
  first: { role: "assistant", content: "" },
};

/** An answer of completions. */
const COMPLETION: ChoiceForm = {
  idPrefix: "cmpl-",
  object: "text_completion",
  partObject: "text_completion",
  part: ({ content = "" }) => ({ text: content }),
  whole: ({ text }) => ({ text }),
  first: undefined,
};

/** Facts that the choices of one answer have in common. */
interface SharedFacts {
  readonly id: string;
  readonly created: number;
}

function sharedFacts({ idPrefix }: ChoiceForm): SharedFacts {
  return { id: newId(idPrefix), created: Math.floor(Date.now() / 1000) };
}

/** Writes one of OpenAI's choices; the first one writes what all have in common. */
class ChoiceWriter implements TextWriter {
  readonly form = STREAM;
  readonly keeps = "nothing";
  readonly callPrefix = "call_";
  readonly #form: ChoiceForm;
  readonly #head: AnswerHead;
  readonly #answer: SharedFacts;
  readonly #index: number;

  constructor(form: ChoiceForm, head: AnswerHead, answer = sharedFacts(form), index = 0) {
    this.#form = form;
    this.#head = head;
    this.#answer = answer;
    this.#index = index;
  }

  choice(index: number): TextWriter {
    return new ChoiceWriter(this.#form, this.#head, this.#answer, index);
  }

  begin(): readonly string[] {
    const { first } = this.#form;
    return first === undefined ? [] : [this.#part(first)];
  }

  step(step: TextStep): readonly string[] {
    return [this.#part(toDelta(step))];
  }

  end({ finish }: MadeText): readonly string[] {
    return [this.#part({}, finish)];
  }

  after(choices: readonly MadeText[]): readonly string[] {
    const usage = toUsage(choices, this.#head.count) ?? null;
    const last = { ...this.#fields(this.#form.partObject), choices: [], usage };
    return [...(this.#head.includeUsage ? [JSON.stringify(last)] : []), "[DONE]"];
  }

  whole(first: MadeText, others: readonly MadeText[]): object {
    const all = [first, ...others];
    const choices = all.map((made, index) => ({
      ...{ index, ...this.#form.whole(made), logprobs: null, finish_reason: made.finish },
    }));
    const usage = toUsage(all, this.#head.count);
    return { ...this.#fields(this.#form.object), choices, ...(usage !== undefined && { usage }) };
  }

  #part(delta: Delta, finish: string | null = null): string {
    const choice = { index: this.#index, ...this.#form.part(delta), logprobs: null, finish_reason: finish };
    const usage = this.#head.includeUsage && { usage: null };
    return JSON.stringify({ ...this.#fields(this.#form.partObject), choices: [choice], ...usage });
  }

  #fields(object: string): object {
    return { id: this.#answer.id, object, created: this.#answer.created, model: this.#head.model };
  }
}

function toDelta(step: TextStep): Delta {
  if (step.kind === "arguments") return { tool_calls: [{ index: step.index, function: { arguments: step.text } }] };
  if (step.kind === "call") {
    const { index, call } = step;
    return { tool_calls: [{ index, id: call.id, type: "function", function: { name: call.name, arguments: "" } }] };
  }
  return { [MEMBERS[step.kind]]: step.text };
}

const MEMBERS = { text: "content", reasoning: "reasoning_content", refusal: "refusal" } as const;

/** Each prompt, which has so many choices, counts once, and the tokens of all choices. */
function toUsage(choices: readonly MadeText[], count: number): object | undefined {
  if (choices.every(({ usage }) => usage === undefined)) return undefined;
  const prompts = new Array<number>(Math.ceil(choices.length / count)).fill(0);
  for (const [index, { usage: { promptTokens = 0 } = {} }] of choices.entries()) {
    const place = Math.floor(index / count);
    prompts[place] = Math.max(prompts[place] ?? 0, promptTokens);
  }
  const prompt = prompts.reduce((sum, tokens) => sum + tokens, 0);
  const completion = choices.reduce((sum, { usage }) => sum + (usage?.completionTokens ?? 0), 0);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}
