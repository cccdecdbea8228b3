import { BlockList, isIP } from "node:net";
import { invalidArgument } from "../errors.ts";
import type { Caller } from "./caller.ts";
import { plainAddress } from "./network-address.ts";

/** Name of the clients of a Unix socket in the list of proxies, as nginx has it. */
const UNIX = "unix:";
/** Maximum number of entries of `X-Forwarded-For` that are read; further ones may be a client's invention. */
const MAX_HOPS = 32;

/** Proxies that are known by their addresses, and whose `X-Forwarded-For` is believed: any client may send one. */
export class TrustedProxies {
  readonly #addresses = new BlockList();
  readonly #isUnixTrusted: boolean;
  readonly #isAny: boolean;

  /** Addresses, ranges as `ADDRESS/BITS`, or `unix:`; throws `invalid_argument` for anything else. */
  constructor(ranges: readonly string[]) {
    this.#isAny = ranges.length > 0;
    this.#isUnixTrusted = ranges.includes(UNIX);
    for (const range of ranges) if (range !== UNIX) this.#add(range);
  }

  /** True if any proxy is trusted. */
  get areSome(): boolean {
    return this.#isAny;
  }

  /**
   * The address of the client that a call comes from, without a port: the connection's other end, or if that is a
   * trusted proxy the last entry of `X-Forwarded-For` that is not one.
   */
  clientAddress({ address, headers }: Pick<Caller, "address" | "headers">): string {
    let client = plainAddress(address) ?? address;
    const forwarded = headers["x-forwarded-for"];
    if (!this.#isAny || typeof forwarded !== "string") return client;
    const hops = forwarded.split(",").slice(-MAX_HOPS);
    for (let hop = hops.pop(); hop !== undefined && this.#isTrusted(client); hop = hops.pop()) {
      const before = plainAddress(hop.trim());
      // Not an address: the proxy that added it is all that is known.
      if (before === undefined) break;
      client = before;
    }
    return client;
  }

  /** True for the address of a connection that a trusted proxy has made, with or without a port. */
  trusts(address: string): boolean {
    return this.#isAny && this.#isTrusted(plainAddress(address) ?? address);
  }

  #add(range: string): void {
    const [, address = "", bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(range) ?? [];
    const family = isIP(address);
    const maxBits = family === 4 ? 32 : 128;
    if (family === 0 || Number(bits ?? maxBits) > maxBits) {
      throw invalidArgument(
        `The trusted proxy "${range}" is not an address; expected ADDRESS, ADDRESS/BITS or unix:, for example 10.0.0.0/8.`,
      );
    }
    this.#addresses.addSubnet(address, Number(bits ?? maxBits), family === 4 ? "ipv4" : "ipv6");
  }

  #isTrusted(address: string): boolean {
    const family = isIP(address);
    if (family === 0) return this.#isUnixTrusted && address === UNIX;
    return this.#addresses.check(address, family === 4 ? "ipv4" : "ipv6");
  }
}
