import { invalidArgument } from "../errors.ts";

/** A model of another server that answers KServe V2. */
export interface ModelAddress {
  /** As it was given, without a slash at the end. */
  readonly text: string;
  readonly protocol: "grpc" | "http";
  /** `grpc://HOST:PORT`, `grpcs://HOST:PORT`, or `http(s)://HOST:PORT` with the path before `/v2`. */
  readonly server: string;
  readonly model: string;
  /** Absent = the one that the server chooses. */
  readonly version?: string;
}

const HTTP = /^(https?:\/\/[^/]+(?:\/.+)?)\/v2\/models\/([^/]+)(?:\/versions\/(\d+))?$/;
const GRPC = /^(grpcs?:\/\/[^/]+:\d+)\/(?:v2\/models\/)?([^/]+)(?:\/versions\/(\d+))?$/;

/** Checks if a text is an address rather than a path. */
export function isAddress(text: string): boolean {
  return /^(?:https?|grpcs?):\/\//.test(text);
}

/** Checks if a text is the address of a server's model; other addresses may be those of files. */
export function isModelAddress(text: string): boolean {
  return /^grpcs?:\/\//.test(text) || HTTP.test(text.replace(/\/$/, ""));
}

/**
 * Reads `http://HOST:PORT/v2/models/NAME` or `grpc://HOST:PORT/NAME`, each with `/versions/N` or not; throws
 * `invalid_argument` for anything else.
 */
export function parseModelAddress(given: string): ModelAddress {
  const text = given.replace(/\/$/, "");
  const protocol = text.startsWith("grpc") ? "grpc" : "http";
  const [, server, name = "", version] = (protocol === "grpc" ? GRPC : HTTP).exec(text) ?? [];
  const model = decoded(name);
  if (server === undefined || model === undefined)
    throw invalidArgument(
      `The address is "${given}"; expected http://HOST:PORT/v2/models/NAME or grpc://HOST:PORT/NAME.`,
    );
  return { text, protocol, server, model, ...(version !== undefined && { version }) };
}

/** Undefined for a percent sign that escapes nothing. */
function decoded(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}
