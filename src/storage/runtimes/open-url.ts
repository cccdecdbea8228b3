import type { IncomingMessage } from "node:http";
import { reasonText, ServingError, systemCode } from "../../errors.ts";
import { readVersion } from "../../version.ts";
import { followRedirects } from "../http/follow-redirects.ts";

/** Options of a request to an address. */
export interface OpenUrlOptions {
  readonly signal: AbortSignal;
  readonly accept?: string;
  /** The server there, for messages: `package index`. */
  readonly what: string;
}

/** The head of a good answer, and the address that it came from. */
export interface OpenedUrl {
  readonly response: IncomingMessage;
  readonly url: URL;
}

/**
 * Asks an address by GET and resolves once the head of a good answer is there. User and
 * password in the address go into a header, and stay out of messages. Throws `not_found`
 * for 404, `permission_denied` for 401, 403 and a redirect that is not followed,
 * `unavailable` for anything else.
 */
export async function openUrl(address: string, { signal, accept = "*/*", what }: OpenUrlOptions): Promise<OpenedUrl> {
  let url = new URL(address);
  const headers = { accept, "accept-encoding": "identity", "user-agent": USER_AGENT, ...basicAuthorization(url) };
  url.username = url.password = "";
  const { host } = url;
  const onRedirect = (to: URL) => {
    url = to;
  };
  const response = await followRedirects(url, { headers, signal }, { onRedirect }).catch((cause) => {
    throw signal.aborted ? cause : unreachable(host, what, cause);
  });
  const { statusCode: status = 0 } = response;
  if (status >= 200 && status < 300) return { response, url };
  response.destroy();
  throw badStatus(status, host, what);
}

const USER_AGENT = `kserving/${readVersion()}`;

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

function unreachable(host: string, what: string, reason: ServingError): ServingError {
  if (reason.code === "permission_denied") {
    const message = `The ${what} ${host} cannot be used: ${reason.message}. ${OTHERWISE}`;
    return new ServingError("permission_denied", message, { cause: reason });
  }
  const why = systemCode(reason.cause) || reasonText(reason.cause ?? reason);
  return new ServingError("unavailable", `The ${what} ${host} cannot be reached: ${why}. ${advice(why)} ${OTHERWISE}`, {
    cause: reason,
  });
}

function advice(why: string): string {
  if (/CERT|SELF_SIGNED|ISSUER/.test(why)) {
    return "If your network has a certificate authority of its own, set NODE_EXTRA_CA_CERTS=FILE.pem.";
  }
  return "Check the network; PIP_INDEX_URL chooses another index.";
}
