import { randomUUID } from "node:crypto";
import { failedPrecondition, ServingError } from "../../errors.ts";
import type { PartForm } from "../../proxy/part-form.ts";
import type { FinishReason, TextPart, TextUsage, TimedText } from "../../serving/infer-text.ts";
import { isObject } from "../../tensor/record.ts";

/** Characters of an answer that is kept, as a whole one is: the main thread hands them to another in one go. */
const MAX_KEPT = 4 * 1024 * 1024;
/** Those of a stream, whose last parts may have all of them again, each in one go: JSON may escape each of them. */
const MAX_REPEATED = 1024 * 1024;
/** Parts of an answer that is kept, with the calls in them: more than any model gives tokens in one answer. */
const MAX_PIECES = 256 * 1024;
/** Calls of tools, which the last part of some streams has all of. */
const MAX_CALLS = 4096;
/** Segments and words of a sound, each of which is written beside the texts: those of hours. */
const MAX_SPANS = 32 * 1024;
/** Memory of a part, or of a call, beside its characters. */
const PIECE_BYTES = 128;

/** A call of a tool that an answer has made. */
export interface MadeCall {
  readonly id: string;
  readonly name: string;
  /** Those that have come so far, if the writer keeps them. */
  arguments: string;
}

/** The arguments of a call for a protocol that has them as an object; throws `internal` if they are none. */
export function argumentsOf({ name, arguments: given }: MadeCall): object {
  try {
    const value: unknown = JSON.parse(given === "" ? "{}" : given);
    if (isObject(value)) return value;
  } catch {
    // It is no JSON.
  }
  const message = `The hook chat called the tool ${name} with arguments that are no JSON object, which this route needs.`;
  throw new ServingError("internal", message);
}

/** More of an answer: of one of its texts, a call of a tool, or more of the arguments of the call of that index. */
export type TextStep =
  | { readonly kind: "text" | "reasoning" | "refusal"; readonly text: string }
  | { readonly kind: "call"; readonly index: number; readonly call: MadeCall }
  | { readonly kind: "arguments"; readonly index: number; readonly text: string };

/** Facts about a sound beside its text, of all parts of an answer. */
interface HeardSound extends Pick<TextPart, "language" | "duration"> {
  readonly segments: TimedText<"text">[];
  readonly words: TimedText<"word">[];
}

/** An answer at its end. */
export interface MadeText {
  /** Empty unless it is the text of a sound. */
  readonly heard: HeardSound;
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly MadeCall[];
  readonly finish: FinishReason;
  /** Undefined = the function does not tell. */
  readonly usage: TextUsage | undefined;
  /** Time of its first part, as `performance.now()` tells it; undefined = it has none. */
  readonly begunMs: number | undefined;
}

/** Facts that concern all of an answer. */
export interface AnswerHead {
  readonly model: string;
  /** True = the last part has the usage. */
  readonly includeUsage: boolean;
  /** Text before the answer. */
  readonly echo: string;
  /** Members of the request that the answer repeats. */
  readonly told: object;
  /** Choices of one prompt, which come after each other. */
  readonly count: number;
  /** Time at which the request came, as `performance.now()` tells it. */
  readonly arrivedMs: number;
}

/** Writes one answer in the form of a protocol: its parts one by one, or all of it. */
export interface TextWriter {
  /** The form of its stream. */
  readonly form: PartForm;
  /** Parts of a stream that it needs at the end: the arguments of calls, or all, of which it keeps the texts itself. */
  readonly keeps: "nothing" | "calls" | "all";
  /** Begins the id of a call that has none. */
  readonly callPrefix: string;
  /** Advice to a client whose whole answer would be too long. Default: to ask for a stream. */
  readonly remedy?: string | undefined;
  /** The parts that begin a stream. */
  begin(): readonly string[];
  /** The parts for more of the answer. */
  step(step: TextStep): readonly string[];
  /** The parts that end a stream, each of which is made once it is asked for. */
  end(made: MadeText): Iterable<string>;
  /** Creates the writer of another choice of the same answer; absent = it has one. */
  choice?(index: number): TextWriter;
  /** The parts behind the ends of all choices; absent = there are none. */
  after?(choices: readonly MadeText[]): readonly string[];
  /** The whole answer, with its other choices: what becomes JSON, or a plain text. */
  whole(made: MadeText, others: readonly MadeText[]): object | string;
}

/** One answer while it is made, or one of several choices: its parts one by one, or all of it. */
export class TextAnswer {
  readonly #writer: TextWriter;
  readonly #calls: MadeCall[] = [];
  #heard: HeardSound = { segments: [], words: [] };
  readonly #texts = { text: "", reasoning: "", refusal: "" };
  readonly #echo: string;
  /** Choices that share the limits. */
  readonly #choices: number;
  #length: number;
  #pieces = 0;
  #spans = 0;
  #finish: FinishReason | undefined;
  #usage: TextUsage | undefined;
  #begunMs: number | undefined;
  #hasBegun = false;

  constructor(writer: TextWriter, echo: string, choices = 1) {
    this.#writer = writer;
    this.#echo = echo;
    this.#choices = choices;
    this.#length = echo.length;
  }

  /** The parts of a stream that one part of the function becomes; throws as {@link add} does if it keeps too much. */
  partsOf(part: TextPart): readonly string[] {
    const begun = this.#begin();
    const steps = this.#stepsOf(part);
    const { keeps } = this.#writer;
    const written = steps.flatMap((step) => {
      const isKept = step.kind === "arguments" && keeps !== "nothing";
      if (isKept) this.#keep(step);
      if (isKept || step.kind === "call" || keeps === "all") this.#count(step, STREAMED);
      return this.#writer.step(step);
    });
    return [...begun, ...written];
  }

