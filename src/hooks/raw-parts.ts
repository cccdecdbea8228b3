import { publicText, ServingError } from "../errors.ts";
import { isEventStream } from "../platform/net/message-headers.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { toJsonText } from "../tensor/json-text.ts";
import { isPlainObject } from "../tensor/record.ts";
import type { RawEvent } from "./raw-request.ts";

/** Gives the parts of a body one after the other. */
export type RawIterator = Iterator<unknown, unknown> | AsyncIterator<unknown, unknown>;

/**
 * The function that begins a body in parts; undefined for any other value. Only what can be left is a body in parts:
 * an array, a Map or a text also has an iterator.
 */
export function partsOf(value: unknown): (() => RawIterator) | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { next, [Symbol.asyncIterator]: open } = value as { next?: unknown; [Symbol.asyncIterator]?: unknown };
  if (typeof open === "function") return () => open.call(value);
  return typeof next === "function" ? () => value as RawIterator : undefined;
}

/** The same parts, each made into bytes. Is left as those are. */
export function mapParts(parts: RawIterator, toBytes: (value: unknown) => Uint8Array): AsyncIterator<unknown, unknown> {
  return {
    next: async () => {
      const step = await parts.next();
      return step.done === true ? step : { done: false, value: toBytes(await step.value) };
    },
    return: async (value) => (await parts.return?.(value)) ?? { done: true, value },
  };
}

/**
 * Ends a body in parts that no one has begun, wherever it is in what a hook returned: a file or a connection would stay
 * open. Does not wait for that.
 */
export function leaveUnbegun(returned: unknown): void {
  const { body, audio, 0: first } = Object(returned) as { body?: unknown; audio?: unknown; 0?: unknown };
  for (const each of [returned, body, audio, first]) leaveParts(each).catch(() => {});
}

async function leaveParts(value: unknown): Promise<void> {
  const open = partsOf(value);
  if (open === undefined) return;
  // The iterator of a Node.js stream that has not begun does not end the stream.
  const { destroy } = value as { destroy?: unknown };
  if (typeof destroy === "function") destroy.call(value);
  else await open().return?.();
}

const EVENTS = "text/event-stream; charset=utf-8";
const MEMBERS = ["id", "event", "retry", "data", "comment"];

/** Makes the bytes of the parts of one body, which have one media type. */
export class PartSealer {
  readonly #place: string;
  #contentType: string | undefined;

  /** Without a type it is that of the first part. */
  constructor(place: string, contentType: string | undefined) {
    this.#place = place;
    this.#contentType = contentType;
  }

  /** That of bytes before a part has shown another. */
  get contentType(): string {
    return this.#contentType ?? "application/octet-stream";
  }

  /** Bytes that no hook has; throws `internal` for anything else than a part of this body. */
  seal(value: unknown, number: number): Uint8Array {
    const isBytes = value instanceof Uint8Array;
    if (typeof value !== "string" && !isBytes && !isPlainObject(value))
      throw this.#error(`yielded ${kindOf(value)}`, number, "bytes, a text, or an event such as { data: { step: 1 } }");
    this.#contentType ??= isBytes
      ? "application/octet-stream"
      : typeof value === "string"
        ? "text/plain; charset=utf-8"
        : EVENTS;
    if (isBytes) return new Uint8Array(value);
    if (typeof value === "string") return Buffer.from(value);
    if (!isEventStream(this.#contentType))
      throw this.#error(
        "yielded an object",
        number,
        `bytes or a text, of which ${this.#contentType} consists: events are text/event-stream`,
      );
    return Buffer.from(this.#eventText(value, number));
  }

  #eventText(event: Readonly<Record<string, unknown>>, number: number): string {
    const names = Object.keys(event).filter((name) => event[name] !== undefined);
    const unknown = names.find((name) => !MEMBERS.includes(name));
    if (unknown !== undefined || names.length === 0) {
      const came = unknown === undefined ? "an empty event" : `an event with the member ${unknown}`;
      throw this.#error(`yielded ${came}`, number, `${MEMBERS.join(", ")}; a value belongs into data`);
    }
    for (const name of ["id", "event", "comment"]) this.#checkText(event, name, number);
    const { id, event: type, retry, comment, data } = event as RawEvent;
    if (retry !== undefined && !(Number.isSafeInteger(retry) && retry >= 0))
      throw this.#error(`yielded an event with retry ${String(retry).slice(0, 100)}`, number, "whole milliseconds");
    const lines = [
      comment === undefined ? "" : linesOf("", comment),
      id === undefined ? "" : `id: ${id}\n`,
      type === undefined ? "" : `event: ${type}\n`,
      retry === undefined ? "" : `retry: ${retry}\n`,
      data === undefined ? "" : linesOf("data", this.#dataText(data, number)),
    ];
    return `${lines.join("")}\n`;
  }

  #checkText(event: Readonly<Record<string, unknown>>, name: string, number: number): void {
    const value = event[name];
    if (value === undefined) return;
    const isOneLine = name === "comment" || (typeof value === "string" && !BREAK.test(value));
    if (typeof value === "string" && isOneLine) return;
    const came = typeof value === "string" ? "of several lines" : `that is ${kindOf(value)}`;
    throw this.#error(`yielded an event with ${name} ${came}`, number, "a text of one line");
  }

  #dataText(data: unknown, number: number): string {
    if (typeof data === "string") return data;
    try {
      return toJsonText(data);
    } catch (cause) {
      const message = `The data that the hook ${this.#place} yielded as part ${number} cannot be sent: ${publicText(cause)}`;
      throw new ServingError("internal", message, { cause });
    }
  }

  #error(what: string, number: number, expected: string): ServingError {
    return new ServingError("internal", `The hook ${this.#place} ${what} as part ${number}; expected ${expected}.`);
  }
}

/** Ends of a line or an id (HTML Living Standard §9.2.6). */
const BREAK = /[\r\n\0]/;

/** A field for each line of a text, without a list of them: a text may have any number. */
function linesOf(field: string, text: string): string {
  const before = `${field}: `;
  let lines = before;
  let from = 0;
  for (const { 0: end, index } of text.matchAll(/\r\n|\n|\r/g)) {
    lines += `${text.slice(from, index)}\n${before}`;
    from = index + end.length;
  }
  return `${lines}${text.slice(from)}\n`;
}
