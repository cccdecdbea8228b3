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
  /** Fetches at the same time, of all clients and of one; others wait. */
  readonly places: number;
  readonly clientPlaces: number;
}

/** As large as the images that OpenAI takes, and for less time than its clients wait. */
const LIMITS: MediaLimits = { bytes: 20 * 1024 * 1024, ms: 10_000, places: 64, clientPlaces: 16 };

/** One fetch. */
interface MediaCall {
  readonly signal: AbortSignal;
  /** The number of the client. */
  readonly client: number;
  /** Counts so many bytes more; throws if there is no room. */
  readonly grow: (bytes: number) => void;
}

const HOST = /^(?:\*|(?:\*\.)?[a-z\d](?:[a-z\d._-]{0,251}[a-z\d])?)$/;
const HEADERS = { accept: "image/*, audio/*", "accept-encoding": "identity", "user-agent": "kserving" };
/** Memory of a piece beside its bytes: a server may send one byte at a time. */
const PIECE_BYTES = 256;
/** Characters of a host with its port. */
const MAX_HOST = 300;
/** Characters of a host in a message. */
const MAX_SHOWN = 100;

/** Ports of a host that is listed without one. */
const DEFAULT_PORTS = ["80", "443"];

/** A host as it is listed. */
interface Listed {
  /** Undefined for a network. */
  readonly name?: string;
  readonly network?: BlockList;
  /** `*` = any. */
  readonly ports: readonly string[];
}

/**
 * Fetches images and sound by addresses that clients choose, from hosts that the server's owner has listed: names,
 * `*.example.com` for all below one, `*` for all, and IP addresses or networks, each at the ports of the web unless it
 * has one. Only those of the last two kinds may be private ones. Each redirect is checked as the first address is, by
 * the address to which the connection is made.
 */
export class MediaFetcher {
  readonly #listed: readonly Listed[];
  readonly #limits: MediaLimits;
  readonly #places: FetchPlaces;

  /** Throws `invalid_argument` for something that is no host. */
  constructor(hosts: readonly string[], limits: Partial<MediaLimits> = {}) {
    this.#listed = hosts.map((host) => toListed(host.trim().toLowerCase()));
    this.#limits = { ...LIMITS, ...limits };
    this.#places = new FetchPlaces(this.#limits);
  }

  /**
   * The bytes that an address stands for, whatever they are, in pieces. Throws `invalid_argument` with the reason if
   * they are not to be had, the signal's reason if the client has gone, and what `grow` throws.
   */
  async fetch(address: string, { signal, client, grow }: MediaCall): Promise<readonly Buffer[]> {
    const url = toUrl(address);
    const leave = await this.#places.take(client, signal);
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
    } finally {
      leave();
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
    if (url.username !== "" || url.password !== "") throw invalidArgument("it has a user, or a password");
    const name = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
    const port = url.port || (url.protocol === "https:" ? "443" : "80");
    const open = this.#listed.filter(({ ports }) => ports.includes("*") || ports.includes(port));
    if (!open.some((each) => covers(each, name))) throw notListed(url, "which --fetch-media does not list");
    const lookup = guardedLookup(
      (address) => isPrivateAddress(address) && !open.some((each) => hasAddress(each, address)),
      () => notListed(url, "in a private network"),
    );
    return httpRequest(url, { ...request, agent: false, lookup });
  }
}

/** The places of fetches; those that wait come in their order, except for clients that have all of theirs. */
class FetchPlaces {
  readonly #limits: Pick<MediaLimits, "places" | "clientPlaces">;
  readonly #waiting = new Set<{ readonly client: number; readonly begin: () => void }>();
  /** Fetches of each client. */
  readonly #held = new Map<number, number>();
  #all = 0;

  constructor(limits: Pick<MediaLimits, "places" | "clientPlaces">) {
    this.#limits = limits;
  }

  /** Waits for a place, and resolves with what gives it back. Rejects with the signal's reason. */
  async take(client: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#isFree(client)) this.#add(client, 1);
    else
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          this.#waiting.delete(waiter);
          reject(signal.reason);
        };
        const begin = () => {
          signal.removeEventListener("abort", leave);
          resolve();
        };
        const waiter = { client, begin };
        this.#waiting.add(waiter);
        signal.addEventListener("abort", leave, { once: true });
      });
    return () => this.#giveBack(client);
  }

  #isFree(client: number): boolean {
    const { places, clientPlaces } = this.#limits;
    return this.#all < places && (this.#held.get(client) ?? 0) < clientPlaces;
  }

  #add(client: number, count: 1 | -1): void {
    this.#all += count;
    const held = (this.#held.get(client) ?? 0) + count;
    if (held === 0) this.#held.delete(client);
    else this.#held.set(client, held);
  }

  #giveBack(client: number): void {
    this.#add(client, -1);
    for (const waiter of this.#waiting) {
      if (!this.#isFree(waiter.client)) continue;
      this.#waiting.delete(waiter);
      this.#add(waiter.client, 1);
      waiter.begin();
      break;
    }
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

const WITH_PORT = /^(\[[^\]]*\](?:\/\d{1,3})?|[^:]*):(\d{1,5}|\*)$/;

/** Reads a host, an address or a network, each perhaps with a port. */
function toListed(host: string): Listed {
  const [, bare = host, port] = WITH_PORT.exec(host.slice(0, MAX_HOST)) ?? [];
  const ports = port === undefined ? DEFAULT_PORTS : [port];
  const network = toNetwork(bare);
  const isPort = port === undefined || port === "*" || (Number(port) > 0 && Number(port) < 65_536);
  if (isPort && network !== undefined) return { network, ports };
  if (isPort && HOST.test(bare)) return { name: bare, ports };
  throw invalidArgument(
    `"${shorten(host, MAX_SHOWN)}" in --fetch-media is no host; expected a name such as images.example.com or *.example.com, *, or an address such as 10.0.0.7 or 10.0.0.0/8, each with a port behind it (images.example.com:8080, or :* for any) unless that is 80 or 443.`,
  );
}

/** Undefined for something that is no address, and no network of them. */
function toNetwork(text: string): BlockList | undefined {
  const [address = "", bits, more] = text.replace(/[[\]]/g, "").split("/", 3);
  const family = isIP(address);
  const most = family === 6 ? 128 : 32;
  const length = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  if (family === 0 || more !== undefined || !(length <= most)) return undefined;
  const network = new BlockList();
  network.addSubnet(address, length, family === 6 ? "ipv6" : "ipv4");
  return network;
}

/** Checks a name, or a host that is an address itself. */
function covers(listed: Listed, host: string): boolean {
  const { name = "" } = listed;
  if (isIP(host) !== 0) return hasAddress(listed, host) || (name === "*" && !isPrivateAddress(host));
  return name === "*" || host === name || (name.startsWith("*.") && host.endsWith(name.slice(1)));
}

function hasAddress({ network }: Listed, address: string): boolean {
  return network?.check(address, isIP(address) === 6 ? "ipv6" : "ipv4") ?? false;
}

function toUrl(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalidArgument("it is no address of a web server");
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
