import { cutText } from "../../platform/text/cut-text.ts";
import type { ErrorForm } from "../../proxy/http-errors.ts";
import { failureAnswer } from "../text/failure-answer.ts";

/** Types of errors by status: https://docs.anthropic.com/en/api/errors; 529, which is theirs alone, is 503 here. */
const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
};

/** An error in Anthropic's form, with the members for programs beside Anthropic's that OpenAI's has beside its own. */
export const anthropicError: ErrorForm = (failure) => {
  const { status, message, hint = {} } = failure;
  const type = TYPES[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
  const { field: _, ...members } = hint;
  const body = { type: "error", error: { type, message: cutText(message), ...members } };
  return failureAnswer(failure, body);
};
