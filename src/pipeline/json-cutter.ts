import type { CancelSignal } from "../platform/async/cancel-source.ts";
import { LongWork } from "../platform/limits/long-work.ts";
import { IS_OTHER, JSON_CHARACTERS } from "../tensor/codecs/json/json-extent.ts";
import { markPlainData, markPlainLists } from "../tensor/plain-list.ts";

/** Bytes of a piece of a JSON text: what takes some milliseconds to parse. */
const PIECE_BYTES = 64 * 1024;
/** Numbers of a step: its kind and a range of the text. */
export const STEP_SIZE = 3;
/**
 * Steps by which a value is put together: `list`, `object` and `text` begin one, under the key in their range if that
 * is not empty, `values` adds elements or members to it, `part` a part of a text, and `end` ends it.
 */
const STEP = { list: 0, object: 1, text: 2, values: 3, part: 4, end: 5 } as const;

const { QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COLON, COMMA } = JSON_CHARACTERS;
const U = 0x75;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const EMPTY_LIST = /\[\s*\]/;

/** Characters between values that belong to none. */
const BETWEEN: ReadonlySet<number> = new Set(Buffer.from(" \t\r\n,"));

/** A range of the text. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** A list or an object around the present place. */
interface Container {
  readonly isObject: boolean;
  /** Its first byte, or that of its key. */
  readonly start: number;
  /** The place behind its bracket. */
  readonly inner: number;
  readonly key: Range;
}

const NO_KEY: Range = { start: 0, end: 0 };

/**
 * Cuts the text of a JSON value into pieces that are small enough to be parsed one after the other, and returns the
 * steps that make the value of them, {@link STEP_SIZE} numbers each. The text is known to be JSON.
 */
export function cutJson(json: Uint8Array, pieceBytes = PIECE_BYTES): Uint32Array<ArrayBuffer> {
  return new JsonCutter(json, pieceBytes).cut();
}

class JsonCutter {
  readonly #json: Uint8Array;
  readonly #pieceBytes: number;
  readonly #steps: number[] = [];
  readonly #around: Container[] = [];
  /** Those of them, from the outermost on, that steps have begun. */
  #begun = 0;
  /** Place from which on the text is in no piece yet. */
  #from: number;
  #key = NO_KEY;
  #lastText = NO_KEY;

  constructor(json: Uint8Array, pieceBytes: number) {
    this.#json = json;
    this.#pieceBytes = pieceBytes;
    this.#from = BYTE_ORDER_MARK.every((byte, index) => json[index] === byte) ? BYTE_ORDER_MARK.length : 0;
  }

  cut(): Uint32Array<ArrayBuffer> {
    const json = this.#json;
    for (let at = 0; at < json.length; at++) {
      const byte = json[at]!;
      if (IS_OTHER[byte] === 1) continue;
      if (byte === QUOTE) at = this.#passText(at);
      else if (byte === COMMA) this.#cutAt(at);
      else if (byte === COLON) this.#key = this.#lastText;
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#enter(at, byte === OPEN_OBJECT);
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) this.#leave(at);
    }
    this.#addValues(json.length);
    return Uint32Array.from(this.#steps);
  }

