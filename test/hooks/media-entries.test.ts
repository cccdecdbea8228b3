import { describe, expect, it } from "vitest";
import type { RawResult, RawStream } from "../../src/hooks/raw-entry.ts";
import { textEntries } from "../../src/hooks/text-entries.ts";
import { createTensor } from "../../src/tensor/tensor.ts";

/** The answer that the entry of a function makes of a result. */
function seal(name: string, returned: unknown): RawResult | RawStream {
  const entry = textEntries({ [name]: () => {} }, "my.ts", false)?.get(name);
  if (entry === undefined) throw new Error(`there is no entry ${name}`);
  return entry.seal(returned);
}

const FILE = Buffer.from("a file");
const TENSOR = createTensor("uint8", [1], Uint8Array.of(1));
const span = { start: 0, end: 1, text: "a" };
const HOLE: unknown[] = [];
HOLE.length = 1;

describe("the text of a sound", () => {
  it("is that of its segments unless it has one, with its times and facts", () => {
    const usage = { promptTokens: 1 };
    const whole = { segments: [span, { ...span, text: "b" }], words: [{ ...span, word: "a" }], language: "en", usage };
    const { body } = seal("transcribe", { ...whole, duration: 2 }) as RawResult;
    const words = [{ start: 0, end: 1, word: "a" }];
    expect(JSON.parse(Buffer.from(body).toString())).toEqual({ ...whole, words, text: "ab", duration: 2 });
    const { body: own } = seal("transcribe", { text: "own", segments: [span] }) as RawResult;
    expect(JSON.parse(Buffer.from(own).toString())).toEqual({ text: "own", segments: [span] });
  });

  it.each([
    [3, 'returned a number; expected a text, or an object such as { text: "Hi", language: "en" }'],
    [{ finishReason: "stop" }, "returned the member finishReason; expected text, segments, words, language, duration"],
    [{ language: 3 }, "returned a number as language; expected a text such as en"],
    [{ duration: -1 }, "returned -1 as duration; expected seconds, 0 or more"],
    [{ duration: "2" }, "returned a string as duration; expected seconds"],
    [{ segments: {} }, "returned an object as segments; expected a list of objects"],
    [{ segments: Array(32_769).fill(span) }, "returned 32769 segments at once; expected 32768 at most"],
    [{ segments: [3] }, "returned a number as segments[0]; expected an object"],
    [{ segments: HOLE }, "returned undefined as segments[0]; expected an object"],
    [{ segments: [{ ...span, start: -1 }] }, "returned no start in segments[0]"],
    [{ segments: [{ ...span, end: Number.NaN }] }, "returned no end in segments[0]"],
    [{ segments: [{ ...span, start: 2 }] }, "returned an end before its start in segments[0]"],
    [{ words: [span] }, "returned no word in words[0]"],
    [{ usage: { promptTokens: 0.5 } }, "returned usage with 0.5"],
  ])("may not be %j", (returned, message) => {
    expect(() => seal("transcribe", returned)).toThrow(message);
  });
});

describe("a sound", () => {
  it("is the bytes of a file, or pieces of one, with the type that the function tells", async () => {
    expect(seal("speak", FILE)).toMatchObject({ contentType: "application/octet-stream", body: FILE });
    expect(seal("speak", { audio: FILE, mediaType: "audio/wav" })).toMatchObject({ contentType: "audio/wav" });
    const { open } = seal("speak", [FILE].values()) as RawStream;
    expect(await open().next()).toEqual({ done: false, value: FILE });
  });

  it("in pieces may have none that are no bytes", async () => {
    for (const [piece, message] of [
      ["text", "The hook speak yielded a string; expected bytes of a sound."],
      [new Float32Array(1), "The hook speak yielded a Float32Array; expected a Uint8Array"],
    ] as const) {
      const { open } = seal("speak", [piece].values()) as RawStream;
      await expect(open().next()).rejects.toThrow(message);
    }
  });

  it.each([
    [undefined, "returned undefined (is a return, or an await, missing?)"],
    [new Uint8Array(0), "returned no bytes; expected the bytes of a sound"],
    [{ audio: 3 }, "returned a number; expected the bytes of a sound"],
    [{ audio: FILE, format: "wav" }, "returned the member format; expected audio, mediaType"],
    [{ audio: FILE, mediaType: "text/html" }, "returned a string as mediaType; expected that of a sound"],
    [new ArrayBuffer(1), "returned an ArrayBuffer; expected its bytes: new Uint8Array"],
    [{ audio: new ArrayBuffer(1) }, "returned an ArrayBuffer; expected its bytes"],
    [new Float32Array(1000), "returned a Float32Array; expected a Uint8Array with the bytes of a file"],
    [TENSOR, "returned a tensor; expected the bytes of a sound"],
  ])("may not be %j", (returned, message) => {
    expect(() => seal("speak", returned)).toThrow(`The hook speak ${message}`);
  });
});

describe("pictures", () => {
  it("come behind what is told of them", () => {
    const { body } = seal("generateImage", [FILE, { bytes: FILE, revisedPrompt: "a dot" }]) as RawResult;
    const length = Buffer.from(body).readUInt32LE(0);
    const head = JSON.parse(Buffer.from(body.subarray(4, 4 + length)).toString());
    expect(head).toEqual({ images: [{ size: 6 }, { size: 6, revisedPrompt: "a dot" }] });
    expect(Buffer.from(body.subarray(4 + length)).toString()).toBe("a filea file");
  });

  it.each([
    [undefined, "returned undefined (is a return, or an await, missing?)"],
    [{ images: FILE }, "returned an object as images"],
    [{ images: [FILE], size: 3 }, "returned the member size; expected images, usage"],
    [Array(65).fill(FILE), "returned 65 pictures; expected 64 at most"],
    [HOLE, "returned undefined as images[0]"],
    [[new Uint8Array(0)], "returned no bytes in images[0]"],
    [[{ bytes: FILE, prompt: "" }], "returned the member prompt; expected bytes, revisedPrompt"],
    [[{ bytes: FILE, revisedPrompt: 3 }], "returned a number as images[0].revisedPrompt; expected a text"],
    [[{ bytes: FILE, revisedPrompt: "x".repeat(65_537) }], "returned 65537 characters as images[0].revisedPrompt"],
    [{ images: [FILE], usage: 3 }, "returned a number as usage"],
    [new ArrayBuffer(1), "returned an ArrayBuffer; expected its bytes"],
    [TENSOR, "returned a tensor; expected a file, which encodeImage makes of pixels"],
    [[TENSOR], "returned a tensor; expected a file, which encodeImage makes of pixels"],
    [{ bytes: new ArrayBuffer(1) }, "returned an ArrayBuffer; expected its bytes"],
  ])("may not be %j", (returned, message) => {
    expect(() => seal("generateImage", returned)).toThrow(`The hook generateImage ${message}`);
  });

  it("may not be told of at more length than the main thread reads at once", () => {
    const picture = { bytes: FILE, revisedPrompt: "\0".repeat(65_536) };
    expect(() => seal("generateImage", Array(11).fill(picture))).toThrow("bytes of prompts; expected 4194304 at most");
  });
});
