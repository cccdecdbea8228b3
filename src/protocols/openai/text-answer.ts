import { randomUUID } from "node:crypto";
import { failedPrecondition, ServingError } from "../../errors.ts";
import type { TextPart } from "../../serving/infer-text.ts";

/** Characters of a whole answer, which is written in one go; one in parts may be of any length. */
const MAX_WHOLE = 16 * 1024 * 1024;
/** Parts of a whole answer, with the calls in them: more than any model gives tokens in one answer. */
const MAX_PIECES = 256 * 1024;
/** Memory of a part, or of a call, beside its characters. */
const PIECE_BYTES = 128;

/** A difference between two states of a message, as the parts of a stream have it. */
interface Delta {
  readonly role?: "assistant";
  readonly content?: string;
  readonly reasoning_content?: string;
  readonly refusal?: string;
  readonly tool_calls?: readonly object[];
}

interface MadeCall {
  readonly id: string;
  readonly name: string;
  arguments: string;
}

/** Facts that all parts of an answer have. */
interface AnswerHead {
  readonly model: string;
  /** True = the last part has the usage. */
  readonly includeUsage: boolean;
  /** Text before the answer. */
  readonly echo: string;
}

/** The form of an answer: of a conversation, or of a text that goes on. */
export interface TextForm {
  readonly idPrefix: string;
  readonly object: string;
  readonly partObject: string;
  /** The only choice of a part. */
  readonly part: (delta: Delta) => object;
  /** That of a whole answer. */
  readonly whole: (message: WholeMessage) => object;
  /** Begins a stream; undefined = nothing does. */
  readonly first: Delta | undefined;
}

/** All that a message consists of. */
interface WholeMessage {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly MadeCall[];
}

