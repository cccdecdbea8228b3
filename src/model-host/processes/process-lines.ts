import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { ServingError } from "../../errors.ts";
import type { Frame } from "../../threads/frame.ts";
import type { HostPort } from "../../threads/host-port.ts";
import { type MalformedListener, MalformedMessage } from "../../threads/malformed-message.ts";
import { CONTROL_LINE } from "./control-protocol.ts";
import { GuardedLine } from "./guarded-line.ts";
import { LinePort } from "./line-port.ts";
import type { ProcessLink } from "./process-link.ts";
import { relayLine } from "./relay-line.ts";

/** Called when a line is opened and when it ends, to notify the other side. */
export interface LineListener {
  opened(line: number): void;
  closed(line: number): void;
}

/** The lines of this process to a model in another. */
export class ProcessLines {
  readonly #link: ProcessLink;
  readonly #listener: LineListener;
  readonly #lines = new Map<number, GuardedLine>();
  #last = CONTROL_LINE;
  #isOver = false;

  constructor(link: ProcessLink, listener: LineListener) {
    this.#link = link;
    this.#listener = listener;
  }

  /** A new line for this thread; it has ended where the process has. */
  open(): HostPort {
    const number = ++this.#last;
    const line = new GuardedLine(new LinePort(number, this.#link));
    if (this.#isOver) {
      line.close();
      return line;
    }
    this.#lines.set(number, line);
    this.#listener.opened(number);
    line.onClose(() => {
      if (this.#lines.delete(number)) this.#listener.closed(number);
    });
    return line;
  }

  /** A new line for another thread; `onMalformed` is called when that sends a malformed message. */
  openFor(onMalformed: MalformedListener): MessagePort {
    const { port1, port2 } = new MessageChannel();
    if (this.#isOver) port1.close();
    else relayLine(port1, this.open(), onMalformed);
    return port2;
  }

  /** Passes a message of the process on; throws {@link MalformedMessage} for one that it should not have sent. */
  deliver(number: number, message: Frame): void {
    const line = this.#lines.get(number);
    if (line !== undefined) line.deliver(message);
    // An answer may have been on its way when the line was closed.
    else if (number > this.#last) throw new MalformedMessage(`it is for line ${number}, which was never opened`);
  }

  /** Ends a line that the other side has ended. */
  close(number: number): void {
    this.#lines.get(number)?.close();
  }

  /** The process has ended: every open request gets this error. */
  fail(reason: ServingError): void {
    this.#isOver = true;
    for (const line of this.#lines.values()) line.fail(reason);
  }
}
