import type { ToldFailure } from "../../proxy/http-errors.ts";

/** Heeded by OpenAI's and Anthropic's SDKs, which send a request again after every error of a server. */
const NOT_AGAIN = { "x-should-retry": "false" };

/** The answer that tells a failure: one of a hook, or of a model, would only be made again. */
export function failureAnswer({ code }: ToldFailure, body: object) {
  return code === "internal" ? { body, headers: NOT_AGAIN } : { body };
}