/** An answer of chat/completions. */
export const CHAT: TextForm = {
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
export const COMPLETION: TextForm = {
  idPrefix: "cmpl-",
  object: "text_completion",
  partObject: "text_completion",
  part: ({ content = "" }) => ({ text: content }),
  whole: ({ text }) => ({ text }),
  first: undefined,
};

/** One answer while it is made: its parts one by one, or all of it. */
export class TextAnswer {
  readonly #form: TextForm;
  readonly #head: AnswerHead;
  readonly #id: string;
  readonly #created = Math.floor(Date.now() / 1000);
  readonly #calls: MadeCall[] = [];
  #message = { text: "", reasoning: "", refusal: "" };
  #length: number;
  #pieces = 0;
  #finish: string | undefined;
  #usage: TextPart["usage"];
  #hasBegun = false;

  constructor(form: TextForm, head: AnswerHead) {
    this.#form = form;
    this.#head = head;
    this.#length = head.echo.length;
    this.#id = form.idPrefix + randomUUID().replaceAll("-", "");
  }

  /** The parts of a stream that one part of the function becomes. */
  partsOf(part: TextPart): readonly object[] {
    const begun = this.#begin();
    this.#note(part);
    const { text = "", reasoning = "", refusal = "" } = part;
    const deltas: readonly Delta[] = [
      ...(reasoning === "" ? [] : [{ reasoning_content: reasoning }]),
      ...(text === "" ? [] : [{ content: text }]),
      ...(refusal === "" ? [] : [{ refusal }]),
      ...this.#callDeltas(part, false),
    ];
    return [...begun, ...deltas.map((delta) => this.#part(delta))];
  }

  /** The last parts of a stream. */
  lastParts(): readonly object[] {
    const begun = this.#begin();
    const last = this.#part({}, this.#finishReason());
    const { includeUsage } = this.#head;
    const usage = { ...this.#fields(this.#form.partObject), choices: [], usage: this.#usageFields() ?? null };
    return [...begun, last, ...(includeUsage ? [usage] : [])];
  }

  /** Memory of the whole answer so far: its characters, and the text that they become. */
  get heldBytes(): number {
    return 2 * this.#length + PIECE_BYTES * this.#pieces;
  }

  /** Adds a part to the whole answer; throws `failed_precondition` if that would be too long. */
  add(part: TextPart): void {
    const { text = "", reasoning = "", refusal = "", toolCalls = [] } = part;
    this.#length += text.length + reasoning.length + refusal.length;
    for (const { id = "", name = "", arguments: given } of toolCalls)
      this.#length += id.length + name.length + given.length;
    this.#pieces += 1 + toolCalls.length;
    if (this.#length > MAX_WHOLE) throw tooLong(`${MAX_WHOLE} characters`);
    if (this.#pieces > MAX_PIECES) throw tooLong(`${MAX_PIECES} parts`);
    this.#note(part);
    this.#message.text += text;
    this.#message.reasoning += reasoning;
    this.#message.refusal += refusal;
    this.#callDeltas(part, true);
  }

  /** The whole answer. */
  whole(): object {
    const { text, ...rest } = this.#message;
    const message = { text: this.#head.echo + text, ...rest, calls: this.#calls };
    const choice = { index: 0, ...this.#form.whole(message), logprobs: null, finish_reason: this.#finishReason() };
    const usage = this.#usageFields();
    return { ...this.#fields(this.#form.object), choices: [choice], ...(usage !== undefined && { usage }) };
  }

  #begin(): readonly object[] {
    if (this.#hasBegun) return [];
    this.#hasBegun = true;
    const { echo } = this.#head;
    const { first } = this.#form;
    return [...(first ? [this.#part(first)] : []), ...(echo === "" ? [] : [this.#part({ content: echo })])];
  }

  #note({ finishReason, usage }: TextPart): void {
    this.#finish = finishReason ?? this.#finish;
    this.#usage = usage ?? this.#usage;
  }

  /** A call without a name goes on with the arguments of the one before. */
  #callDeltas({ toolCalls = [] }: TextPart, isKept: boolean): readonly Delta[] {
    return toolCalls.flatMap(({ id, name, arguments: given }) => {
      const begun = name === undefined ? [] : [this.#beginCall(name, id)];
      const call = this.#calls.at(-1);
      if (call === undefined) throw noCall();
      if (isKept) call.arguments += given;
      const more = { index: this.#calls.length - 1, function: { arguments: given } };
      return [...begun, ...(given === "" ? [] : [{ tool_calls: [more] }])];
    });
  }

  #beginCall(name: string, id = `call_${randomUUID().replaceAll("-", "")}`): Delta {
    this.#calls.push({ id, name, arguments: "" });
    const made = { index: this.#calls.length - 1, id, type: "function", function: { name, arguments: "" } };
    return { tool_calls: [made] };
  }

  #finishReason(): string {
    return this.#finish ?? (this.#calls.length > 0 ? "tool_calls" : "stop");
  }

  #part(delta: Delta, finish: string | null = null): object {
    const choice = { index: 0, ...this.#form.part(delta), logprobs: null, finish_reason: finish };
    const usage = this.#head.includeUsage && { usage: null };
    return { ...this.#fields(this.#form.partObject), choices: [choice], ...usage };
  }

  #fields(object: string): object {
    return { id: this.#id, object, created: this.#created, model: this.#head.model };
  }

  #usageFields(): object | undefined {
    if (this.#usage === undefined) return undefined;
    const { promptTokens = 0, completionTokens = 0 } = this.#usage;
    const total = promptTokens + completionTokens;
    return { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: total };
  }
}

/** Asking again, as clients do after an error that may pass, would make all of it once more. */
function tooLong(limit: string): ServingError {
  return failedPrecondition(`The answer has more than ${limit}; ask for it in parts, with "stream": true.`);
}

function noCall(): ServingError {
  return new ServingError(
    "internal",
    "The hook chat gave arguments of a tool call without a name before any call; expected one with a name.",
  );
}
