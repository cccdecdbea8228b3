import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { ServingError } from "../../errors.ts";
import type { Frame, WireRecord } from "../../platform/threads/frame.ts";
import { readFrame } from "../../platform/threads/frame-reader.ts";
import { FrameWriter } from "../../platform/threads/frame-writer.ts";
import {
  type HostPort,
  type MalformedListener,
  MalformedMessage,
  toHostPort,
} from "../../platform/threads/host-port.ts";
import { PartsAhead } from "../../platform/threads/part-window.ts";
import { CANCEL, CREDIT, CROWDED, FAILURE, PART, RESPONSE } from "../../platform/threads/rpc-client.ts";
import { parseWireError, toWireError } from "../../platform/threads/wire-error.ts";
import { hasTooManyLists, tensorBytes } from "../../tensor/tensor.ts";
import { isRunStatistics } from "../queue/run-statistics.ts";
import { checkModelRequest } from "../threads/check-model-request.ts";
import { PREDICT_PARTS, STATISTICS } from "../threads/model-protocol.ts";
import { CONTROL_PORT } from "./control-protocol.ts";
import { LinkPort, MAX_META_BYTES } from "./link-port.ts";
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

/**
 * A port to a model in another process, whose answers are checked before anyone in
 * this process sees them, and which answers every open request itself when the process
 * has ended. Posted messages are checked too: a hook thread may have written them.
 */
export class GuardedPort implements HostPort {
  readonly copies = true;
  readonly #port: LinkPort;
  /** Kinds of the requests without a response, by their ids. */
  readonly #open = new Map<number, number>();
  /** The parts on their way to those of them that take parts. */
  readonly #ahead = new Map<number, PartsAhead>();

  constructor(port: LinkPort) {
    this.#port = port;
  }

  /** Throws {@link MalformedMessage} for what a model's client does not send. */
  post(message: unknown): void {
    for (const record of readFrame(message)) this.#ask(record);
    this.#port.post(message);
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#port.onMessage(listener);
  }

  onClose(listener: () => void): void {
    this.#port.onClose(listener);
  }

  close(): void {
    this.#port.close();
  }

  /** Passes a message of the process on; throws {@link MalformedMessage} for one that a model does not send. */
  deliver(message: Frame): void {
    for (const record of readFrame(message, MAX_META_BYTES)) this.#settle(record);
    this.#port.deliver(message);
  }

  /** Ends the port, after an error for each open request. */
  fail(reason: ServingError): void {
    const writer = new FrameWriter();
    const meta = toWireError(reason);
    for (const id of this.#open.keys()) writer.write({ kind: FAILURE, id, meta, tensors: undefined }, false);
    this.#open.clear();
    if (!writer.isEmpty) this.#port.deliver(writer.take().frame);
    this.#port.close();
  }

  #ask(record: WireRecord): void {
    const { kind, id, meta } = record;
    if (kind === CANCEL) return;
    if (kind === CREDIT) {
      this.#ahead.get(id)?.took(meta);
      return;
    }
    if (this.#open.has(id)) throw new MalformedMessage(`it asks request ${id} a second time`);
    checkModelRequest(record);
    this.#open.set(id, kind);
    if (kind === PREDICT_PARTS) this.#ahead.set(id, new PartsAhead());
  }

  #settle({ kind, id, meta, tensors }: WireRecord): void {
    const asked = this.#open.get(id);
    if (asked === undefined) throw new MalformedMessage(`it answers request ${id}, which does not wait for an answer`);
    for (const name in tensors) assertListable(tensors[name]!.shape);
    const ahead = this.#ahead.get(id);
    if (ahead !== undefined && (kind === PART || kind === CROWDED)) {
      if (kind === PART) ahead.came(tensorBytes(tensors ?? {}));
      return;
    }
    if (kind === FAILURE) parseWireError(meta);
    else if (kind !== RESPONSE) throw new MalformedMessage(`it has kind ${kind}, which is not an answer`);
    else if (asked === STATISTICS && !isRunStatistics(meta)) throw new MalformedMessage("its statistics are none");
    this.#open.delete(id);
    this.#ahead.delete(id);
  }
}

/** Refuses a shape such as [2147483647, 0], which takes no memory itself, but as JSON a list for each row. */
function assertListable(shape: readonly number[]): void {
  if (shape.includes(0) && hasTooManyLists(shape)) throw new MalformedMessage(`it has a tensor of shape [${shape}]`);
}
