import { WatchedFile } from "../../access/authentication/watched-file.ts";
import { invalidArgument } from "../../errors.ts";

/** `Authorization` headers by address. */
type Headers = ReadonlyMap<string, string>;

/** Time for which the content of the file counts as current, in milliseconds. */
const FRESH_MS = 10_000;
const LINE = /^(\S+)\s+(.+?)\s*$/;
const TOKEN = /^(?:Bearer|Basic) [\w~+/.=-]+$/i;

/** The credentials by which this server is known at others, each for its address alone. */
export class RemoteCredentials {
  readonly #file: WatchedFile<Headers>;
  #readAt = performance.now();

  private constructor(file: WatchedFile<Headers>) {
    this.#file = file;
  }

  /**
   * Reads a file of lines `HOST:PORT USER:PASSWORD` or `HOST:PORT Bearer TOKEN`; throws
   * `failed_precondition` for any other.
   */
  static async open(path: string): Promise<RemoteCredentials> {
    return new RemoteCredentials(await WatchedFile.open(path, { what: "file of credentials", parse }));
  }

  /** The `Authorization` header for a server; undefined if none is to be sent. */
  headerFor(address: string): string | undefined {
    return this.#file.content.get(address.toLowerCase());
  }

  /**
   * Reads the file again after ten seconds; one with an error, which the main thread
   * logs, leaves the former credentials in use.
   */
  async freshen(): Promise<void> {
    if (performance.now() - this.#readAt < FRESH_MS) return;
    this.#readAt = performance.now();
    await this.refresh().catch(() => {});
  }

  /** Reads the file again; resolves with its path if it has changed. */
  async refresh(): Promise<readonly string[]> {
    return (await this.#file.refresh()) ? [this.#file.path] : [];
  }
}

function parse(text: string, path: string): Headers {
  const headers = new Map<string, string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    const [, address = "", credential = ""] = LINE.exec(line) ?? [];
    const header = TOKEN.test(credential) ? credential : toBasic(credential);
    if (header === undefined)
      throw invalidArgument(`${path}:${index + 1}: expected HOST:PORT USER:PASSWORD, or HOST:PORT Bearer TOKEN.`);
    headers.set(address.toLowerCase(), header);
  }
  return headers;
}

function toBasic(credential: string): string | undefined {
  return credential.indexOf(":") > 0 ? `Basic ${Buffer.from(credential).toString("base64")}` : undefined;
}
