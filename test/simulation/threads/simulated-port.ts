import { EventEmitter } from "node:events";
import type { SimulatedThread } from "./simulated-thread.ts";

/** The last message of a port whose other end has closed. */
const CLOSE = Symbol("close");

/** A message on its way, and the ports that go with it. */
interface Sent {
  readonly message: unknown;
  readonly ports: readonly SimulatedPort[];
}

/** One end of a connection between simulated threads, as Node's. */
export class SimulatedPort extends EventEmitter {
  #owner: SimulatedThread;
  #peer: SimulatedPort | undefined;
  /** Messages that were sent to it, in order, and how many of them have arrived. */
  readonly #inbox: (Sent | typeof CLOSE)[] = [];
  #arrived = 0;
  #isStarted = false;
  #isClosed = false;
  #isDelivering = false;

  private constructor(owner: SimulatedThread) {
    super();
    this.#owner = owner;
    owner.ports.add(this);
    this.on("newListener", (event) => {
      if (event !== "message") return;
      this.#isStarted = true;
      // Not before the listener is there.
      this.#owner.soon("a port starts", () => this.#deliverSoon());
    });
  }

  /** The two ends of a connection, both in one thread. */
  static pair(owner: SimulatedThread): [SimulatedPort, SimulatedPort] {
    const [one, other] = [new SimulatedPort(owner), new SimulatedPort(owner)];
    one.#peer = other;
    other.#peer = one;
    return [one, other];
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  postMessage(message: unknown, transfer: readonly unknown[] = []): void {
    const sent = cloneMessage(message, transfer);
    // A thread that has ended does nothing more.
    if (this.#isClosed || this.#peer === undefined || !this.#owner.isAlive) dispose(sent);
    else this.#peer.#accept(sent);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#owner.ports.delete(this);
    for (const sent of this.#inbox.splice(0)) if (sent !== CLOSE) dispose(sent);
    if (this.#peer !== undefined) this.#peer.#accept(CLOSE);
    this.#peer = undefined;
    this.#owner.soon("a port closes", () => this.emit("close"));
  }

  /** The next message that was sent to it, whether or not it has arrived. */
  receive(): { readonly message: unknown } | undefined {
    const [sent] = this.#inbox;
    if (sent === undefined || sent === CLOSE) return undefined;
    this.#inbox.shift();
    this.#arrived = Math.max(0, this.#arrived - 1);
    return { message: this.#open(sent) };
  }

  /** Moves it to another thread. */
  moveTo(thread: SimulatedThread): void {
    this.#owner.ports.delete(this);
    this.#owner = thread;
    if (!this.#isClosed) thread.ports.add(this);
  }

  #accept(sent: Sent | typeof CLOSE): void {
    this.#inbox.push(sent);
    this.#owner.onTheWay(() => {
      this.#arrived++;
      this.#deliverSoon();
    });
  }

  #deliverSoon(): void {
    if (this.#isDelivering || this.#arrived === 0) return;
    this.#isDelivering = true;
    this.#owner.enter(() => {
      this.#isDelivering = false;
      this.#deliver();
    });
  }

  /** One message; those behind it come after what follows from it. */
  #deliver(): void {
    const [sent] = this.#inbox;
    if (sent === undefined) this.#arrived = 0;
    if (sent === undefined || this.#isClosed || (!this.#isStarted && sent !== CLOSE)) return;
    this.#inbox.shift();
    this.#arrived = Math.max(0, this.#arrived - 1);
    if (this.#arrived > 0) this.#owner.soon("more messages", () => this.#deliverSoon());
    if (sent === CLOSE) this.#end();
    else this.emit("message", this.#open(sent));
  }

  #open({ message, ports }: Sent): unknown {
    for (const port of ports) port.moveTo(this.#owner);
    return message;
  }

  #end(): void {
    this.#isClosed = true;
    this.#peer = undefined;
    this.#owner.ports.delete(this);
    this.emit("close");
  }
}

/** Closes the ports of a message that nobody will read. */
function dispose({ ports }: Sent): void {
  for (const port of ports) port.close();
}

/** A message as another thread gets it; buffers in `transfer` are lost to this one. */
export function cloneMessage(message: unknown, transfer: readonly unknown[]): Sent {
  const ports = transfer.filter((each) => each instanceof SimulatedPort);
  const buffers = transfer.filter((each) => each instanceof ArrayBuffer);
  if (ports.length === 0) return { message: structuredClone(message, { transfer: buffers }), ports };
  const marked = replaceAll(message, (each) => (each instanceof SimulatedPort ? { port: ports.indexOf(each) } : each));
  const copy: unknown = structuredClone(marked, { transfer: buffers });
  const isMark = (each: unknown): each is { readonly port: number } =>
    typeof each === "object" && each !== null && Object.keys(each).join() === "port" && "port" in each;
  return { message: replaceAll(copy, (each) => (isMark(each) ? ports[each.port] : each)), ports };
}

/** Plain data with some of its values replaced. */
function replaceAll(value: unknown, replace: (value: unknown) => unknown): unknown {
  const own = replace(value);
  if (own !== value) return own;
  if (Array.isArray(value)) return value.map((each) => replaceAll(each, replace));
  if (typeof value !== "object" || value === null || ![Object.prototype, null].includes(Object.getPrototypeOf(value)))
    return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, replaceAll(each, replace)]));
}
