import { uint32s } from "../../../src/http2/frame-output.ts";
import { FLAG, FRAME, MAX_WINDOW_BYTES } from "../../../src/http2/protocol.ts";
import type { Random } from "../../grpc/random.ts";
import { type Field, type Piece, request, setting, toRaw } from "./conversation.ts";

/** Changes the frames of a conversation at one place. */
type Change = (pieces: readonly Piece[], at: number, random: Random) => Piece[];

const NOTHING = Buffer.alloc(0);
const VALUES = [0, 1, 2, 3, 100, 4096, 16_383, 16_384, 65_535, 65_536, 2 ** 24 - 1, 2 ** 24, MAX_WINDOW_BYTES, 2 ** 31];
const MORE = [0, 1, 1000, 65_535, MAX_WINDOW_BYTES - 65_535, MAX_WINDOW_BYTES, 2 ** 31];
const NAMES = [
  "",
  "a",
  "A",
  "x y",
  "x\u0000",
  ":path",
  ":status",
  ":x",
  "connection",
  "te",
  "host",
  "cookie",
  "expect",
];
const MORE_NAMES = [
  "content-length",
  "transfer-encoding",
  "upgrade",
  "keep-alive",
  "proxy-connection",
  "\u00fc",
  ":a:",
];
const TEXTS = [
  "",
  "a",
  " a",
  "a ",
  "\ta",
  "a\r\nb",
  "a\u0000",
  "0",
  "3",
  "-1",
  "3, 3",
  "18446744073709551616",
  "trailers",
];
const MORE_TEXTS = ["/", "*", "a/b", "http", "POST", "HEAD", "OPTIONS", "CONNECT", "P T", "x".repeat(5000), "\u00fc"];
/** Header blocks that are wrong, or that change the table. */
const BLOCKS = [
  "80 81 be 82 ff01 20 3fe11f 3fe21f 82203fe11f 3f8080808010 7f 00 0001 000161 00016181 00016181ff 000161821f",
  "7fffffffffffffffff 8286844001610162be 00016185ffffffff 00016184fffffffa 4000 1001610162 82868441",
].flatMap((blocks) => blocks.split(" ").map((block) => Buffer.from(block, "hex")));

const PING = Buffer.from("12345678");

/** Frames that are put in somewhere. */
const FRAMES: readonly ((id: number, random: Random) => Omit<Piece, "payload"> & { readonly payload?: Buffer })[] = [
  (_, random) => ({ type: FRAME.settings, flags: 0, id: 0, payload: settings(random) }),
  (_, random) => ({ type: FRAME.settings, flags: 0, id: 0, payload: settings(random) }),
  (id, random) => ({ type: FRAME.settings, flags: random.below(2), id: random.pick([0, id]) }),
  (id, random) => ({ type: FRAME.windowUpdate, flags: 0, id, payload: uint32s(random.pick(MORE)) }),
  (_, random) => ({ type: FRAME.windowUpdate, flags: 0, id: 0, payload: uint32s(random.pick(MORE)) }),
  (id, random) => ({ type: FRAME.reset, flags: 0, id, payload: uint32s(random.pick([0, 8, 99, 2 ** 32 - 1])) }),
  (id, random) => ({ type: FRAME.ping, flags: random.below(2), id: random.pick([0, 0, id]), payload: PING }),
  (_, random) => ({ type: FRAME.goaway, flags: 0, id: 0, payload: uint32s(0, random.pick([0, 0, 2, 99])) }),
  (id, random) => ({ type: FRAME.priority, flags: 0, id, payload: priority(random.pick([0, 1, id, 99])) }),
  (id, random) => ({ type: FRAME.continuation, flags: random.pick([0, 4]), id, payload: random.pick(BLOCKS) }),
  (id, random) => ({ type: FRAME.data, flags: random.below(2), id, payload: Buffer.alloc(random.pick([0, 3, 9000])) }),
  (id, random) => ({ type: FRAME.headers, flags: random.pick([0, 4, 5]), id, payload: random.pick(BLOCKS) }),
  (id) => ({ type: FRAME.pushPromise, flags: FLAG.endHeaders, id, payload: uint32s(2) }),
  (id, random) => ({ type: random.pick([10, 11, 12, 13, 16, 99]), flags: 0, id: random.pick([0, id]), payload: PING }),
  (id, random) => request(id + random.pick([0, 1, 2, 4]), random.pick(["GET", "POST"])),
];

