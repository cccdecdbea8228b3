import type { ServingError } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { type Members, parseMembers, writeRequest, wrongMember } from "../text/members.ts";
import { readTexts } from "../text/text-input.ts";
import { readSeed, readStop, type TextWish } from "../text/text-wish.ts";

/** Choices of one answer: as many as OpenAI makes. */
const MAX_CHOICES = 128;

/** Reads the members that say how an answer is sent. Throws for too many choices. */
export function readWish(body: Members): Pick<TextWish, "model" | "isStream" | "includeUsage"> & { count: number } {
  const count = body.number("n", { isWhole: true, min: 1 }) ?? 1;
  if (count > MAX_CHOICES) throw wrongMember("n", String(count), `${MAX_CHOICES} at most: send several requests`);
  const best = body.number("best_of", { isWhole: true, min: 1 }) ?? count;
  if (best > count) throw wrongMember("best_of", String(best), `${count}, as n is: no answers are left out`);
  return {
    count,
    model: body.text("model") ?? "",
    isStream: body.boolean("stream") ?? false,
    includeUsage: body.object("stream_options")?.boolean("include_usage") ?? false,
  };
}

/** Reads what a client chooses for the text, to be called last: all members that are left are passed on. */
export function readChoices(body: Members): object {
  const older = body.number("max_tokens", { isWhole: true, min: 0 });
  const known = {
    maxTokens: body.number("max_completion_tokens", { isWhole: true, min: 0 }) ?? older,
    temperature: body.number("temperature", { min: 0 }),
    topP: body.number("top_p", { min: 0 }),
    presencePenalty: body.number("presence_penalty"),
    frequencyPenalty: body.number("frequency_penalty"),
    seed: readSeed(body),
    stop: readStop(body),
    user: body.text("user"),
  };
  return { ...known, more: body.rest() };
}

/** Bytes of a prompt that comes back before its answer, which the main thread writes. */
const MAX_ECHO_BYTES = 1024 * 1024;

/** Bytes of the other members, which the function gets with each of several prompts. */
const MAX_REPEATED_BYTES = 16 * 1024 * 1024;

/** Reads a request of completions. Throws `invalid_argument` with the place of a wrong member. */
function readCompletion(bytes: Uint8Array): TextWish {
  const body = parseMembers(bytes);
  const wish = readWish(body);
  const prompts = readTexts(body, "prompt");
  const { length } = prompts;
  const most = Math.floor(MAX_CHOICES / wish.count);
  if (length > most) throw tooMany(length, wish.count > 1 ? ` with ${wish.count} choices each` : "", most);
  const isEchoed = body.boolean("echo") === true;
  const own = { suffix: body.text("suffix"), ...readChoices(body) };
  // Written once, and put behind each of several prompts where the memory for that is counted.
  const tail = length === 1 ? undefined : writeRequest(own).subarray(1);
  const repeated = tail?.length ?? 0;
  if (length * repeated > MAX_REPEATED_BYTES)
    throw tooMany(length, ` with ${repeated} bytes of other members each`, Math.floor(MAX_REPEATED_BYTES / repeated));
  const asked = prompts.map((prompt) => ({
    echo: new TextEncoder().encode(isEchoed ? prompt : ""),
    request: tail === undefined ? writeRequest({ prompt, ...own }) : writeStart(prompt),
  }));
  checkEcho(asked, wish.count);
  const [{ echo, request } = NOTHING, ...others] = asked;
  return { ...wish, echo, ...(tail && { others, tail }), requests: [{ entry: "complete", request }] };
}

function tooMany(length: number, beside: string, most: number): ServingError {
  // One alone has no other to share its members with.
  return wrongMember("prompt", `a list of ${length} texts${beside}`, `${Math.max(1, most)} at most`);
}

function writeStart(prompt: string): Uint8Array {
  return new TextEncoder().encode(`{"prompt":${JSON.stringify(prompt)},`);
}

const NOTHING = { echo: new Uint8Array(0), request: new Uint8Array(0) };

function checkEcho(prompts: readonly { readonly echo: Uint8Array }[], count: number): void {
  const length = prompts.reduce((sum, { echo }) => sum + echo.length, 0);
  const most = Math.floor(MAX_ECHO_BYTES / count);
  if (length > most)
    throw wrongMember("echo", `true for prompts of ${length} bytes`, `${most} at most: leave echo out`);
}

/** {@link readCompletion} for a codec thread. */
export const readCompletionJob = defineJob(import.meta.url, "readCompletionJob", readCompletion);
