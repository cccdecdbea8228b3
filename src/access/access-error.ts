import { type ErrorCode, ServingError, type ServingErrorOptions } from "../errors.ts";

/** Headers of an answer; several values of one name are sent as several headers. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[]>>;

/** Options of an error, with the headers of its answer. */
interface AccessErrorOptions extends ServingErrorOptions {
  readonly headers: AnswerHeaders;
}

/** A refusal of a call because of who sends it, with a challenge in headers (HTTP) or trailers (gRPC). */
export class AccessError extends ServingError {
  readonly headers: AnswerHeaders;

  constructor(code: ErrorCode, message: string, { headers, ...options }: AccessErrorOptions) {
    super(code, message, options);
    this.headers = headers;
  }

  /**
   * The headers of an error that is one of these, none of any other. Not by instanceof,
   * which all errors of the family pass.
   */
  static headersOf(error: unknown): AnswerHeaders {
    return error instanceof Error && error.constructor === AccessError ? (error as AccessError).headers : NONE;
  }
}

const NONE: AnswerHeaders = {};
