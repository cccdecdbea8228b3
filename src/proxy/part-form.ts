import type { IncomingMessage } from "node:http";
import { isEventStream } from "../platform/net/message-headers.ts";
import type { ErrorForm } from "./http-errors.ts";

/** The form of an answer whose parts are sent as they are made. */
export interface PartForm {
  readonly contentType: string;
  readonly before: string;
  readonly after: string;
  /** True if parts come as they are to be sent, and errors alone are framed. Default false. */
  readonly isRaw?: true;
  /** True if an error has no form: it cuts the answer short. Default false. */
  readonly hasNoErrors?: true;
  /** True if an error is its message alone, as another server's is. Default: its code is told, too. */
  readonly hasNoCodes?: true;
  /** The protocol's; absent = the form of all others. */
  readonly errorForm?: ErrorForm;
  /** Before an error; absent = as before any part. */
  readonly errorBefore?: string;
  /** Sign of life of a stream without parts, so that its client does not give it up; absent = the form has none. */
  readonly ping?: Buffer;
}

/** Server-Sent Events, one a part. */
export const EVENTS: PartForm = {
  contentType: "text/event-stream; charset=utf-8",
  before: "data: ",
  after: "\n\n",
  ping: Buffer.from(": ping\n\n"),
};
/** Server-Sent Events that have a type, which a part begins with. */
export const TYPED_EVENTS: PartForm = { ...EVENTS, before: "event: ", errorBefore: "event: error\ndata: " };
/** JSON on one line for each part. */
export const LINES: PartForm = { contentType: "application/x-ndjson", before: "", after: "\n" };

/** The form of a body that comes as it is to be sent. */
export function rawForm(contentType: string): PartForm {
  return isEventStream(contentType)
    ? { ...EVENTS, contentType, isRaw: true, hasNoCodes: true }
    : { contentType, before: "", after: "", isRaw: true, hasNoErrors: true };
}

/** The form of the parts that a client wants. */
export interface PartChoice {
  /** Absent = the {@link rawForm} of the first part. */
  readonly form?: PartForm;
  /** True if one answer in JSON is as welcome, and is what a model that answers once gives. Default false. */
  readonly orAnswer?: boolean;
}

type Headed = Pick<IncomingMessage, "headers">;

/**
 * The parts that a client asks for by `Accept` (RFC 9110 §12.5.1); undefined = it prefers one answer, or names none.
 */
export function acceptedParts({ headers: { accept } }: Headed): PartChoice | undefined {
  if (accept === undefined || !NAMES_PARTS.test(accept)) return undefined;
  const { events, lines, json } = weigh(accept);
  const parts = Math.max(events, lines);
  if (parts === 0 || parts < json) return undefined;
  return { form: lines > events ? LINES : EVENTS, orAnswer: parts === json };
}

/** The form of an answer that always comes in parts: events, unless a client prefers lines. */
export function partForm({ headers: { accept = "" } }: Headed): PartForm {
  const { events, lines } = weigh(accept);
  return lines > events ? LINES : EVENTS;
}

const NAMES_PARTS = /text\/event-stream|application\/x-ndjson/i;
/** Entries of the header that are read, and parameters of each. */
const MAX_ENTRIES = 64;

/** Weights of the types, from 0 = refused to 1. Parts have to be named; JSON may be meant by a range. */
function weigh(accept: string): { events: number; lines: number; json: number } {
  const weights = new Map<string, number>();
  for (const entry of accept.toLowerCase().split(",", MAX_ENTRIES)) {
    const [type = "", ...parameters] = entry.split(";", MAX_ENTRIES).map((text) => text.trim());
    weights.set(type, weightOf(parameters));
  }
  const weight = (...types: readonly string[]) => weights.get(types.find((type) => weights.has(type)) ?? "") ?? 0;
  return {
    events: weight("text/event-stream"),
    lines: weight("application/x-ndjson"),
    json: weight("application/json", "application/*", "*/*"),
  };
}

/** One that is no number counts as none. */
function weightOf(parameters: readonly string[]): number {
  const weight = Number(parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? 1);
  return weight >= 0 && weight <= 1 ? weight : 1;
}
