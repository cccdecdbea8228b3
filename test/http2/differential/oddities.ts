import { FLAG, FRAME, MAX_PAYLOAD_BYTES, MAX_WINDOW_BYTES, PREFACE } from "../../../src/http2/protocol.ts";
import { ReceivedFrames } from "../received-frames.ts";
import { type Field, fieldsOf, type Piece, toRaw, writeConversation } from "./conversation.ts";

const MORE = Buffer.alloc(MAX_PAYLOAD_BYTES);
const TOKEN = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/** Frames of a conversation that servers may take or refuse, in a few words. */
export function oddFrames(pieces: readonly Piece[]): string[] {
  const ofType = (wanted: number) => pieces.filter(({ type }) => type === wanted);
  const isAck = ({ flags }: Piece) => (flags & FLAG.ack) !== 0;
  const begun = ofType(FRAME.headers).map(({ id }) => id);
  return [
    ...(ofType(FRAME.settings).filter(isAck).length > 1 ? ["settings acknowledged twice"] : []),
    ...(ofType(FRAME.ping).some(isAck) ? ["answer to no ping"] : []),
    ...(ofType(FRAME.settings).some(hasTwice) ? ["setting twice"] : []),
    ...(ofType(FRAME.settings).some(hasExtension) ? ["settings of extensions"] : []),
    ...(ofType(FRAME.windowUpdate).some(isOfNothing) ? ["window of nothing"] : []),
    ...(ofType(FRAME.windowUpdate).some(isOverflow) ? ["window overflow"] : []),
    ...(ofType(FRAME.priority).some((piece) => toRaw(piece).payload.length !== 5)
      ? ["priority of another length"]
      : []),
    ...(pieces.some(isOwnParent) ? ["own parent"] : []),
    ...(pieces.some(({ lie }) => lie !== undefined) ? ["wrong length"] : []),
    ...(new Set(begun).size < begun.length ? ["headers again"] : []),
    ...(behindEnds(pieces).size > 0 ? ["behind the end"] : []),
    ...(ofType(FRAME.goaway).length > 0 ? ["GOAWAY"] : []),
  ];
}

/** Streams with frames behind their end, or that were passed over. */
function behindEnds(pieces: readonly Piece[]): ReadonlySet<number> {
  const [begun, ended, behind] = [new Set<number>(), new Set<number>(), new Set<number>()];
  // The last frame may lack bytes.
  const bytes = Buffer.concat([writeConversation(pieces).subarray(PREFACE.length), MORE]);
  for (const { type, flags, id } of new ReceivedFrames().add(bytes)) {
    if (id === 0) continue;
    if (type === FRAME.reset) ended.add(id);
    if (type !== FRAME.headers && type !== FRAME.data) continue;
    const isPassedOver = !begun.has(id) && id < Math.max(0, ...begun);
    if (ended.has(id) || isPassedOver) behind.add(id);
    if (type === FRAME.headers) begun.add(id);
    if ((flags & FLAG.endStream) !== 0) ended.add(id);
  }
  return behind;
}

function isOfNothing({ payload }: Piece): boolean {
  return payload.length === 4 && (payload.readUInt32BE() & MAX_WINDOW_BYTES) === 0;
}

/** A window that becomes too large if it has any bytes. */
function isOverflow({ payload }: Piece): boolean {
  return payload.length === 4 && (payload.readUInt32BE() & MAX_WINDOW_BYTES) === MAX_WINDOW_BYTES;
}

function hasTwice({ payload }: Piece): boolean {
  const names = Array.from({ length: Math.floor(payload.length / 6) }, (_, at) => payload.readUInt16BE(6 * at));
  return new Set(names).size < names.length;
}

/** ENABLE_CONNECT_PROTOCOL (RFC 8441) or NO_RFC7540_PRIORITIES (RFC 9218). */
function hasExtension({ payload }: Piece): boolean {
  for (let at = 0; at + 6 <= payload.length; at += 6) if ([8, 9].includes(payload.readUInt16BE(at))) return true;
  return false;
}

/** A priority by which a stream depends on itself. */
function isOwnParent({ type, id, payload }: Piece): boolean {
  return type === FRAME.priority && payload.length === 5 && (payload.readUInt32BE() & MAX_WINDOW_BYTES) === id;
}

/** The same of a request's fields. */
export function oddFields(pieces: readonly Piece[], id: number): string[] {
  const fields = fieldsOf(pieces, id);
  const all = fields.flatMap(({ name, value }) => {
    if (!TOKEN.test(name)) return ["illegal name"];
    if (name === "te" && value !== "trailers") return ["odd te"];
    if (name === "content-length" && !/^\d+$/.test(value)) return ["odd length"];
    if (/^[ \t]|[ \t]$/.test(value)) return ["space at an end"];
    if (/[\0\r\n]/.test(value)) return ["illegal value"];
    if (/[^\t -~]/.test(value)) return ["odd character"];
    if (/^:authority$|^host$/.test(name) && !/^[\w.:[\]-]*$/.test(value)) return ["odd authority"];
    return name === ":scheme" && !/^[a-z][a-z0-9+.-]*$/i.test(value) ? ["illegal scheme"] : [];
  });
  const names = fields.map(({ name }) => name);
  if (!fields.some(({ name, value }) => (name === ":authority" || name === "host") && value !== ""))
    all.push("no authority");
  if (names.includes("host")) all.push(isOtherHost(fields) ? "another host" : "host");
  if (pieces.some(isOwnParent)) all.push("own parent");
  if (behindEnds(pieces).has(id)) all.push("behind the end");
  if (oddFrames(pieces).includes("GOAWAY")) all.push("GOAWAY");
  return [...new Set(all)].toSorted();
}

function isOtherHost(fields: readonly Pick<Field, "name" | "value">[]): boolean {
  const [authority, host] = [":authority", "host"].map((wanted) => fields.find(({ name }) => name === wanted)?.value);
  return authority !== host;
}
