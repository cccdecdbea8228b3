import { makeFrame } from "../../../src/http2/frame-output.ts";
import { HpackDecoder } from "../../../src/http2/hpack-decoder.ts";
import { FLAG, FRAME, PREFACE } from "../../../src/http2/protocol.ts";
import { ReceivedFrames } from "../received-frames.ts";

/** A header field, and the first byte of its literal form: 0x00, 0x10 = never indexed, 0x40 = added to the table. */
export interface Field {
  readonly name: string;
  readonly value: string;
  readonly form: number;
}

/** A frame of a client. */
export interface Piece {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  /** All of the frame that is not in another member. */
  readonly payload: Buffer;
  /** Of HEADERS, if they were not made raw: what is encoded behind the payload, which is a priority or empty. */
  readonly fields?: readonly Field[];
  /** Bytes of padding; absent = the frame has none, or its payload has it already. */
  readonly padding?: number;
  /** A difference between the length that the frame says and the one it has. */
  readonly lie?: number;
}

const PRIORITY_BYTES = 5;
const NOTHING = Buffer.alloc(0);

/** Cuts what a client sent into frames, whose header blocks then depend on no table. */
export function readConversation(bytes: Buffer): Piece[] {
  const decoder = new HpackDecoder({ maxBytes: 2 ** 20, maxFields: 1000 });
  return new ReceivedFrames().add(bytes.subarray(PREFACE.length)).map((frame) => {
    const { type, flags, id, payload } = frame;
    if (type !== FRAME.headers || (flags & (FLAG.endHeaders | FLAG.padded)) !== FLAG.endHeaders) return frame;
    const start = (flags & FLAG.priority) === 0 ? 0 : PRIORITY_BYTES;
    const { fields } = decoder.decode(payload, start, payload.length);
    const literals = fields.map(({ name, value }) => ({ name, value, form: 0 }));
    return { type, flags, id, payload: payload.subarray(0, start), fields: literals };
  });
}

/** All that the client sends. */
export function writeConversation(pieces: readonly Piece[]): Buffer {
  return Buffer.concat([PREFACE, ...pieces.map(writePiece)]);
}

/** The same frame with its payload as bytes. */
export function toRaw({ fields, padding, ...piece }: Piece): Piece {
  const content = fields === undefined ? piece.payload : Buffer.concat([piece.payload, ...fields.map(writeField)]);
  if (padding === undefined) return { ...piece, payload: content };
  return { ...piece, payload: Buffer.concat([Buffer.of(padding), content, Buffer.alloc(padding)]) };
}

/** The fields of a stream's headers; none of a block that cannot be decoded alone. */
export function fieldsOf(pieces: readonly Piece[], id: number): readonly Pick<Field, "name" | "value">[] {
  return pieces.flatMap((piece, at) => {
    if (piece.type !== FRAME.headers || piece.id !== id) return [];
    const after = pieces.slice(at + 1);
    const end = after.findIndex(({ type }) => type !== FRAME.continuation);
    const more = (end < 0 ? after : after.slice(0, end)).map(({ payload }) => payload);
    const block = Buffer.concat([fragmentOf(piece), ...more]);
    try {
      return new HpackDecoder({ maxBytes: 2 ** 20, maxFields: 1000 }).decode(block, 0, block.length).fields;
    } catch {
      return [];
    }
  });
}

/** The part of a header block that a frame of headers has. */
function fragmentOf({ fields, payload, flags, padding }: Piece): Buffer {
  const isPadded = (flags & FLAG.padded) !== 0 && padding === undefined;
  const start = (isPadded ? 1 : 0) + ((flags & FLAG.priority) === 0 ? 0 : PRIORITY_BYTES);
  const end = isPadded ? Math.max(start, payload.length - (payload[0] ?? 0)) : payload.length;
  return Buffer.concat([payload.subarray(start, end), ...(fields ?? []).map(writeField)]);
}

/** A frame as it can be read, and sent again by hand. */
export function describe(piece: Piece): string {
  const name = Object.entries(FRAME).find(([, type]) => type === piece.type)?.[0] ?? piece.type;
  const fields = piece.fields?.map(({ name, value }) => `${name}: ${value}`.slice(0, 60)).join("; ") ?? "";
  return `${name} flags ${piece.flags} stream ${piece.id} ${fields} ${writePiece(piece).toString("hex").slice(0, 400)}`;
}

function writePiece(piece: Piece): Buffer {
  const { type, flags, id, payload, lie = 0 } = toRaw(piece);
  const frame = makeFrame(type, flags, id, payload);
  frame.writeUIntBE(Math.max(0, payload.length + lie), 0, 3);
  return frame;
}

function writeField({ name, value, form }: Field): Buffer {
  return Buffer.concat([Buffer.of(form), writeText(name), writeText(value)]);
}

/** Not in Huffman's code. */
function writeText(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  const { length } = bytes;
  if (length < 127) return Buffer.concat([Buffer.of(length), bytes]);
  const rest = length - 127;
  const head = [127, (rest & 127) | 128, ((rest >> 7) & 127) | 128, rest >> 14];
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** A setting, as a payload has it. */
export function setting(name: number, value: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(name);
  bytes.writeUInt32BE(value, 2);
  return bytes;
}

/** A request that a client sends with one frame. */
export function request(id: number, method = "GET"): Piece {
  const fields = Object.entries({ ":method": method, ":scheme": "http", ":path": "/", ":authority": "x" });
  return {
    type: FRAME.headers,
    flags: FLAG.endHeaders | (method === "GET" ? FLAG.endStream : 0),
    id,
    payload: NOTHING,
    fields: fields.map(([name, value]) => ({ name, value, form: 0 })),
  };
}
