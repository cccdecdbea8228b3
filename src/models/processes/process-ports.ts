import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { ServingError } from "../../errors.ts";
import type { Frame } from "../../platform/threads/frame.ts";
import {
  type HostPort,
  type MalformedListener,
  MalformedMessage,
  toHostPort,
} from "../../platform/threads/host-port.ts";
import { CONTROL_PORT } from "./control-protocol.ts";
import { GuardedPort } from "./guarded-port.ts";
import { LinkPort } from "./link-port.ts";
import type { ProcessLink } from "./process-link.ts";

/** Called when a port is opened and when it ends, to notify the other side. */
export interface PortListener {
  opened(port: number): void;
  closed(port: number): void;
}

/** The ports of this process to a model in another. */
export class ProcessPorts {
  readonly #link: ProcessLink;
  readonly #listener: PortListener;
  readonly #ports = new Map<number, GuardedPort>();
  #last = CONTROL_PORT;
  #isOver = false;

  constructor(link: ProcessLink, listener: PortListener) {
    this.#link = link;
    this.#listener = listener;
  }

  /** A new port for this thread; it has ended if the process has. */
  open(): HostPort {
    const number = ++this.#last;
    const port = new GuardedPort(new LinkPort(number, this.#link));
    if (this.#isOver) {
      port.close();
      return port;
    }
    this.#ports.set(number, port);
    this.#listener.opened(number);
    port.onClose(() => {
      if (this.#ports.delete(number)) this.#listener.closed(number);
    });
    return port;
  }

  /** A new port for another thread; `onMalformed` is called when that sends a malformed message. */
  openFor(onMalformed: MalformedListener): MessagePort {
    const { port1, port2 } = new MessageChannel();
    if (this.#isOver) port1.close();
    else relayPort(port1, this.open(), onMalformed);
    return port2;
  }

  /** Passes a message of the process on; throws {@link MalformedMessage} for one that it should not have sent. */
  deliver(number: number, message: Frame): void {
    const port = this.#ports.get(number);
    if (port !== undefined) port.deliver(message);
    // An answer may have been on its way when the port was closed.
    else if (number > this.#last) throw new MalformedMessage(`it is for port ${number}, which was never opened`);
  }

  /** Ends a port that the other side has ended. */
  close(number: number): void {
    this.#ports.get(number)?.close();
  }

  /** The process has ended: every open request gets this error. */
  fail(reason: ServingError): void {
    this.#isOver = true;
    for (const port of this.#ports.values()) port.fail(reason);
  }
}

/**
 * Passes messages between another thread's port and a port to a process, until either ends. `onMalformed` is called
 * when the thread sends what no client of a model does.
 */
function relayPort(thread: MessagePort, model: HostPort, onMalformed: MalformedListener): void {
  const port = toHostPort(thread);
  port.onMessage((message) => {
    try {
      model.post(message, []);
    } catch (reason) {
      if (!(reason instanceof MalformedMessage)) throw reason;
      model.close();
      onMalformed(reason);
    }
  });
  port.onClose(() => model.close());
  // What came from the process has its memory to itself.
  model.onMessage((message) => port.post(message, Array.isArray(message) ? message : []));
  model.onClose(() => port.close());
}
