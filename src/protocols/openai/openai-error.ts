import { cutText } from "../../platform/text/cut-text.ts";
import type { ErrorForm, ToldFailure } from "../../proxy/http-errors.ts";
import { failureAnswer } from "../text/failure-answer.ts";

/** Types of errors by status; those from 500 on are the server's, all others the request's. */
const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};

/**
 * An error in OpenAI's form, with this server's members for programs beside OpenAI's: `reason`, `expected`,
 * `did_you_mean`. One of a hook, or of a model, would only be made again.
 */
export const openaiError: ErrorForm = (failure) => {
  const { status, message, hint = {} } = failure;
  const { field, ...members } = hint;
  const type = TYPES[status] ?? (status >= 500 ? "server_error" : "invalid_request_error");
  const param = hint.reason === "UNKNOWN_MODEL" ? "model" : (field ?? null);
  const body = { error: { message: cutText(message), type, param, code: codeOf(failure), ...members } };
  return failureAnswer(failure, body);
};

/** A function of hooks says `out_of_range` of a text that is longer than its model takes. */
function codeOf({ status, code, hint }: ToldFailure): string | null {
  if (hint?.reason === "UNKNOWN_MODEL") return "model_not_found";
  if (code === "out_of_range") return "context_length_exceeded";
  if (status === 401) return "invalid_api_key";
  return status === 429 ? "rate_limit_exceeded" : null;
}
