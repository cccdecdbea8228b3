import { isObject } from "../tensor/record.ts";

/** An answer that is an error, with the server's words. */
export class CallError extends Error {
  readonly status: number;
  /** `Basic`, `Bearer`: what the server takes, if it asks for credentials. */
  readonly challenges: readonly string[];

  constructor(status: number, message: string, challenges: readonly string[] = []) {
    super(message);
    this.status = status;
    this.challenges = challenges;
  }
}

/** Under which a tab keeps the credentials, until it is closed. */
const KEY = "kserving-authorization";
let token = document.querySelector<HTMLMetaElement>('meta[name="kserving-page"]')?.content ?? "";

/**
 * Without a browser's own credentials, for which it would ask with a window of its
 * own; with them if a client's certificate is needed.
 */
let credentials: RequestCredentials = "omit";
/** True once the server has answered; a failure is none of credentials then, and the call may have been made. */
let hasAnswered = false;

/** The URL of a path of this server: `v2/models`, under whatever prefix the page is. */
export function urlOf(path: string): string {
  return new URL(path, new URL(".", document.baseURI)).href;
}

/** Keeps credentials for later calls. */
export function keepAuthorization(value: string): void {
  sessionStorage.setItem(KEY, value);
}

/** Keeps the token of the running server, which has another after each start. */
export function keepToken(text: string): void {
  token = text;
}

/** True if calls have credentials that a person has given to the page. */
export function isSignedIn(): boolean {
  return sessionStorage.getItem(KEY) !== null;
}

/** Sends a request to this server with the credentials that the page has; resolves with its answer, errors included. */
export function askServer(path: string, init: RequestInit = {}): Promise<Response> {
  const authorization = sessionStorage.getItem(KEY);
  const own = { "x-kserving-page": token, ...(authorization !== null && { authorization }) };
  return send(urlOf(path), { ...init, headers: { ...own, ...init.headers } });
}

/** Sends a request to this server; throws {@link CallError} for an answer that reports a failure. */
export async function callServer(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await askServer(path, init);
  if (response.ok) return response;
  const challenges = (response.headers.get("www-authenticate") ?? "").match(/\b(Basic|Bearer)\b/g) ?? [];
  throw new CallError(response.status, await errorText(response), challenges);
}

async function send(url: string, request: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, { ...request, credentials });
    hasAnswered = true;
    return response;
  } catch (reason) {
    if (hasAnswered || credentials === "same-origin" || request.signal?.aborted === true) throw reason;
    const response = await fetch(url, { ...request, credentials: "same-origin" });
    credentials = "same-origin";
    return response;
  }
}

async function errorText(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === "string") return error;
    // OpenAI's form.
    if (isObject(error) && typeof error.message === "string") return error.message;
  } catch {
    // A proxy's page, perhaps.
  }
  return `The server answered with status ${response.status}.`;
}
