import { ServingError } from "../errors.ts";

/** Options of a request to an address. */
export interface OpenUrlOptions {
  readonly signal: AbortSignal;
  readonly accept?: string;
  /** The server there, for messages: `package index`. */
  readonly what: string;
}

/**
 * Asks an address by GET and resolves once the head of a good answer is there. User and
 * password in the address go into a header, and stay out of messages. Throws `not_found`
 * for 404, `permission_denied` for 401 and 403, `unavailable` for anything else.
 */
export async function openUrl(address: string, { signal, accept = "*/*", what }: OpenUrlOptions): Promise<Response> {
  const url = new URL(address);
  const headers = { accept, ...basicAuthorization(url) };
  url.username = url.password = "";
  const { host } = url;
  const response = await fetch(url, { headers, signal }).catch((cause) => {
    if (signal.aborted) throw cause;
    throw unreachable(host, what, cause);
  });
  if (response.ok) return response;
  await response.body?.cancel();
  throw badStatus(response.status, host, what);
}

function basicAuthorization({ username, password }: URL): { authorization?: string } {
  if (username === "") return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` };
}

const OTHERWISE = "Or download the wheel elsewhere and pass it with --wheel FILE.";

function badStatus(status: number, host: string, what: string): ServingError {
  if (status === 404) return new ServingError("not_found", `The ${what} ${host} answers 404: not there. ${OTHERWISE}`);
  if (status === 401 || status === 403) {
    const message = `The ${what} ${host} answers ${status}: it wants a user and password, as in PIP_INDEX_URL=https://USER:PASSWORD@HOST/simple.`;
    return new ServingError("permission_denied", message);
  }
  return new ServingError("unavailable", `The ${what} ${host} answers ${status}. Try again later. ${OTHERWISE}`);
}

/** fetch reports only the failure; the reason is in the cause. */
function unreachable(host: string, what: string, cause: unknown): ServingError {
  const { code, message } = ((cause as Error).cause ?? cause) as NodeJS.ErrnoException;
  const why = code ?? message;
  return new ServingError("unavailable", `The ${what} ${host} cannot be reached: ${why}. ${advice(why)} ${OTHERWISE}`, {
    cause,
  });
}

function advice(why: string): string {
  if (/CERT|SELF_SIGNED|ISSUER/.test(why)) {
    return "If your network has a certificate authority of its own, set NODE_EXTRA_CA_CERTS=FILE.pem.";
  }
  return "Check the network; PIP_INDEX_URL chooses another index.";
}
