import { OF_CONNECTION } from "../http2/message-head.ts";
import { createRecord } from "../tensor/record.ts";

/** Header fields of an answer as HTTP/2 sends them, its status first. */
export type AnswerHead = Record<string, string | string[]>;

/** Parts of an answer that came with some of its bytes. */
export interface AnswerPart {
  /** Head of an interim answer (1xx). */
  interim?: AnswerHead;
  head?: AnswerHead;
  /** Pieces of the body, without the form of their transfer. */
  readonly body: Buffer[];
}

const HEAD_END = "\r\n\r\n";
const LINE_END = "\r\n";
const LF = 10;

/** Reads one answer as `node:http` writes it, in HTTP/1.1, from pieces of any size. */
export class AnswerReader {
  /** True once the answer is whole. */
  isOver = false;
  /** True for a body that ends with its connection. */
  endsWithConnection = false;
  readonly #isOfHead: boolean;
  #isChunked = false;
  #hasHead = false;
  /** Bytes of a head that is not whole yet. */
  #kept: Buffer = Buffer.alloc(0);
  /** Beginning of a line that says how long a chunk is. */
  #line = "";
  /** Bytes of the body that are to come; of a chunk with the line end behind it. */
  #leftBytes = 0;

  /** `method`: that of the request; an answer to HEAD has no body. */
  constructor(method: string) {
    this.#isOfHead = method === "HEAD";
  }

  /** Reads the next bytes; what comes after the answer is left out. */
  read(pieces: readonly Buffer[]): AnswerPart {
    const part: AnswerPart = { body: [] };
    for (const piece of pieces) {
      let at = 0;
      while (at < piece.length && !this.isOver) at = this.#readSome(piece, at, part);
    }
    return part;
  }

  #readSome(bytes: Buffer, at: number, part: AnswerPart): number {
    if (!this.#hasHead) return this.#readHead(bytes, at, part);
    return this.#isChunked ? this.#readChunk(bytes, at, part) : this.#readBody(bytes, at, part);
  }

  #readHead(bytes: Buffer, at: number, part: AnswerPart): number {
    const before = this.#kept.length;
    const all = before === 0 ? bytes.subarray(at) : Buffer.concat([this.#kept, bytes.subarray(at)]);
    const end = all.indexOf(HEAD_END);
    this.#kept = end < 0 ? all : Buffer.alloc(0);
    if (end < 0) return bytes.length;
    const [status, fields] = parseHead(all.toString("latin1", 0, end));
    const head = toHead(status, fields);
    if (status < 200) part.interim = head;
    else {
      part.head = head;
      this.#expectBody(status, fields);
    }
    return at + end + HEAD_END.length - before;
  }

  /** RFC 9112 §6.3. */
  #expectBody(status: number, fields: readonly Field[]): void {
    this.#hasHead = true;
    const fieldOf = (wanted: string) => fields.find(([name]) => name === wanted)?.[1];
    const length = fieldOf("content-length");
    this.#isChunked = fieldOf("transfer-encoding") !== undefined;
    this.endsWithConnection = !this.#isChunked && length === undefined;
    this.#leftBytes = this.#isChunked ? 0 : Number(length ?? Number.POSITIVE_INFINITY);
    this.isOver = this.#isOfHead || status === 204 || status === 304 || (!this.#isChunked && this.#leftBytes === 0);
  }

  #readBody(bytes: Buffer, at: number, { body }: AnswerPart): number {
    const end = Math.min(bytes.length, at + this.#leftBytes);
    body.push(bytes.subarray(at, end));
    this.#leftBytes -= end - at;
    this.isOver = this.#leftBytes === 0;
    return end;
  }

  /** RFC 9112 §7.1. */
  #readChunk(bytes: Buffer, at: number, { body }: AnswerPart): number {
    const left = this.#leftBytes;
    if (left === 0) return this.#readSize(bytes, at);
    const end = Math.min(bytes.length, at + left);
    const dataEnd = Math.min(end, at + left - LINE_END.length);
    if (dataEnd > at) body.push(bytes.subarray(at, dataEnd));
    this.#leftBytes -= end - at;
    return end;
  }

  #readSize(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LF, at);
    this.#line += bytes.toString("latin1", at, end < 0 ? bytes.length : end);
    if (end < 0) return bytes.length;
    const size = Number.parseInt(this.#line, 16);
    this.#line = "";
    // Trailers, which may follow the last chunk, have no use here.
    if (size === 0) this.isOver = true;
    else this.#leftBytes = size + LINE_END.length;
    return end + 1;
  }
}

type Field = readonly [name: string, value: string];

function parseHead(text: string): readonly [status: number, fields: readonly Field[]] {
  const [first = "", ...lines] = text.split(LINE_END);
  const fields = lines.map((line): Field => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), withoutBlanks(line, colon + 1)];
  });
  return [Number(first.split(" ", 2)[1]), fields];
}

/** Not `trim`, which takes a byte of UTF-8 for a blank; no pattern, which takes long for many blanks. */
function withoutBlanks(line: string, from: number): string {
  let [start, end] = [from, line.length];
  while (start < end && isBlank(line[start])) start++;
  while (end > start && isBlank(line[end - 1])) end--;
  return line.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}

function toHead(status: number, fields: readonly Field[]): AnswerHead {
  const head: AnswerHead = createRecord();
  head[":status"] = String(status);
  for (const [name, value] of fields) {
    if (OF_CONNECTION.has(name)) continue;
    const before = head[name];
    head[name] = before === undefined ? value : [before, value].flat();
  }
  return head;
}
