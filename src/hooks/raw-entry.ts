import type { HookContext } from "./hooks.ts";
import type { RawIterator } from "./raw-parts.ts";

/** Plain facts about a request for a {@link RawEntry}. */
export type RawFacts = Readonly<Record<string, string | number | null>>;

/** A request for a {@link RawEntry}. */
export interface RawCall {
  readonly facts: RawFacts;
  /** Names in lower case, without credentials. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The checked result of a {@link RawEntry}. */
export interface RawResult {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** The checked result of a {@link RawEntry} whose body comes in parts. */
export interface RawStream {
  readonly status: number;
  /** Undefined = that of its first part. */
  readonly contentType: string | undefined;
  /** Begins it. Parts are bytes, texts or events. */
  readonly open: () => RawIterator;
}

/** A function of a hook file that gets bytes and gives bytes, in place of the pipeline. */
export interface RawEntry {
  /** For messages: `rawRequest[1]`. */
  readonly place: string;
  /** Calls the user's function. */
  readonly call: (call: RawCall, ctx: HookContext) => unknown;
  /** Checks what that returned; throws `internal` with its place. */
  readonly seal: (returned: unknown) => RawResult | RawStream;
}
