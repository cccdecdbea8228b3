import { expect, it } from "vitest";
import { makeFrame } from "../../src/http2/frame-output.ts";
import { type FrameHead, FrameReader, type FrameSink } from "../../src/http2/frame-reader.ts";
import { ERROR, FLAG, FRAME } from "../../src/http2/protocol.ts";

/** Writes down what it takes; data of one frame as one text. */
class Recorder implements FrameSink {
  readonly seen: string[] = [];
  pieces = 0;
  #data = "";

  takeFrame({ type, flags, id }: FrameHead, bytes: Buffer, start: number, end: number): void {
    this.seen.push(`${type} ${flags} ${id} ${bytes.toString("latin1", start, end)}`);
  }

  beginData({ length, flags, id }: FrameHead, paddingBytes: number): void {
    this.#data = `data ${length} ${flags} ${id} ${paddingBytes} `;
  }

  takeData(bytes: Buffer, start: number, end: number): void {
    this.pieces++;
    this.#data += bytes.toString("latin1", start, end);
  }

  endData(): void {
    this.seen.push(this.#data);
  }
}

function read(reader: FrameReader, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at = reader.next(bytes, at);
}

const FRAMES = Buffer.concat([
  makeFrame(FRAME.settings, 0, 0, Buffer.alloc(0)),
  makeFrame(FRAME.headers, FLAG.endHeaders, 1, Buffer.from("block")),
  makeFrame(FRAME.data, 0, 1, Buffer.from("some data")),
  makeFrame(FRAME.data, FLAG.padded, 1, Buffer.from("\x03padded...")),
  makeFrame(FRAME.data, FLAG.padded, 1, Buffer.from("\x02..")),
  makeFrame(77, 5, 2 ** 31 - 1, Buffer.from("of a later version")),
  makeFrame(FRAME.data, FLAG.endStream, 1, Buffer.alloc(0)),
  makeFrame(FRAME.ping, FLAG.ack, 0, Buffer.from("12345678")),
]);
const SEEN = [
  "4 0 0 ",
  "1 4 1 block",
  "data 9 0 1 0 some data",
  "data 10 8 1 4 padded",
  "data 3 8 1 3 ",
  `77 5 ${2 ** 31 - 1} `,
  "data 0 1 1 0 ",
  "6 1 0 12345678",
];

it("cuts bytes into frames, in chunks of every size", () => {
  for (let size = 1; size <= FRAMES.length; size++) {
    const recorder = new Recorder();
    const reader = new FrameReader(recorder);
    for (let at = 0; at < FRAMES.length; at += size) read(reader, FRAMES.subarray(at, at + size));
    expect(recorder.seen).toEqual(SEEN);
  }
});

it("passes data on before its frame is whole, and gives other frames whole", () => {
  const recorder = new Recorder();
  const reader = new FrameReader(recorder);
  read(reader, makeFrame(FRAME.data, 0, 1, Buffer.alloc(1000, "x")).subarray(0, 500));
  expect(recorder.pieces).toBe(1);
  read(reader, Buffer.alloc(509, "x"));
  const block = makeFrame(FRAME.headers, 0, 3, Buffer.alloc(16_384, "y"));
  for (let at = 0; at < block.length; at += 1000) read(reader, block.subarray(at, at + 1000));
  expect(recorder.seen.map((seen) => seen.slice(0, 10))).toEqual(["data 1000 ", "1 0 3 yyyy"]);
  expect(recorder.seen[1]?.length).toBe(16_384 + 6);
});

it.each([
  ["a frame above the limit", Buffer.from([0, 64, 1, FRAME.data, 0, 0, 0, 0, 1]), ERROR.frameSize],
  ["padding that is longer than its frame", makeFrame(FRAME.data, FLAG.padded, 1, Buffer.of(1)), ERROR.protocol],
  ["padding without its length", makeFrame(FRAME.data, FLAG.padded, 1, Buffer.alloc(0)), ERROR.frameSize],
])("refuses %s", (_, bytes, code) => {
  for (const split of [bytes.length, 4]) {
    const reader = new FrameReader(new Recorder());
    const readAll = () => {
      read(reader, bytes.subarray(0, split));
      read(reader, bytes.subarray(split));
    };
    expect(readAll).toThrow(expect.objectContaining({ code }));
  }
});
