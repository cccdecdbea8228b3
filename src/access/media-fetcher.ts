import { BlockList, isIP } from "node:net";
import { invalidArgument, reasonText, ServingError } from "../errors.ts";
import { shorten } from "../platform/text/shorten.ts";
import { followRedirects, guardedLookup } from "../storage/http/follow-redirects.ts";
import { type HttpRequest, httpRequest } from "../storage/http/http-request.ts";
import { isPrivateAddress } from "../storage/http/private-address.ts";

/** Limits of one fetch. */
interface MediaLimits {
  readonly bytes: number;
  /** From the first request to the last byte, redirects included, in milliseconds. */
  readonly ms: number;
}

/** As large as the images that OpenAI takes, and for less time than its clients wait. */
const LIMITS: MediaLimits = { bytes: 20 * 1024 * 1024, ms: 10_000 };

/** One fetch. */
interface MediaCall {
  readonly signal: AbortSignal;
  /** Counts so many bytes more; throws if there is no room. */
  readonly grow: (bytes: number) => void;
}

const HOST = /^(?:\*|(?:\*\.)?[a-z\d](?:[a-z\d._-]{0,251}[a-z\d])?)$/;
const HEADERS = { accept: "image/*, audio/*", "accept-encoding": "identity", "user-agent": "kserving" };
/** Memory of a piece beside its bytes: a server may send one byte at a time. */
const PIECE_BYTES = 256;
/** Characters of a host in a message. */
const MAX_SHOWN = 100;

/**
 * Fetches images and sound by addresses that clients choose, from hosts that the server's owner has listed: names,
 * `*.example.com` for all below one, `*` for all, and IP addresses or networks. Only those of the last two kinds may
 * be private ones. Each redirect is checked as the first address is, by the address to which the connection is made.
 */
export class MediaFetcher {
  readonly #names: readonly string[];
  readonly #networks = new BlockList();
  readonly #limits: MediaLimits;

  /** Throws `invalid_argument` for something that is no host. */
  constructor(hosts: readonly string[], limits = LIMITS) {
    const given = hosts.map((host) => host.trim().toLowerCase());
    this.#names = given.filter((host) => !this.#addNetwork(host));
    this.#limits = limits;
    const wrong = this.#names.find((host) => !HOST.test(host));
    if (wrong === undefined) return;
    throw invalidArgument(
      `"${shorten(wrong, MAX_SHOWN)}" in --fetch-media is no host; expected a name such as images.example.com or *.example.com, *, or an address such as 10.0.0.7 or 10.0.0.0/8, without a port.`,
    );
  }

  /**
   * The bytes that an address stands for, whatever they are, in pieces. Throws `invalid_argument` with the reason if
   * they are not to be had, the signal's reason if the client has gone, and what `grow` throws.
   */
  async fetch(address: string, { signal, grow }: MediaCall): Promise<readonly Buffer[]> {
    const url = toUrl(address);
    const late = AbortSignal.timeout(this.#limits.ms);
    const request = { signal: AbortSignal.any([signal, late]), headers: HEADERS };
    try {
      return await this.#read(url, request, grow);
    } catch (reason) {
      signal.throwIfAborted();
      if (late.aborted) throw invalidArgument(`${hostOf(url)} has not sent all within ${this.#limits.ms / 1000} s`);
      if (reason instanceof NoRoom) throw reason.cause;
      if (reason instanceof ServingError && reason.code === "invalid_argument") throw reason;
      throw invalidArgument(reasonText(reason), reason);
    }
  }

  async #read(url: URL, request: HttpRequest, grow: MediaCall["grow"]): Promise<readonly Buffer[]> {
    const send: typeof httpRequest = (to, asked) => this.#send(to, asked);
    const response = await followRedirects(url, request, { send });
    const { statusCode, headers } = response;
    const { bytes: most } = this.#limits;
    const pieces: Buffer[] = [];
    let bytes = 0;
    try {
      if (statusCode !== 200) throw invalidArgument(`${hostOf(url)} answers ${statusCode}`);
      if (Number(headers["content-length"]) > most) throw tooLarge(url, most);
      for await (const piece of response as AsyncIterable<Buffer>) {
        bytes += piece.length;
        if (bytes > most) throw tooLarge(url, most);
        take(grow, piece.length + PIECE_BYTES);
        pieces.push(piece);
      }
    } finally {
      response.destroy();
    }
    return pieces;
  }

  /** Over a connection of its own: a kept one would be used without a look at its address. */
  #send(url: URL, request: HttpRequest): ReturnType<typeof httpRequest> {
    const name = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
    const isListed = isIP(name) === 0 ? this.#names.some((host) => covers(host, name)) : this.#takesAddress(name);
    if (!isListed) throw notListed(url, "which --fetch-media does not list");
    const lookup = guardedLookup(
      (address) => this.#isRefused(address),
      () => notListed(url, "in a private network"),
    );
    return httpRequest(url, { ...request, agent: false, lookup });
  }

  /** Checks a host that is an address itself. */
  #takesAddress(address: string): boolean {
    return this.#isNetworks(address) || (this.#names.includes("*") && !isPrivateAddress(address));
  }

  #isRefused(address: string): boolean {
    return isPrivateAddress(address) && !this.#isNetworks(address);
  }

  #isNetworks(address: string): boolean {
    return this.#networks.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  }

  /** False for something that is no address, and no network of them. */
  #addNetwork(text: string): boolean {
    const [address = "", bits, more] = text.replace(/^\[(.*)\]$/, "$1").split("/", 3);
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    const length = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (family === 0 || more !== undefined || !(length <= most)) return false;
    this.#networks.addSubnet(address, length, family === 6 ? "ipv6" : "ipv4");
    return true;
  }
}

/** A failure to count, which is not the address's fault. */
class NoRoom extends Error {}

function take(grow: MediaCall["grow"], bytes: number): void {
  try {
    grow(bytes);
  } catch (cause) {
    throw new NoRoom("", { cause });
  }
}

function covers(host: string, name: string): boolean {
  return host === "*" || host === name || (host.startsWith("*.") && name.endsWith(host.slice(1)));
}

function toUrl(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalidArgument("it is no address of a web server");
  if (url.username !== "" || url.password !== "") throw invalidArgument("it has a user, or a password");
  return url;
}

function hostOf({ host }: URL): string {
  return shorten(host, MAX_SHOWN);
}

function tooLarge(url: URL, most: number): ServingError {
  return invalidArgument(`${hostOf(url)} sends more than ${most} bytes`);
}

function notListed(url: URL, why: string): ServingError {
  return invalidArgument(`it is at ${hostOf(url)}, ${why}`);
}
