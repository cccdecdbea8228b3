import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { makeFrame, uint32s } from "../../src/http2/frame-output.ts";
import { type HeaderList, HpackDecoder } from "../../src/http2/hpack-decoder.ts";
import { HpackEncoder, type SentHeaders } from "../../src/http2/hpack-encoder.ts";
import { FLAG, FRAME, PREFACE } from "../../src/http2/protocol.ts";
import { ServerSession } from "../../src/http2/server-session.ts";
import type { SessionLimits } from "../../src/http2/session-limits.ts";
import { listenOnFreePort } from "./listen-on-free-port.ts";
import { type ReceivedFrame, ReceivedFrames } from "./received-frames.ts";

export const LIMITS: SessionLimits = {
  maxConcurrentStreams: 100,
  streamWindowBytes: 2 ** 20,
  connectionWindowBytes: 2 ** 24,
  maxConnectionWindowBytes: 2 ** 24,
  maxHeaderBytes: 16_384,
  maxHeaders: 100,
};
export const REQUEST: SentHeaders = { ":method": "POST", ":scheme": "http", ":path": "/", ":authority": "x" };

/** Starts a server of bare sessions; returns its port. */
export async function startSessions(open: (session: ServerSession) => void, limits = LIMITS): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    open(new ServerSession(socket, limits));
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return listenOnFreePort(server);
}

/** A client that sends frames as a test says, right or wrong, and gives those that it receives. */
export class RawClient {
  readonly socket: Socket;
  readonly #encoder = new HpackEncoder();
  readonly #decoder = new HpackDecoder({ maxBytes: 2 ** 20, maxFields: 1000 });
  readonly #frames: ReceivedFrame[] = [];
  readonly #received = new ReceivedFrames();
  #wake = () => {};

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.setNoDelay(true);
    this.socket.on("error", () => {});
    this.socket.on("data", (bytes: Buffer) => this.#take(bytes));
    this.socket.on("close", () => this.#wake());
    onTestFinished(() => void this.socket.destroy());
  }

  /** A client that has sent its preface and settings, and acknowledged those of the server, which it has received. */
  static async open(port: number, settings: Buffer = Buffer.alloc(0)): Promise<RawClient> {
    const client = new RawClient(port);
    client.sendRaw(PREFACE);
    client.send(FRAME.settings, 0, 0, settings);
    await client.receive(({ type, flags }) => type === FRAME.settings && flags === FLAG.ack);
    client.send(FRAME.settings, FLAG.ack, 0);
    return client;
  }

  sendRaw(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  send(type: number, flags: number, id: number, payload: Uint8Array = Buffer.alloc(0)): void {
    this.sendRaw(makeFrame(type, flags, id, payload));
  }

  /** Begins a stream; its request has data if its flags do not end it. */
  sendHeaders(id: number, headers: SentHeaders = REQUEST, flags: number = FLAG.endStream): void {
    this.send(FRAME.headers, flags | FLAG.endHeaders, id, Buffer.from(this.#encoder.encode(headers)));
  }

  sendData(id: number, data: Uint8Array | string, flags = 0): void {
    this.send(FRAME.data, flags, id, Buffer.from(data as string));
  }

  widen(id: number, bytes: number): void {
    this.send(FRAME.windowUpdate, 0, id, uint32s(bytes));
  }

  /** The next frame that the condition allows; those before it are dropped. Rejects at the connection's end. */
  async receive(isWanted: (frame: ReceivedFrame) => boolean = () => true): Promise<ReceivedFrame> {
    for (;;) {
      for (let frame = this.#frames.shift(); frame !== undefined; frame = this.#frames.shift()) {
        if (isWanted(frame)) return frame;
      }
      if (this.socket.destroyed) throw new Error("The connection has ended.");
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** All frames that the server sends because of what was sent before. */
  async settle(): Promise<ReceivedFrame[]> {
    // An answer to a ping goes before data of the same write.
    return [...(await this.#untilPing("settled?")), ...(await this.#untilPing("settled!"))];
  }

  async #untilPing(text: string): Promise<ReceivedFrame[]> {
    this.send(FRAME.ping, 0, 0, Buffer.from(text));
    const frames: ReceivedFrame[] = [];
    await this.receive((frame) => {
      if (frame.type === FRAME.ping && frame.payload.toString() === text) return true;
      frames.push(frame);
      return false;
    });
    return frames;
  }

  /** Resolves once the connection has ended. */
  async closed(): Promise<void> {
    // Its errors are no matter here.
    if (!this.socket.closed) await new Promise((resolve) => this.socket.once("close", resolve));
  }

  decode({ payload }: ReceivedFrame): Record<string, string> {
    const list: HeaderList = this.#decoder.decode(payload, 0, payload.length);
    return Object.fromEntries(list.fields.map(({ name, value }) => [name, value]));
  }

  /** The code and reason of GOAWAY, after which the connection ends. */
  async end(): Promise<{ code: number; reason: string }> {
    const { payload } = await this.receive(({ type }) => type === FRAME.goaway);
    await this.closed();
    return { code: payload.readUInt32BE(4), reason: payload.toString("latin1", 8) };
  }

  /** The code of the next reset of a stream. */
  async resetOf(id: number): Promise<number> {
    const frame = await this.receive((received) => received.type === FRAME.reset && received.id === id);
    return frame.payload.readUInt32BE(0);
  }

  /** Answers the next ping of the server. */
  async answerPing(): Promise<void> {
    const { payload } = await this.receive(({ type, flags }) => type === FRAME.ping && (flags & FLAG.ack) === 0);
    this.send(FRAME.ping, FLAG.ack, 0, payload);
  }

  #take(bytes: Buffer): void {
    this.#frames.push(...this.#received.add(bytes));
    this.#wake();
  }
}
