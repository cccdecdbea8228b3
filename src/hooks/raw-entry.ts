import type { HookContext } from "./hooks.ts";

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

/** A function of a hook file that gets bytes and gives bytes, in place of the pipeline. */
export interface RawEntry {
  /** For messages: `rawRequest[1]`. */
  readonly place: string;
  /** Calls the user's function. */
  readonly call: (call: RawCall, ctx: HookContext) => unknown;
  /** Checks what that returned; throws `internal` with its place. */
  readonly seal: (returned: unknown) => RawResult;
}
