import type { RemoteService } from "./remote-service.ts";

/** A server that was called lately. */
interface Target {
  readonly service: RemoteService;
  /** Requests under way. */
  users: number;
  /** To be closed after its last request. */
  isEvicted: boolean;
}

/** Connections to servers that requests choose: the one that was not used for longest gives way. */
export class RecentServices {
  readonly #open: (address: string) => RemoteService;
  readonly #maxCount: number;
  /** By address, least recently used first. */
  readonly #targets = new Map<string, Target>();

  constructor(maxCount: number, open: (address: string) => RemoteService) {
    this.#maxCount = maxCount;
    this.#open = open;
  }

  /** Runs a step on the server at an address, whose connection stays open until the step has settled. */
  async use<Result>(address: string, step: (service: RemoteService) => Promise<Result>): Promise<Result> {
    const target = this.#acquire(address);
    try {
      return await step(target.service);
    } finally {
      target.users--;
      if (target.isEvicted && target.users === 0) await target.service.close();
    }
  }

  /** Closes all connections; requests under way fail. */
  async close(): Promise<void> {
    const services = Array.from(this.#targets.values(), ({ service }) => service);
    this.#targets.clear();
    await Promise.all(services.map((service) => service.close()));
  }

  #acquire(address: string): Target {
    const target = this.#targets.get(address) ?? { service: this.#open(address), users: 0, isEvicted: false };
    target.users++;
    this.#targets.delete(address);
    this.#targets.set(address, target);
    if (this.#targets.size > this.#maxCount) this.#evictOldest();
    return target;
  }

  #evictOldest(): void {
    const [oldest] = this.#targets;
    if (oldest === undefined) return;
    const [address, target] = oldest;
    this.#targets.delete(address);
    target.isEvicted = true;
    if (target.users === 0) void target.service.close();
  }
}
