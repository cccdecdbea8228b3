import { makeFrame as frame, uint32s } from "../../src/http2/frame-output.ts";
import { ERROR, FLAG, FRAME } from "../../src/http2/protocol.ts";
import { callFrames, resetCalls, toBlock } from "../../test/grpc/flood-frames.ts";
import { METHODS, frame as toMessage } from "./grpc-attack.ts";
import { grpcMessage } from "./memory-rows.ts";

/** Bytes of the largest payload that a frame may have. */
export const FRAME_BYTES = 16_384;
const WHOLE = FLAG.endHeaders | FLAG.endStream;
/** The header block of a call. */
export const CALL = toBlock(METHODS.infer);

/** So many frames, or groups of them. */
export function times(count: number, make: (index: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));
}

/** The same frames in each round, many times. */
export function always(frames: Buffer, count = 2000): () => Buffer {
  const all = times(count, () => frames);
  return () => all;
}

/** New calls in each round, from the stream 3 on. */
export function calls(block: Buffer, flags: number = WHOLE, perRound = 100): (round: number) => Buffer {
  return (round) => times(perRound, (index) => headers(2 * (perRound * round + index) + 3, [block], flags));
}

/** New calls in each round, each reset at once. */
export function resets(round: number): Buffer {
  return resetCalls(METHODS.infer, { first: 200 * round + 3, calls: 100 });
}

/** New calls in each round, of which as many are reset at once as are answered. */
export function resetsAmongAnswers(round: number): Buffer {
  const first = 80 * round + 3;
  const answered = times(20, (index) => callFrames(METHODS.infer, first + 40 + 2 * index));
  return Buffer.concat([resetCalls(METHODS.infer, { first, calls: 20 }), answered]);
}

/** Calls that go on, each with a frame for which the server has to reset it. */
export function spoiltCalls(spoil: (id: number) => Buffer): (round: number) => Buffer {
  const call = calls(CALL, FLAG.endHeaders, 1);
  return (round) =>
    times(100, (index) => {
      const number = 100 * round + index;
      return Buffer.concat([call(number), spoil(2 * number + 3)]);
    });
}

/** Calls whose names no table has seen. */
export function newNames(round: number): Buffer {
  return times(20, (index) => {
    const id = 2 * (20 * round + index) + 3;
    const fields = Array.from({ length: 50 }, (_, name) => [`x-${id}-${name}`, "a"] as const);
    return headers(id, [toBlock(METHODS.infer, ...fields)]);
  });
}

/** Calls that are answered by as many bytes. */
export function largeCalls(count: number, bytes: number): Buffer {
  const content = toMessage(grpcMessage(bytes));
  return times(count, (index) => {
    const id = 2 * index + 1;
    const data = Array.from({ length: Math.ceil(content.length / FRAME_BYTES) }, (_, part) => {
      const piece = content.subarray(part * FRAME_BYTES, (part + 1) * FRAME_BYTES);
      return frame(FRAME.data, (part + 1) * FRAME_BYTES >= content.length ? FLAG.endStream : 0, id, piece);
    });
    return Buffer.concat([headers(id, [CALL], FLAG.endHeaders), ...data]);
  });
}

/** A header block in as many frames as it needs. */
export function headers(id: number, parts: readonly Buffer[], flags: number = WHOLE): Buffer {
  const block = Buffer.concat(parts);
  const frames: Buffer[] = [];
  for (let at = 0; at === 0 || at < block.length; at += FRAME_BYTES) {
    const end = at + FRAME_BYTES >= block.length ? FLAG.endHeaders : 0;
    const type = at === 0 ? FRAME.headers : FRAME.continuation;
    const all = at === 0 ? (flags & FLAG.endStream) | end : end;
    frames.push(frame(type, all, id, block.subarray(at, at + FRAME_BYTES)));
  }
  return Buffer.concat(frames);
}

/** A part of the first call's header block, which goes on. */
export function continuation(block: Buffer): Buffer {
  return frame(FRAME.continuation, 0, 1, block);
}

/** A frame that widens a window. */
export function update(id: number, bytes: number): Buffer {
  return frame(FRAME.windowUpdate, 0, id, uint32s(bytes));
}

/** A frame by which a stream depends on another alone. */
export function priority(id: number, parent: number): Buffer {
  return frame(FRAME.priority, 0, id, Buffer.concat([uint32s(0x80000000 + parent), Buffer.of(255)]));
}

/** One setting, as a payload. */
export function setting(name: number, value: number): Buffer {
  return Buffer.concat([Buffer.of(0, name), uint32s(value)]);
}

/** The farewell of a client. */
export function goaway(): Buffer {
  return frame(FRAME.goaway, 0, 0, uint32s(0, ERROR.none));
}