  /** The last parts of a stream, each of which is made once it is asked for. */
  *lastParts(): Iterable<string> {
    yield* this.#begin();
    yield* this.#writer.end(this.made());
  }

  /** Memory of the kept part of the answer: its characters, and the text that they become. */
  get heldBytes(): number {
    return 2 * this.#length + PIECE_BYTES * (this.#pieces + this.#spans);
  }

  /** Adds a part to the whole answer; throws `failed_precondition` if that would be too long. */
  add(part: TextPart): void {
    const { remedy = WHOLE.remedy } = this.#writer;
    const limits = { ...WHOLE, remedy };
    this.#pieces++;
    this.#hear(part);
    for (const step of this.#stepsOf(part)) {
      this.#keep(step);
      this.#count(step, limits);
    }
    this.#check(limits);
  }

  /** Its text, if that is all of it, and has come to its end. */
  get finalText(): string | undefined {
    const { text, finish, refusal, calls } = this.made();
    return finish === "stop" && refusal === "" && calls.length === 0 ? text : undefined;
  }

  /** The whole answer with its other choices. */
  whole(others: readonly TextAnswer[] = []): object | string {
    const [own, ...rest] = [this, ...others].map((each) => each.#whole());
    return this.#writer.whole(own as MadeText, rest);
  }

  #whole(): MadeText {
    const { text, ...made } = this.made();
    return { ...made, text: this.#echo + text };
  }

  #begin(): readonly string[] {
    if (this.#hasBegun) return [];
    this.#hasBegun = true;
    const echo = this.#echo === "" ? [] : this.#writer.step({ kind: "text", text: this.#echo });
    return [...this.#writer.begin(), ...echo];
  }

  /** All that has come of it. */
  made(): MadeText {
    const finish = this.#finish ?? (this.#calls.length > 0 ? "tool_calls" : "stop");
    return {
      ...this.#texts,
      heard: this.#heard,
      calls: this.#calls,
      finish,
      usage: this.#usage,
      begunMs: this.#begunMs,
    };
  }

  #stepsOf({ text, reasoning, refusal, toolCalls = [], finishReason, usage }: TextPart): readonly TextStep[] {
    this.#begunMs ??= performance.now();
    this.#finish = finishReason ?? this.#finish;
    this.#usage = usage ?? this.#usage;
    const steps: TextStep[] = [];
    if (reasoning) steps.push({ kind: "reasoning", text: reasoning });
    if (text) steps.push({ kind: "text", text });
    if (refusal) steps.push({ kind: "refusal", text: refusal });
    // A call without a name goes on with the arguments of the one before.
    for (const { id, name, arguments: given } of toolCalls) {
      if (name !== undefined) steps.push(this.#beginCall(name, id));
      const index = this.#calls.length - 1;
      if (index < 0) throw noCall();
      if (given !== "") steps.push({ kind: "arguments", index, text: given });
    }
    return steps;
  }

  #beginCall(name: string, id = newId(this.#writer.callPrefix)): TextStep {
    if (this.#calls.length === MAX_CALLS) throw tooLong(`${MAX_CALLS} calls of tools`);
    const call = { id, name, arguments: "" };
    return { kind: "call", index: this.#calls.push(call) - 1, call };
  }

  #keep(step: TextStep): void {
    if (step.kind === "arguments") (this.#calls[step.index] as MadeCall).arguments += step.text;
    else if (step.kind !== "call") this.#texts[step.kind] += step.text;
  }

  #hear({ segments = [], words = [], language, duration }: TextPart): void {
    const { segments: before, words: wordsBefore } = this.#heard;
    for (const each of segments) before.push(each);
    for (const each of words) wordsBefore.push(each);
    this.#heard = { ...this.#heard, ...(language && { language }), ...(duration !== undefined && { duration }) };
    this.#spans += segments.length + words.length;
    for (const { text } of segments) this.#length += text.length;
    for (const { word } of words) this.#length += word.length;
  }

  #count(step: TextStep, limits: Limits): void {
    const isCall = step.kind === "call";
    this.#length += isCall ? step.call.id.length + step.call.name.length : step.text.length;
    this.#pieces += isCall ? 1 : limits.piecesOfText;
    this.#check(limits);
  }

  #check({ characters, remedy }: Limits): void {
    const [most, pieces] = [characters, MAX_PIECES].map((limit) => Math.floor(limit / this.#choices)) as [
      number,
      number,
    ];
    // The text before it is a part of the request, and has a limit there.
    if (this.#length - this.#echo.length > most) throw tooLong(`${most} characters`, remedy);
    if (this.#pieces > pieces) throw tooLong(`${pieces} parts`, remedy);
    if (this.#spans > MAX_SPANS) throw tooLong(`${MAX_SPANS} segments and words`, remedy);
  }
}

/** Limits of the kept part of an answer. */
interface Limits {
  readonly characters: number;
  /** Pieces that more of a text is, beside the part that it came in. */
  readonly piecesOfText: 0 | 1;
  readonly remedy?: string;
}

const WHOLE = { characters: MAX_KEPT, piecesOfText: 0, remedy: 'ask for it in parts, with "stream": true' } as const;
const STREAMED: Limits = { characters: MAX_REPEATED, piecesOfText: 1 };

/** An id that no other answer, item or call has. */
export function newId(prefix: string): string {
  return prefix + randomUUID().replaceAll("-", "");
}

/** The error for an answer that is too long: asking again, as clients do after others, would make it once more. */
export function tooLong(limit: string, remedy?: string): ServingError {
  return failedPrecondition(`The answer has more than ${limit}${remedy === undefined ? "" : `; ${remedy}`}.`);
}

function noCall(): ServingError {
  return new ServingError(
    "internal",
    "The hook chat gave arguments of a tool call without a name before any call; expected one with a name.",
  );
}