/** Changes of a frame, or of what is around it. */
const CHANGES: readonly Change[] = [
  (pieces, at) => pieces.toSpliced(at, 1),
  (pieces, at) => pieces.toSpliced(at, 0, pieces[at] as Piece),
  (pieces, at, random) => pieces.toSpliced(at, 1).toSpliced(random.below(pieces.length), 0, pieces[at] as Piece),
  (pieces, at, random) => {
    const id = random.pick([(pieces[at] as Piece).id, ...pieces.map((piece) => piece.id)]);
    return pieces.toSpliced(at + random.below(2), 0, { payload: NOTHING, ...random.pick(FRAMES)(id, random) });
  },
  each((piece, random) => ({ ...piece, type: random.below(11) })),
  each((piece, random) => ({ ...piece, flags: piece.flags ^ (1 << random.pick([0, 0, 2, 3, 5])) })),
  each((piece, random) => ({ ...piece, id: random.pick([0, 1, 2, 3, piece.id + 1, piece.id + 2, 2 ** 31 - 1]) })),
  each((piece, random) => ({ ...piece, lie: random.pick([-9, -1, 1, 5, 9, 20_000]) })),
  each((piece, random) => {
    const raw = toRaw(piece);
    const { payload } = raw;
    const keep = random.below(payload.length + 1);
    return { ...raw, payload: Buffer.concat([payload.subarray(0, keep), Buffer.from(random.bytes(random.below(3)))]) };
  }),
  each((piece, random) => {
    const raw = toRaw(piece);
    const payload = Buffer.from(raw.payload);
    if (payload.length > 0) payload[random.below(payload.length)] = random.below(256);
    return { ...raw, payload };
  }),
  each((piece, random) => ({ ...piece, flags: piece.flags | FLAG.padded, padding: random.pick([0, 1, 50, 255]) })),
  split,
];

/** Changes of a header list. */
const FIELD_CHANGES: readonly ((fields: readonly Field[], at: number, random: Random) => readonly Field[])[] = [
  (fields, at) => fields.toSpliced(at, 1),
  (fields, at) => fields.toSpliced(at, 0, fields[at] as Field),
  (fields, at, random) => fields.toSpliced(at, 1).toSpliced(random.below(fields.length), 0, fields[at] as Field),
  (fields, at, random) => fields.with(at, { ...(fields[at] as Field), name: random.pick([...NAMES, ...MORE_NAMES]) }),
  (fields, at, random) => fields.with(at, { ...(fields[at] as Field), value: random.pick([...TEXTS, ...MORE_TEXTS]) }),
  (fields, at, random) => fields.with(at, { ...(fields[at] as Field), form: random.pick([0x00, 0x10, 0x40]) }),
  (fields, at, random) => {
    const [name, value] = [random.pick([...NAMES, ...MORE_NAMES]), random.pick([...TEXTS, ...MORE_TEXTS])];
    return fields.toSpliced(at + random.below(2), 0, { name, value, form: 0 });
  },
];

/** A conversation with one to four changes. */
export function change(original: readonly Piece[], random: Random): Piece[] {
  let pieces = [...original];
  for (let times = 1 + random.below(4); times > 0 && pieces.length > 0; times--) {
    const at = random.below(pieces.length);
    const { fields } = pieces[at] as Piece;
    if (fields !== undefined && fields.length > 0 && random.below(2) === 0) {
      const changed = random.pick(FIELD_CHANGES)(fields, random.below(fields.length), random);
      pieces = pieces.with(at, { ...(pieces[at] as Piece), fields: changed });
    } else pieces = random.pick(CHANGES)(pieces, at, random);
  }
  return pieces;
}

function each(one: (piece: Piece, random: Random) => Piece): Change {
  return (pieces, at, random) => pieces.with(at, one(pieces[at] as Piece, random));
}

/** Two frames in place of one of data or headers. */
function split(pieces: readonly Piece[], at: number, random: Random): Piece[] {
  const piece = toRaw(pieces[at] as Piece);
  const { type, flags, payload } = piece;
  const middle = random.below(payload.length + 1);
  const last = type === FRAME.data ? FLAG.endStream : FLAG.endHeaders;
  const [first, second] = [payload.subarray(0, middle), payload.subarray(middle)];
  return pieces.toSpliced(
    at,
    1,
    { ...piece, flags: flags & ~last, payload: first },
    { ...piece, type: type === FRAME.headers ? FRAME.continuation : type, flags: flags & last, payload: second },
  );
}

function settings(random: Random): Buffer {
  const names = [1, 2, 3, 4, 4, 4, 5, 6, 8, 9, 99];
  const some = Array.from({ length: 1 + random.below(3) }, () => setting(random.pick(names), random.pick(VALUES)));
  return Buffer.concat(some);
}

function priority(parent: number): Buffer {
  return Buffer.concat([uint32s(parent), Buffer.of(15)]);
}
