import { ServingError } from "../../../src/errors.ts";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import type { Door } from "./door.ts";
import type { AskCommand, Command } from "./history.ts";
import type { World } from "./world.ts";

/** Something that a client, or whoever runs the server, waits for. */
export interface Wait {
  readonly what: string;
  readonly since: number;
}

/** Codes of errors that clients may get whatever happens: others are the code's own failures. */
const REFUSALS = new Set(["unavailable", "not_found", "invalid_argument", "failed_precondition", "resource_exhausted"]);
const ENDS = new Set(["cancelled", "deadline_exceeded", "aborted"]);

/** Clients and operators: they send what a history says, and know what they still wait for. */
export class Clients {
  readonly waits = new Set<Wait>();
  /** Leases and keeps that only their holders can end. */
  readonly held = new Set<string>();
  /** Number of requests by how they ended. */
  readonly ends = new Map<string, number>();
  /** Called once nothing is waited for any more that a command began. */
  onEnd: (command: Command) => void = () => {};
  /** Called with each request that fails, and its reason. */
  onFailure: (wait: Wait, reason: string) => void = () => {};
  readonly #world: World;
  readonly #door: Door;

  constructor(world: World, door: Door) {
    this.#world = world;
    this.#door = door;
  }

  /** Begins what a command says; nothing waits for it. */
  begin(command: Command, number: number): void {
    const { do: kind, at: _, id: __, ...what } = command;
    this.#world.note(`> ${kind} ${JSON.stringify(what)}`);
    const since = this.#world.time.now;
    void this.#do(command, number)
      .catch((reason) => this.#check({ what: `${kind} ${number}`, since }, reason))
      .then(() => this.onEnd(command));
  }

  async #do(command: Command, number: number): Promise<void> {
    if (command.do === "ask") return this.#ask(command, `request ${number}`);
    if (command.do === "wish") {
      this.#door.wish(command.models);
      await this.#wait(`wish ${number}`, this.#door.settled());
    } else if (command.do === "load") {
      await this.#wait(`load of ${command.model}`, this.#door.load(command.model));
    } else if (command.do === "unload" || command.do === "unload with dependents") {
      await this.#unload(command.model, command.do === "unload with dependents");
    } else if (command.do === "reload hooks") await this.#wait("reload of hooks", this.#door.reloadHooks());
    else if (command.do === "keep") this.#keep(command, number);
    else await this.#statistics();
  }

  async #unload(model: string, dependents: boolean): Promise<void> {
    await this.#wait(`unload of ${model}`, this.#door.unload(model, dependents));
  }

  async #statistics(): Promise<void> {
    await this.#wait("statistics", this.#door.statistics());
  }

  #keep({ model, forMs }: Extract<Command, { readonly do: "keep" }>, number: number): void {
    const release = this.#door.keep(model);
    if (release === undefined) return;
    const name = `keep ${number} of ${model}`;
    this.held.add(name);
    this.#world.time.after(forMs, name, () => {
      this.#world.note(`${name} ends`);
      this.held.delete(name);
      release();
    });
  }

  async #ask({ model, version, label, bodyMs, leavesAfterMs, queueTimeoutMs }: AskCommand, id: string): Promise<void> {
    const signal = new CancelSource();
    const asked = { ...{ model, label, id, signal }, version: version === undefined ? undefined : BigInt(version) };
    const lease = this.#door.acquire(asked);
    try {
      if (bodyMs !== undefined) await this.#body(id, bodyMs);
      if (leavesAfterMs !== undefined)
        this.#world.time.after(leavesAfterMs, `${id} leaves`, () => this.#leave(id, signal));
      const limits = queueTimeoutMs === undefined ? undefined : { queueTimeoutMs };
      await this.#wait(id, this.#door.infer(lease, { ...asked, limits }));
      this.#count("answered");
    } finally {
      lease.release();
    }
  }

  #leave(id: string, signal: CancelSource): void {
    this.#world.note(`${id} leaves`);
    signal.abort(new ServingError("cancelled", "the client has left"));
  }

  async #body(id: string, ms: number): Promise<void> {
    const name = `body of ${id}`;
    this.held.add(name);
    const come = createDeferred<void>();
    this.#world.time.after(ms, name, come.resolve);
    await come.promise;
    this.held.delete(name);
  }

  async #wait(what: string, promise: Promise<unknown>): Promise<void> {
    const wait = { what, since: this.#world.time.now };
    this.waits.add(wait);
    try {
      await promise;
      this.#world.note(`${what} is over`);
    } finally {
      this.waits.delete(wait);
    }
  }

  #check(wait: Wait, reason: unknown): void {
    const { what } = wait;
    const code = reason instanceof ServingError ? reason.code : undefined;
    this.#world.note(`${what} fails: ${String(reason)}`);
    this.#count(code ?? "another error");
    this.onFailure(wait, String(reason));
    const isMade = String(reason).includes("fails as it should");
    if (code !== undefined && (isMade || REFUSALS.has(code) || ENDS.has(code))) return;
    this.#world.violate("P2", `${what} gets no reason that a client understands: ${String(reason)}`);
  }

  #count(end: string): void {
    this.ends.set(end, (this.ends.get(end) ?? 0) + 1);
  }
}
