import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { makeFrame } from "../../../src/http2/frame-output.ts";
import { HpackDecoder } from "../../../src/http2/hpack-decoder.ts";
import { FLAG, FRAME } from "../../../src/http2/protocol.ts";
import { type ReceivedFrame, ReceivedFrames } from "../received-frames.ts";

/** Words and actions of a server because of a conversation. */
export interface Outcome {
  /** `open`, `closed`, or `goaway CODE`. */
  readonly end: string;
  /** The reason that GOAWAY gives. */
  readonly why: string;
  /** Answers and resets by the stream. */
  readonly streams: Readonly<Record<string, string>>;
}

/** Answers to pings after which nothing more is expected: what is to be sent may take some turns. */
const PINGS = ["settle 1", "settle 2", "settle 3"];

/**
 * Sends a conversation in two writes; resolves with what came, once pings behind it were answered, the connection has
 * ended, or nothing has come for a while: a frame that is not whole swallows pings.
 */
export async function observe(port: number, bytes: Buffer, cut: number, quietMs: number): Promise<Outcome> {
  const socket = connect(port, "127.0.0.1").setNoDelay(true);
  const observer = new Observer(socket);
  socket.write(bytes.subarray(0, cut));
  // Each server has to read the first part alone.
  await wait(quietMs / 10);
  socket.write(bytes.subarray(cut));
  for (const ping of PINGS) {
    if (socket.writable) socket.write(makeFrame(FRAME.ping, 0, 0, Buffer.from(ping)));
    await observer.answered(ping, quietMs);
  }
  socket.destroy();
  return observer.outcome;
}

interface Received {
  head: string;
  bytes: number;
  end: string;
}

class Observer {
  readonly #socket: Socket;
  readonly #frames = new ReceivedFrames();
  readonly #decoder = new HpackDecoder({ maxBytes: 2 ** 20, maxFields: 1000 });
  readonly #streams = new Map<number, Received>();
  readonly #pings = new Set<string>();
  #code = 0;
  #why = "";
  #isClosed = false;
  #wake = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => {
      for (const frame of this.#frames.add(bytes)) this.#take(frame);
      this.#wake();
    });
    socket.on("close", () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  /** Resolves once a ping was answered, the connection has ended, or nothing has come for some time. */
  async answered(ping: string, quietMs: number): Promise<void> {
    let isQuiet = false;
    while (!this.#pings.has(ping) && !this.#isClosed && !isQuiet) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => {
          isQuiet = true;
          // What came while this process was busy is read after timers.
          setImmediate(() => setImmediate(resolve));
        }, quietMs);
        this.#wake = () => {
          clearTimeout(timer);
          isQuiet = false;
          resolve();
        };
      });
    }
  }

  get outcome(): Outcome {
    const closed = this.#isClosed || this.#socket.readableEnded ? "closed" : "open";
    const streams = Array.from(this.#streams, ([id, { head, bytes, end }]) => [id, `${head} ${bytes} bytes ${end}`]);
    return {
      end: this.#code === 0 ? closed : `goaway ${this.#code}`,
      why: this.#why,
      streams: Object.fromEntries(streams),
    };
  }

  #take(frame: ReceivedFrame): void {
    const { type, flags, id, payload } = frame;
    if (type === FRAME.ping && flags === FLAG.ack) this.#pings.add(payload.toString());
    else if (type === FRAME.goaway) {
      this.#code ||= payload.readUInt32BE(4);
      this.#why ||= payload.toString("latin1", 8);
    } else if (id !== 0) this.#takeOfStream(frame);
  }

  #takeOfStream({ type, flags, id, payload }: ReceivedFrame): void {
    const stream = this.#streams.get(id) ?? { head: "", bytes: 0, end: "" };
    if (type === FRAME.headers) {
      const { fields } = this.#decoder.decode(payload, 0, payload.length);
      stream.head = fields.flatMap(({ name, value }) => (name === "date" ? [] : [`${name} ${value}`])).join(", ");
    } else if (type === FRAME.data) stream.bytes += payload.length;
    else if (type === FRAME.reset) stream.end = `reset ${payload.readUInt32BE(0)}`;
    else return;
    if (type !== FRAME.reset && (flags & FLAG.endStream) !== 0) stream.end ||= "ended";
    this.#streams.set(id, stream);
  }
}
