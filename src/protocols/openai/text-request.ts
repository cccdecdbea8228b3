import { defineJob } from "../../platform/codec-host/job.ts";
import { type Members, parseMembers, writeRequest, wrongMember } from "../text/members.ts";
import { readTexts } from "../text/text-input.ts";
import { readStop, type TextWish } from "../text/text-wish.ts";

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
