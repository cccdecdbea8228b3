import type { IncomingHttpHeaders } from "node:http";
import { invalidArgument, ServingError } from "../../errors.ts";
import { statusError } from "../http/answers.ts";
import { followRedirects } from "../http/follow-redirects.ts";
import { isPrivateHost } from "../http/private-address.ts";
import { decodeName } from "../local-name.ts";
import { parseSha256, shownAddress } from "../remote-address.ts";
import {
  type RemoteContent,
  type RemoteFile,
  type RemotePlace,
  type StorageClient,
  toContent,
} from "../storage-client.ts";

/** Single files of web servers: models, and archives of them. */
export const httpsClient: StorageClient = {
  parse: (text) => {
    const { address, sha256 } = parseSha256(text);
    if (!URL.canParse(address))
      throw invalidArgument(
        `${shownAddress(address)} is not a URL; expected https://HOST/PATH${address.includes("@") ? PASSWORD : ""}.`,
      );
    const url = new URL(address);
    const key = decodeName(url.pathname.slice(1));
    if (key === "" || key.endsWith("/"))
      throw invalidArgument(
        `${shownAddress(address)} is a folder of a web server, which has no list; expected the address of a file, for example of a .tar.gz.`,
      );
    if (url.protocol === "http:" && sha256 === undefined && !isPrivateHost(url.hostname))
      throw invalidArgument(
        `${shownAddress(address)} is not encrypted; expected https://, or #sha256=HEX after the address.`,
      );
    const open = () => new WebPlace(url, key, sha256);
    return { title: shownAddress(address), key, open, ...(sha256 !== undefined && { sha256 }) };
  },
};

const PASSWORD = ", and / ? # of a password as %2F %3F %23";
const ACCESS = "Give user and password in the address, or one that is signed";

/** A user or password is never in a message, so one that is not encoded is taken as it is. */
function decodeSecret(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

class WebPlace implements RemotePlace {
  readonly #url: URL;
  readonly #key: string;
  readonly #sha256: string | undefined;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: URL, key: string, sha256: string | undefined) {
    const { username, password } = url;
    const user = `${decodeSecret(username)}:${decodeSecret(password)}`;
    this.#headers = username === "" ? {} : { authorization: `Basic ${Buffer.from(user).toString("base64")}` };
    this.#url = new URL(url);
    this.#url.username = this.#url.password = "";
    this.#key = key;
    this.#sha256 = sha256;
  }

  /** There is only one file. */
  async list(prefix: string, { signal }: { readonly signal: AbortSignal }): Promise<RemoteFile[]> {
    if (!this.#key.startsWith(prefix)) return [];
    const head = await this.#head(signal);
    const bytes = sizeIn(head);
    const etag = this.#sha256 ?? head.etag ?? `${head["last-modified"] ?? ""} ${bytes ?? ""}`;
    const changedMs = Date.parse(head["last-modified"] ?? "");
    return [{ key: this.#key, bytes, etag, ...(Number.isFinite(changedMs) && { changedMs }) }];
  }

  async open(file: RemoteFile, offset: number, signal: AbortSignal): Promise<RemoteContent> {
    const condition: Record<string, string> = /^"/.test(file.etag) ? { "if-range": file.etag } : {};
    const isResumed = offset > 0 && (condition["if-range"] !== undefined || this.#sha256 !== undefined);
    const range: Record<string, string> = isResumed ? { range: `bytes=${offset}-`, ...condition } : {};
    const headers = { ...this.#headers, ...range, "accept-encoding": "identity" };
    const response = await followRedirects(this.#url, { headers, signal });
    if (![200, 206].includes(response.statusCode ?? 0)) throw await statusError(response, ACCESS);
    const now = response.headers.etag;
    if (/^"/.test(file.etag) && now !== undefined && now !== file.etag) {
      response.destroy();
      throw new ServingError("aborted", "the file has changed meanwhile; the next attempt reads it as it is now");
    }
    return toContent(response);
  }

  /** Servers that sign addresses for GET alone refuse HEAD. */
  async #head(signal: AbortSignal): Promise<IncomingHttpHeaders> {
    const headers = { ...this.#headers, "accept-encoding": "identity" };
    const head = await followRedirects(this.#url, { method: "HEAD", headers, signal });
    head.resume();
    if (head.statusCode === 200) return head.headers;
    const one = { ...headers, range: "bytes=0-0" };
    const response = await followRedirects(this.#url, { headers: one, signal });
    if (response.statusCode === 404) {
      response.destroy();
      throw new ServingError("not_found", "the server answers 404: the file is not there. Check the address");
    }
    if (![200, 206].includes(response.statusCode ?? 0)) throw await statusError(response, ACCESS);
    response.destroy();
    return response.headers;
  }
}

/** Of an answer to a part the size after the slash. */
function sizeIn({ "content-length": length, "content-range": range }: IncomingHttpHeaders): number | undefined {
  const text = range === undefined ? length : /\/(\d+)$/.exec(range)?.[1];
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text);
}
