import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { makeFrame } from "../../src/http2/frame-output.ts";
import { HpackDecoder } from "../../src/http2/hpack-decoder.ts";
import { FRAME, PREFACE } from "../../src/http2/protocol.ts";
import { type ReceivedFrame, ReceivedFrames } from "../../test/http2/received-frames.ts";
import { openSocket } from "./http-attack.ts";

/** Frames of a hostile client. */
export interface Http2Attack {
  /** Payload of its SETTINGS; those of the server it never acknowledges. Default nothing. */
  readonly settings?: Buffer;
  /** Sent once, behind the settings. */
  readonly first?: Buffer;
  /** Sent behind that without end, for as long as the server takes it. `round` counts from 0. */
  readonly again?: (round: number) => Buffer;
  /** Connections at the same time. Default 1. */
  readonly connections?: number;
  /** Times that all this is done. Default 1. */
  readonly turns?: number;
  /** `unread`: it takes nothing for a while; `leaves`: it is gone without a word in the midst of what it sends. */
  readonly manner?: "unread" | "leaves";
  /** Words that the server has to say on each connection: see {@link attackHttp2}. */
  readonly says: readonly string[];
}

const FLOOD_MS = 2000;
/** Time for a server to say what it has to. */
const ANSWER_MS = 2500;
const LEAVE_MS = 50;
const NOTHING = Buffer.alloc(0);

/**
 * Sends an attack on each of its connections; resolves with what the server said on each: resets, GOAWAY and answers
 * with their codes in the order of the first of each kind, `cut` if it ended the connection without a word, else
 * `open`.
 */
export async function attackHttp2(address: string, attack: Http2Attack): Promise<string[]> {
  const { connections = 1, turns = 1 } = attack;
  const said: string[] = [];
  for (let turn = 0; turn < turns; turn++) {
    said.push(...(await Promise.all(Array.from({ length: connections }, () => attackOnce(address, attack)))));
  }
  return said;
}

async function attackOnce(address: string, attack: Http2Attack): Promise<string> {
  const { settings, first, again, manner, says } = attack;
  const socket = openSocket(address);
  const said = new Said(socket);
  if (manner === "unread") socket.pause();
  socket.write(Buffer.concat([PREFACE, makeFrame(FRAME.settings, 0, 0, settings ?? NOTHING), first ?? NOTHING]));
  if (manner === "leaves") {
    await wait(LEAVE_MS);
    // An encrypted connection cannot be reset.
    if ("encrypted" in socket) socket.destroy();
    else socket.resetAndDestroy();
    return "left";
  }
  if (again !== undefined) await flood(socket, said, again);
  else if (manner === "unread") await wait(FLOOD_MS);
  socket.resume();
  await said.allOf(says);
  const { text } = said;
  socket.destroy();
  return text;
}

async function flood(socket: Socket, said: Said, again: (round: number) => Buffer): Promise<void> {
  const end = performance.now() + FLOOD_MS;
  const over = said.over;
  for (let round = 0; performance.now() < end && !said.isOver; round++) {
    const taken = new Promise<void>((resolve) => socket.write(again(round), () => resolve()));
    await Promise.race([taken, over, wait(end - performance.now())]);
    // What the server says is read only between two writes.
    await new Promise(setImmediate);
  }
}

/** The words of a server on one connection. */
class Said {
  /** Resolves once the connection is over, by a word or without one. */
  readonly over: Promise<void>;
  isOver = false;
  readonly #kinds = new Set<string>();
  readonly #frames = new ReceivedFrames();
  readonly #decoder = new HpackDecoder({ maxBytes: 2 ** 20, maxFields: 1000 });
  readonly #socket: Socket;
  #wake = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    let end = () => {};
    this.over = new Promise((resolve) => {
      end = resolve;
    });
    const over = () => {
      this.isOver = true;
      end();
      this.#wake();
    };
    socket.on("error", () => {}).once("close", over);
    socket.on("data", (bytes: Buffer) => {
      for (const frame of this.#frames.add(bytes)) this.#note(frame);
      if (this.text.includes("goaway")) over();
      else this.#wake();
    });
  }

  get text(): string {
    return [...this.#kinds].join(", ") || (this.#socket.destroyed ? "cut" : "open");
  }

  /** Resolves once the server has said all of these, the connection has ended, or nothing more is to be expected. */
  async allOf(kinds: readonly string[]): Promise<void> {
    const end = performance.now() + ANSWER_MS;
    while (!kinds.every((kind) => this.#kinds.has(kind)) && !this.#socket.destroyed && performance.now() < end) {
      const more = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await Promise.race([more, wait(end - performance.now())]);
    }
  }

  #note({ type, payload }: ReceivedFrame): void {
    if (type === FRAME.goaway) this.#kinds.add(`goaway ${payload.readUInt32BE(4)}`);
    // An answer that comes before its request has ended is followed by a reset without an error.
    else if (type === FRAME.reset && payload.readUInt32BE(0) !== 0) this.#kinds.add(`reset ${payload.readUInt32BE(0)}`);
    else if (type === FRAME.headers) {
      const { fields } = this.#decoder.decode(payload, 0, payload.length);
      const status = fields.find(({ name }) => name === ":status");
      if (status !== undefined) this.#kinds.add(`answer ${status.value}`);
    }
  }
}
