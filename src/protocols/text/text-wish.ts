import type { Members } from "./members.ts";

/** Facts about a request for a text that concern its answer. */
export interface TextWish {
  /** The model's name; empty = the only one. */
  readonly model: string;
  /** True = the answer comes in parts. */
  readonly isStream: boolean;
  /** True = the last part has the usage. */
  readonly includeUsage: boolean;
  /** Answers to each prompt that the client wants to choose from, each a run of the function; absent = one. */
  readonly count?: number;
  /** Further prompts, each of which is answered as the first one; absent = there are none. */
  readonly others?: readonly TextPrompt[];
  /** The end of the request of each of several prompts, which is the same in all; absent = they are whole. */
  readonly tail?: Uint8Array;
  /** Text before the answer, in UTF-8: a message between threads has room for few strings. */
  readonly echo: Uint8Array;
  /** Members of the request that the answer repeats, as JSON; absent = there are none. */
  readonly told?: Uint8Array;
  /** The JSON schema that the answer has to fit, as JSON; absent = there is none. */
  readonly schema?: Uint8Array | undefined;
  /** Images and sound that are to be fetched, as JSON; absent = there are none. */
  readonly addresses?: Uint8Array | undefined;
  /** Requests of which the first one is made for which the model's hooks have the function; one at least. */
  readonly requests: readonly TextRequest[];
}

/** A request for a function of hooks. */
interface TextRequest {
  readonly entry: "chat" | "complete" | "transcribe";
  /** As JSON; of `transcribe` the file. */
  readonly request: Uint8Array;
  /** The request about a file. */
  readonly facts?: Readonly<Record<string, string>>;
}

/** A further prompt, with the text before its answers. */
type TextPrompt = Pick<TextWish, "echo"> & Pick<TextRequest, "request">;

/** Pictures of one request: as many as OpenAI makes. */
export const MAX_IMAGES = 10;
/** Texts that end an answer: the most that OpenAI takes is four, other servers take more. */
export const MAX_STOPS = 64;

/** Numbers that a seed may be: JavaScript has greater ones with gaps. */
const SEEDS = 2 ** 53;

/** Reads a seed: some clients take one of 64 bits by chance, of which the function gets the rest of a division. */
export function readSeed(body: Members): number | undefined {
  const seed = body.number("seed");
  if (seed === undefined) return undefined;
  if (Number.isInteger(seed)) return seed % SEEDS;
  throw body.wrong("seed", "a whole number");
}

/** Reads the texts that end an answer: one, or a list. */
export function readStop(body: Members, name = "stop"): readonly string[] {
  const stop = body.value(name) ?? [];
  if (typeof stop === "string") return [stop];
  const isTexts = Array.isArray(stop) && stop.length <= MAX_STOPS && stop.every((each) => typeof each === "string");
  if (isTexts) return stop;
  throw body.wrong(name, `a text, or a list of at most ${MAX_STOPS} texts`);
}
