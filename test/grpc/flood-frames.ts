/** HTTP/2's frame types (RFC 9113 §6). */
const FRAME = { data: 0, headers: 1, reset: 3, settings: 4 } as const;
/** Flags of a frame. */
const END_STREAM = 1;
const END_HEADERS = 4;
const FRAMES_AT_ONCE = 50_000;

/** The preface and settings without content. */
const BEGINNING = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame(FRAME.settings, Buffer.alloc(0), { stream: 0 }),
]);

/** Size and form of a flood's messages. */
interface Flood {
  readonly messageBytes: number;
  /** The call's own statement of its messages' compression. */
  readonly encoding: string;
}

/** All that a client sends to call a method with a message of which each byte is in its own frame. */
export function* floodFrames(path: string, { messageBytes, encoding }: Flood): Generator<Buffer> {
  const message = Buffer.alloc(5);
  message.writeUInt32BE(messageBytes, 1);
  yield BEGINNING;
  yield frame(FRAME.headers, toBlock(path, ["grpc-encoding", encoding]), { flags: END_HEADERS });
  yield frame(FRAME.data, message);
  const byte = frame(FRAME.data, Buffer.of(0xff));
  for (let sent = 0; sent < messageBytes; sent += FRAMES_AT_ONCE) {
    yield Buffer.concat(new Array(Math.min(FRAMES_AT_ONCE, messageBytes - sent)).fill(byte));
  }
  yield frame(FRAME.data, Buffer.alloc(0), { flags: END_STREAM });
}

/** All that a client sends to begin so many calls and to reset each at once. */
export function resetFrames(path: string, calls: number): Buffer {
  return Buffer.concat([BEGINNING, resetCalls(path, { first: 1, calls })]);
}

/** Calls from the stream `first` on, each with its reset. */
export function resetCalls(path: string, { first, calls }: { first: number; calls: number }): Buffer {
  const [block, cancel] = [toBlock(path), Buffer.of(0, 0, 0, 8)];
  const frames = Array.from({ length: calls }, (_, index) => {
    const stream = first + 2 * index;
    return [frame(FRAME.headers, block, { flags: END_HEADERS, stream }), frame(FRAME.reset, cancel, { stream })];
  });
  return Buffer.concat(frames.flat());
}

/** Calls without a path, each of which HTTP/2 refuses with a reset. */
export function refusedCalls(calls: number): Buffer {
  const block = Buffer.alloc(200, 0x83);
  const toFrame = (_: unknown, index: number) =>
    frame(FRAME.headers, block, { flags: END_HEADERS, stream: 2 * index + 1 });
  return Buffer.concat(Array.from({ length: calls }, toFrame));
}

/** All that a client sends to open a connection: its settings, and that it has those of the server. */
export const OPENING = Buffer.concat([BEGINNING, frame(FRAME.settings, Buffer.alloc(0), { flags: 1, stream: 0 })]);

/** All that a client sends to call a method with an empty message. */
export function callFrames(path: string, stream: number): Buffer {
  const headers = frame(FRAME.headers, toBlock(path), { flags: END_HEADERS, stream });
  return Buffer.concat([headers, frame(FRAME.data, Buffer.alloc(5), { flags: END_STREAM, stream })]);
}

/** The header block of a call, with more fields than it needs; nothing in it is indexed. */
export function toBlock(path: string, ...more: (readonly [string, string])[]): Buffer {
  const headers = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "x"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ...more,
  ] as const;
  return Buffer.concat(headers.map(toField));
}

function frame(type: number, payload: Buffer, { flags = 0, stream = 1 } = {}): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header field that is spelled out and not indexed (RFC 7541 §6.2.2). */
function toField([name, value]: readonly [string, string]): Buffer {
  return Buffer.concat([Buffer.of(0), toText(name), toText(value)]);
}

function toText(text: string): Buffer {
  return Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
}
