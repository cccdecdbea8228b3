import type { Interval } from "./interval.ts";
import type { RequestRecord } from "./request-record.ts";

/** Name of the header, and over gRPC of the trailer, with the times of the parts of a request. */
export const SERVER_TIMING = "server-timing";

/** Times of one kind of part, of one stage. */
interface Entry {
  readonly name: string;
  ms: number;
  count: number;
}

/**
 * Value of the header `Server-Timing`: the parts of a request in their order, in
 * milliseconds; undefined if the client does not get it.
 */
export function serverTiming(record: RequestRecord): string | undefined {
  if (!record.sendsTimes) return undefined;
  const { deserializationMs, totalMs, timeline } = record;
  const encodeMs = record.serializationMs ?? record.sinceInferenceMs;
  const parts = groupsOf(timeline?.intervals ?? []).map(toText);
  const decode = deserializationMs === undefined ? [] : [`decode;dur=${toMs(deserializationMs)}`];
  const encode = encodeMs === undefined ? [] : [`encode;dur=${toMs(encodeMs)}`];
  return [...decode, ...parts, ...encode, `total;dur=${toMs(totalMs)}`].join(", ");
}

/** Parts of a pipeline of several stages have the numbers of their stages. */
function groupsOf(intervals: readonly Interval[]): readonly Entry[] {
  const own = intervals.filter(({ depth }) => depth === 0).toSorted((a, b) => a.start - b.start);
  const isChain = own.some(({ stage }) => stage > 1);
  const entries = new Map<string, Entry>();
  for (const { kind, stage, start, end } of own) {
    const name = isChain && stage > 0 ? `${kind}${stage}` : kind;
    const entry = entries.get(name) ?? { name, ms: 0, count: 0 };
    entry.ms += end - start;
    entry.count++;
    entries.set(name, entry);
  }
  return [...entries.values()];
}

function toText({ name, ms, count }: Entry): string {
  return `${name};dur=${toMs(ms)}${count === 1 ? "" : `;desc="${count} times"`}`;
}

function toMs(ms: number): string {
  return String(Math.round(ms * 1000) / 1000);
}
