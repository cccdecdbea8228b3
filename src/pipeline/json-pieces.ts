import { setImmediate } from "node:timers/promises";
import type { CancelSignal } from "../platform/async/cancel-source.ts";
import { markPlainData, markPlainLists } from "../tensor/plain-list.ts";
import { STEP, STEP_SIZE } from "./json-cutter.ts";

/** Milliseconds after which others have their turn. */
const TURN_MS = 5;
const EMPTY_LIST = /\[\s*\]/;
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
  let began = performance.now();
  for (let at = 0; at < steps.length; at += STEP_SIZE) {
    builder.add(steps[at]!, decoder.decode(json.subarray(steps[at + 1], steps[at + 2])));
    if (performance.now() - began < TURN_MS) continue;
    await setImmediate();
    signal.throwIfAborted();
    began = performance.now();
  }
  return builder.value;
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