  #enter(at: number, isObject: boolean): void {
    const key = this.#keyHere();
    const start = key === NO_KEY ? at : key.start;
    this.#around.push({ isObject, start, inner: at + 1, key });
  }

  #leave(at: number): void {
    if (this.#begun === this.#around.length) {
      this.#addValues(at);
      this.#add(STEP.end);
      this.#begun--;
      this.#from = at + 1;
    }
    this.#around.pop();
  }

  /** The text before `at` consists of whole values. */
  #cutAt(at: number): void {
    while (at - this.#from >= this.#pieceBytes && this.#begun < this.#around.length) this.#beginNext();
    if (at - this.#from >= this.#pieceBytes) this.#addValues(at);
  }

  #beginNext(): void {
    const { isObject, start, inner, key } = this.#around[this.#begun++]!;
    this.#addValues(start);
    this.#add(isObject ? STEP.object : STEP.list, key);
    this.#from = inner;
  }

  /** Returns the place of the quote that ends a text. */
  #passText(start: number): number {
    const json = this.#json;
    const cuts = [start + 1];
    let at = start + 1;
    for (; json[at] !== QUOTE && at < json.length; at++) {
      if (at - cuts.at(-1)! >= this.#pieceBytes && !isContinued(json[at]!)) cuts.push(at);
      if (json[at] === BACKSLASH) at += json[at + 1] === U ? 5 : 1;
    }
    this.#lastText = { start, end: at + 1 };
    if (cuts.length > 1 && !this.#isKey(at + 1)) this.#addText(start, [...cuts, at]);
    return at;
  }

  #addText(start: number, cuts: readonly number[]): void {
    const key = this.#keyHere();
    while (this.#begun < this.#around.length) this.#beginNext();
    this.#addValues(key === NO_KEY ? start : key.start);
    this.#add(STEP.text, key);
    for (let part = 1; part < cuts.length; part++) this.#add(STEP.part, { start: cuts[part - 1]!, end: cuts[part]! });
    this.#add(STEP.end);
    this.#from = cuts.at(-1)! + 1;
  }

  #keyHere(): Range {
    return this.#around.at(-1)?.isObject === true ? this.#key : NO_KEY;
  }

  #isKey(after: number): boolean {
    let at = after;
    while (at < this.#json.length && BETWEEN.has(this.#json[at]!) && this.#json[at] !== COMMA) at++;
    return this.#json[at] === COLON;
  }

  #addValues(end: number): void {
    let [from, to] = [this.#from, end];
    while (from < to && BETWEEN.has(this.#json[from]!)) from++;
    while (from < to && BETWEEN.has(this.#json[to - 1]!)) to--;
    if (from < to) this.#add(STEP.values, { start: from, end: to });
    this.#from = end;
  }

  #add(kind: number, { start, end }: Range = NO_KEY): void {
    this.#steps.push(kind, start, end);
  }
}

/** True for a byte of a character of UTF-8 that is not its first. */
export function isContinued(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** A mark of the byte order is a character here: a text may be cut before one. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A JSON text with the steps that make its value, as the cutter gives them. */
interface CutJson {
  readonly json: Uint8Array;
  readonly steps: Uint32Array;
}

/**
 * The value of a JSON text, parsed piece after piece, so that other requests go on meanwhile. Throws the signal's
 * reason when that aborts.
 */
export async function parsePieces({ json, steps }: CutJson, signal: CancelSignal): Promise<unknown> {
  const builder = new JsonBuilder();
  const work = new LongWork(signal);
  for (let at = 0; at < steps.length; at += STEP_SIZE) {
    addStep(builder, { json, steps }, at);
    if (work.isOver()) await work.next();
  }
  return builder.value;
}

/** {@link parsePieces} without turns. */
export function parseAtOnce({ json, steps }: CutJson): unknown {
  const builder = new JsonBuilder();
  for (let at = 0; at < steps.length; at += STEP_SIZE) addStep(builder, { json, steps }, at);
  return builder.value;
}

function addStep(builder: JsonBuilder, { json, steps }: CutJson, at: number): void {
  builder.add(steps[at]!, decoder.decode(json.subarray(steps[at + 1], steps[at + 2])));
}

type Begun =
  | { readonly kind: "list"; readonly list: unknown[] }
  | { readonly kind: "object"; readonly object: Record<string, unknown> }
  | { readonly kind: "text"; readonly parts: string[]; readonly key: string };

/** Puts a value together from the texts of its steps. */
class JsonBuilder {
  readonly #root: unknown[] = [];
  /** The value under way, and those around it. */
  readonly #begun: Begun[] = [{ kind: "list", list: this.#root }];

  get value(): unknown {
    return this.#root[0];
  }

  add(step: number, text: string): void {
    if (step === STEP.values) this.#addValues(text);
    else if (step === STEP.part) (this.#last as Begun & { kind: "text" }).parts.push(JSON.parse(`"${text}"`));
    else if (step === STEP.end) this.#end();
    else this.#begin(step, text);
  }

  get #last(): Begun {
    return this.#begun.at(-1) as Begun;
  }

  #begin(step: number, text: string): void {
    const key: string = text === "" ? "" : JSON.parse(text);
    const begun = beginOf(step, key);
    if (begun.kind !== "text") this.#put(key, begun.kind === "list" ? begun.list : begun.object);
    this.#begun.push(begun);
  }

  #end(): void {
    const ended = this.#begun.pop() as Begun;
    if (ended.kind === "text") this.#put(ended.key, ended.parts.join(""));
    else if (ended.kind === "object") markPlainData(ended.object);
  }

  #addValues(text: string): void {
    const last = this.#last;
    const parsed: unknown = JSON.parse(last.kind === "list" ? `[${text}]` : `{${text}}`);
    if (EMPTY_LIST.test(text)) markPlainLists(parsed);
    if (last.kind === "list") for (const value of parsed as unknown[]) last.list.push(value);
    else for (const [key, value] of Object.entries(parsed as object)) this.#put(key, value);
  }

  #put(key: string, value: unknown): void {
    const last = this.#last;
    if (last.kind === "list") last.list.push(value);
    else if (last.kind === "object") setMember(last.object, key, value);
  }
}

function beginOf(step: number, key: string): Begun {
  if (step === STEP.list) return { kind: "list", list: [] };
  return step === STEP.object ? { kind: "object", object: {} } : { kind: "text", parts: [], key };
}

/** As JSON.parse does, to which `__proto__` is a name like others. */
function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}
