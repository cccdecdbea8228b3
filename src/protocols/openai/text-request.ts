import { defineJob } from "../../platform/codec-host/job.ts";
import { type Members, parseMembers, writeRequest, wrongMember } from "./members.ts";
import { readTexts } from "./text-input.ts";

/** Facts about a request for a text that concern its answer. */
export interface TextWish {
  /** The model's name; empty = the only one. */
  readonly model: string;
  /** True = the answer comes in parts. */
  readonly isStream: boolean;
  /** True = the last part has the usage. */
  readonly includeUsage: boolean;
  /** Text before the answer, in UTF-8: a message between threads has room for few strings. */
  readonly echo: Uint8Array;
  /** Members of the request that the answer repeats, as JSON; absent = there are none. */
  readonly told?: Uint8Array;
  /** The JSON schema that a whole answer has to fit, as JSON; absent = there is none. */
  readonly schema?: Uint8Array | undefined;
  /** Requests of which the first one is made for which the model's hooks have the function; one at least. */
  readonly requests: readonly TextRequest[];
}

/** A request for a function of hooks. */
interface TextRequest {
  readonly entry: "chat" | "complete";
  /** As JSON. */
  readonly request: Uint8Array;
}

/** Reads the members that say how an answer is sent. Throws for more than one choice. */
export function readWish(body: Members): Pick<TextWish, "model" | "isStream" | "includeUsage"> {
  for (const name of ["n", "best_of"]) {
    const count = body.number(name, { isWhole: true, min: 1 });
    if (count !== undefined && count > 1)
      throw wrongMember(name, String(count), "1: send the request several times for several answers");
  }
  return {
    model: body.text("model") ?? "",
    isStream: body.boolean("stream") ?? false,
    includeUsage: body.object("stream_options")?.boolean("include_usage") ?? false,
  };
}

/** Texts that end an answer: the most that OpenAI takes is four, other servers take more. */
const MAX_STOPS = 64;

/** Reads what a client chooses for the text, to be called last: all members that are left are passed on. */
export function readChoices(body: Members): object {
  const older = body.number("max_tokens", { isWhole: true, min: 0 });
  const known = {
    maxTokens: body.number("max_completion_tokens", { isWhole: true, min: 0 }) ?? older,
    temperature: body.number("temperature", { min: 0 }),
    topP: body.number("top_p", { min: 0 }),
    presencePenalty: body.number("presence_penalty"),
    frequencyPenalty: body.number("frequency_penalty"),
    seed: body.number("seed", { isWhole: true }),
    stop: readStop(body),
    user: body.text("user"),
  };
  return { ...known, more: body.rest() };
}

/** Reads the texts that end an answer: one, or a list. */
export function readStop(body: Members, name = "stop"): readonly string[] {
  const stop = body.value(name) ?? [];
  if (typeof stop === "string") return [stop];
  const isTexts = Array.isArray(stop) && stop.length <= MAX_STOPS && stop.every((each) => typeof each === "string");
  if (isTexts) return stop;
  throw body.wrong(name, `a text, or a list of at most ${MAX_STOPS} texts`);
}

/** Bytes of a prompt that comes back before its answer, which the main thread writes. */
const MAX_ECHO_BYTES = 1024 * 1024;

/** Reads a request of completions. Throws `invalid_argument` with the place of a wrong member. */
function readCompletion(bytes: Uint8Array): TextWish {
  const body = parseMembers(bytes);
  const wish = readWish(body);
  const prompts = readTexts(body, "prompt");
  const [prompt = ""] = prompts;
  if (prompts.length > 1)
    throw wrongMember("prompt", `a list of ${prompts.length} texts`, "one text: send a request for each");
  const echo = new TextEncoder().encode(body.boolean("echo") === true ? prompt : "");
  if (echo.length > MAX_ECHO_BYTES)
    throw wrongMember("echo", `true for a prompt of ${echo.length} bytes`, `${MAX_ECHO_BYTES} at most: leave echo out`);
  const own = { prompt, suffix: body.text("suffix") };
  return { ...wish, echo, requests: [{ entry: "complete", request: writeRequest({ ...own, ...readChoices(body) }) }] };
}

/** {@link readCompletion} for a codec thread. */
export const readCompletionJob = defineJob(import.meta.url, "readCompletionJob", readCompletion);
