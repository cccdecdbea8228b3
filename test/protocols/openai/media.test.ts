import OpenAI, { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { shareServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const HOOKS = `
  export async function* transcribe({ audio, prompt, ...request }) {
    if (prompt === "request") return yield JSON.stringify({ type: audio.mediaType, sum: audio.bytes.reduce((sum, each) => sum + each, 0), ...request });
    if (prompt === "bare") return yield "no times";
    if (prompt === "words") return yield { text: "", words: Array(20_000).fill({ start: 0, end: 1, word: "a" }), segments: Array(20_000).fill({ start: 0, end: 1, text: "a" }) };
    if (prompt === "endless") {
      try {
        for (;;) yield "more";
      } finally {
        globalThis.left = true;
      }
    }
    if (prompt === "left") {
      while (!globalThis.left) await new Promise(setImmediate);
      globalThis.left = false;
      return yield "it was left";
    }
    if (prompt === "late") {
      yield "one";
      throw new Error("no more words");
    }
    if (prompt === "wrong") return yield { segments: [{ start: 2, end: 1, text: "" }] };
    yield { language: "en", segments: [{ start: 0, end: 1.5, text: " Two words" }] };
    yield {
      segments: [{ start: 1.5, end: 3661.25, text: " and\\n\\n--> more." }],
      words: [{ start: 0, end: 0.5, word: "Two" }],
      duration: 3662,
      usage: { promptTokens: 7, completionTokens: 4 },
    };
  }
  const pieces = function* (text) {
    yield Buffer.from("ID3one");
    if (text === "late") throw new Error("no more sound");
    if (text === "endless") {
      try {
        for (;;) yield Buffer.from("more");
      } finally {
        globalThis.left = true;
      }
    }
    yield Buffer.from("two");
  };
  export const speak = ({ text, ...request }) => {
    if (["parts", "late", "endless"].includes(text)) return pieces(text);
    if (text === "wav") return Buffer.from("RIFF\\0\\0\\0\\0WAVEfmt ");
    if (text === "own") return { audio: pieces(text), mediaType: "audio/x-own" };
    if (text === "wrong") return "a text";
    if (text === "long") return Buffer.alloc(500_000, 7);
    return Buffer.from(JSON.stringify({ text, ...request }));
  };
  const pixel = Buffer.from("${PIXEL}", "base64");
  export const generateImage = ({ prompt, count, ...request }) => {
    if (prompt === "one") return pixel;
    if (prompt === "text") return [Buffer.from("no image")];
    if (prompt === "netpbm") return Buffer.from("P1 1 1 0");
    if (prompt === "gif") return Buffer.from("GIF89a");
    if (prompt === "large") return [Buffer.concat([pixel, Buffer.alloc(300_000)])];
    const images = Array.from({ length: count }, () => ({ bytes: pixel, revisedPrompt: JSON.stringify({ prompt, ...request }) }));
    return { images, usage: { promptTokens: 3 } };
  };
`;

const serve = shareServer(() => ({
  models: {
    talk: { driver: "null", hooks: `${tempFolder({ "hooks.mjs": HOOKS })}/hooks.mjs` },
    plain: { driver: "null" },
  },
}));

/** The SDK as it is, without its retries. */
async function client(base = "/v1"): Promise<OpenAI> {
  const { httpUrl } = await serve();
  return new OpenAI({ baseURL: httpUrl + base, apiKey: "any", maxRetries: 0 });
}

const WAV = Buffer.concat([Buffer.from("RIFF\0\0\0\0WAVE"), Buffer.alloc(4, 1)]);
const wav = (bytes = WAV) => toFile(bytes, "speech.wav", { type: "audio/wav" });
const TEXT = " Two words and\n\n--> more.";
const USAGE = { type: "tokens", input_tokens: 7, output_tokens: 4, total_tokens: 11 };
const fails = (reason: unknown) => reason;

describe("audio.transcriptions of the SDK", () => {
  it.each(["/v1", "/v3", "/openai/v1"])("gives the text of a file at %s", async (base) => {
    const { audio } = await client(base);
    expect(await audio.transcriptions.create({ model: "talk", file: await wav() })).toEqual({
      text: TEXT,
      usage: USAGE,
    });
  });

  it("hands on what the client chooses, with the file, of any size", async () => {
    const { audio } = await client();
    const file = await wav(Buffer.concat([WAV, Buffer.alloc(300_000, 1)]));
    const asked = { model: "talk", file, prompt: "request", language: "de", temperature: 0.5 };
    const { text } = await audio.transcriptions.create({ ...asked, chunking_strategy: "auto" });
    const sum = [...WAV].reduce((all, each) => all + each, 300_000);
    const expected = { type: "audio/wav", sum, language: "de", temperature: 0.5, timestamps: [] };
    expect(JSON.parse(text)).toEqual({ ...expected, task: "transcribe", more: { chunking_strategy: "auto" } });
    const english = await audio.translations.create({ model: "talk", file: await wav(), prompt: "request" });
    expect(JSON.parse(english.text)).toMatchObject({ task: "translate", timestamps: [] });
  });

  it("gives subtitles, a plain text, or all that is known, as the client asks", async () => {
    const { audio } = await client();
    const ask = async (response_format: "srt" | "vtt" | "text" | "verbose_json") =>
      audio.transcriptions.create({ model: "talk", file: await wav(), response_format });
    expect(await ask("text")).toBe(`${TEXT}\n`);
    expect(await ask("srt")).toBe(
      "1\n00:00:00,000 --> 00:00:01,500\nTwo words\n\n2\n00:00:01,500 --> 01:01:01,250\nand -> more.\n\n",
    );
    expect(await ask("vtt")).toBe(
      "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nTwo words\n\n00:00:01.500 --> 01:01:01.250\nand -> more.\n\n",
    );
    expect(await ask("verbose_json")).toEqual({
      ...{ task: "transcribe", language: "en", duration: 3662, text: TEXT, usage: USAGE },
      segments: [
        { id: 0, start: 0, end: 1.5, text: " Two words" },
        { id: 1, start: 1.5, end: 3661.25, text: " and\n\n--> more." },
      ],
      words: [{ start: 0, end: 0.5, word: "Two" }],
    });
  });

  it("gives the text in parts, and the SDK's error for a function that fails behind the first one", async () => {
    const { audio } = await client();
    const ask = async (prompt: string) => {
      const events: unknown[] = [];
      const asked = { model: "talk", file: await wav(), prompt, stream: true } as const;
      for await (const event of await audio.transcriptions.create(asked)) events.push(event);
      return events;
    };
    expect(await ask("")).toEqual([
      { type: "transcript.text.delta", delta: " Two words" },
      { type: "transcript.text.delta", delta: " and\n\n--> more." },
      { type: "transcript.text.done", text: TEXT, usage: USAGE },
    ]);
    const late = await ask("late").catch(fails);
    expect(late).toBeInstanceOf(OpenAI.APIError);
    expect(late).toMatchObject({ error: { message: "The hook transcribe failed: no more words" } });
  });

  it.each([
    ["response_format", { response_format: "diarized_json" }, 'is "diarized_json"; expected json, text, srt'],
    ["response_format", { response_format: "srt", stream: true }, "is srt in a stream; expected json or text"],
    ["timestamp_granularities[]", { timestamp_granularities: ["letter"] }, "is letter; expected word or segment"],
    ["temperature", { temperature: "hot" }, 'is "hot"; expected a number'],
    ["stream", { stream: "maybe" }, 'is "maybe"; expected true or false'],
    ["model", { model: "plain" }, "does not answer this: expected a model whose hook file has the function transcribe"],
  ])("is refused for a wrong %s", async (param, wrong, message) => {
    const { audio } = await client();
    const asked = { model: "talk", file: await wav(), ...wrong } as never;
    const refused = await audio.transcriptions.create(asked).catch(fails);
    expect(refused).toMatchObject({ status: param === "model" ? 404 : 400, param });
    expect(refused).toMatchObject({ message: expect.stringContaining(message) });
  });

  it("takes empty fields of a form, and null, for keys that are left out", async () => {
    const form = new FormData();
    form.set("file", new Blob([WAV]), "a.wav");
    for (const [name, value] of Object.entries({ model: "talk", prompt: "request", language: "", temperature: "" }))
      form.set(name, value);
    for (const name of ["timestamp_granularities[]", "response_format", "stream", "include[]"]) form.append(name, "");
    const answer = await fetch(`${(await serve()).httpUrl}/v1/audio/transcriptions`, { method: "POST", body: form });
    const { text } = (await answer.json()) as { text: string };
    expect(JSON.parse(text)).toMatchObject({ task: "transcribe", timestamps: [], more: { "include[]": [] } });
    expect(JSON.parse(text).language).toBeUndefined();
    form.append("include[]", "logprobs");
    const one = await fetch(`${(await serve()).httpUrl}/v1/audio/transcriptions`, { method: "POST", body: form });
    const { text: told } = (await one.json()) as { text: string };
    expect(JSON.parse(told).more).toEqual({ "include[]": ["logprobs"] });
  });

  it("is refused for more times than one answer has, and for long fields beside the file", async () => {
    const { audio } = await client();
    const asked = { model: "talk", file: await wav(), response_format: "srt" } as const;
    const refused = await audio.transcriptions.create({ ...asked, prompt: "words" }).catch(fails);
    const message = expect.stringContaining(
      "more than 32768 segments and words; send the sound in pieces, or ask for json or text in a stream",
    );
    expect(refused).toMatchObject({ status: 400, message });
    const long = await audio.transcriptions.create({ ...asked, prompt: "x".repeat(1024 * 1024) }).catch(fails);
    expect(long).toMatchObject({ status: 400, message: expect.stringContaining("fields beside the file have") });
  });

  it("ends the function's generator when its client leaves, as speech does", async () => {
    const { audio } = await client();
    const file = await wav();
    const isLeft = { model: "talk", file, prompt: "left" };
    for await (const _ of await audio.transcriptions.create({ model: "talk", file, prompt: "endless", stream: true }))
      break;
    expect(await audio.transcriptions.create(isLeft)).toMatchObject({ text: "it was left" });
    const spoken = await audio.speech.create({ model: "talk", voice: "ash", input: "endless" });
    await spoken.body!.cancel();
    expect(await audio.transcriptions.create(isLeft)).toMatchObject({ text: "it was left" });
  });

  it("is refused for subtitles of a text without times, and for times that are none", async () => {
    const { audio } = await client();
    const ask = async (prompt: string) =>
      audio.transcriptions.create({ model: "talk", file: await wav(), prompt, response_format: "srt" }).catch(fails);
    expect(await ask("bare")).toMatchObject({ status: 400, message: expect.stringContaining("without segments") });
    expect(await ask("wrong")).toMatchObject({
      status: 500,
      message: expect.stringContaining("an end before its start in segments[0]"),
    });
  });

  it.each([
    ["no file", (form: FormData) => form.set("model", "talk"), "file is missing"],
    ["an empty file", (form: FormData) => form.set("file", new Blob([]), "a.wav"), "file is empty"],
    ["a file of another name", (form: FormData) => form.set("sound", new Blob(["x"]), "a.wav"), "sound is a file"],
    [
      "two files",
      (form: FormData) => {
        form.append("file", new Blob(["x"]), "a.wav");
        form.append("file", new Blob(["x"]), "b.wav");
      },
      "file is more than one file",
    ],
  ])("refuses a form with %s", async (_, fill, message) => {
    const form = new FormData();
    fill(form);
    const url = `${(await serve()).httpUrl}/v1/audio/transcriptions`;
    const answer = await fetch(url, { method: "POST", body: form });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { message: expect.stringContaining(message) } });
    const json = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    expect([json.status, await json.json()]).toMatchObject([
      400,
      { error: { message: expect.stringContaining("expected multipart/form-data") } },
    ]);
  });
});

describe("audio.speech of the SDK", () => {
  const speak = async (input: string, more: object = {}) => {
    const { audio } = await client();
    const answer = await audio.speech.create({ model: "talk", voice: "ash", input, ...more });
    return [answer.headers.get("content-type"), await answer.text()] as const;
  };

  it("gives the file as the function makes it, with the type of its first bytes or of the format", async () => {
    const [type, made] = await speak("hi", { response_format: "opus", instructions: "low", speed: 2, top_k: 3 });
    const request = { voice: "ash", instructions: "low", format: "opus", speed: 2, more: { top_k: 3 } };
    expect([type, JSON.parse(made)]).toEqual(["audio/opus", { text: "hi", ...request }]);
    expect((await speak("hi"))[0]).toBe("audio/mpeg");
    expect((await speak("wav"))[0]).toBe("audio/wav");
    expect(await speak("parts", { response_format: "aac" })).toEqual(["audio/mpeg", "ID3onetwo"]);
    expect(await speak("own")).toEqual(["audio/x-own", "ID3onetwo"]);
  });

  it("takes null for each key that may be left out", async () => {
    const none = { instructions: null, response_format: null, speed: null, stream_format: null, voice: null };
    const [type, made] = await speak("hi", none);
    expect([type, JSON.parse(made)]).toEqual([
      "audio/mpeg",
      { text: "hi", voice: "", format: "mp3", speed: 1, more: {} },
    ]);
  });

  it("is cut short by a function that fails behind the first piece", async () => {
    await expect(speak("late")).rejects.toThrow();
  });

  it("comes in events if the client wants them", async () => {
    const events = async (input: string) => {
      const [type, text] = await speak(input, { stream_format: "sse" });
      expect(type).toBe("text/event-stream; charset=utf-8");
      return text.split("\n\n").flatMap((each) => (each === "" ? [] : [JSON.parse(each.slice("data: ".length))]));
    };
    const done = { type: "speech.audio.done", usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 } };
    const delta = (text: string) => ({ type: "speech.audio.delta", audio: Buffer.from(text).toString("base64") });
    expect(await events("parts")).toEqual([delta("ID3one"), delta("two"), done]);
    const long = await events("long");
    const bytes = Buffer.concat(long.slice(0, -1).map(({ audio }) => Buffer.from(audio, "base64")));
    expect([long.length, bytes.length]).toEqual([4, 500_000]);
    expect(await events("late")).toEqual([
      delta("ID3one"),
      { error: expect.objectContaining({ message: "The hook speak failed: no more sound" }) },
    ]);
  });

  it.each([
    ["input", { input: "" }, 400, "input is an empty text"],
    ["input", { input: 3 }, 400, "input is 3; expected a text"],
    ["response_format", { response_format: "ogg" }, 400, "expected mp3, opus, aac, flac, wav, pcm"],
    ["speed", { speed: 0 }, 400, "speed is 0; expected a number"],
    [null, { input: "wrong" }, 500, "The hook speak returned a string; expected the bytes of a sound"],
  ])("is refused for a wrong %s", async (param, wrong, status, message) => {
    const refused = await speak("hi", wrong).catch(fails);
    expect(refused).toMatchObject({ status, param, message: expect.stringContaining(message) });
  });
});

describe("images.generate of the SDK", () => {
  const generate = async (prompt: string, more: object = {}) =>
    (await client()).images.generate({ model: "talk", prompt, ...more });

  it("gives as many pictures as were asked for, in base64", async () => {
    const made = await generate("a dot", { n: 2, size: "64x32", quality: "low", output_format: "png" });
    const revised_prompt = { prompt: "a dot", width: 64, height: 32, format: "png", more: { quality: "low" } };
    expect(made).toMatchObject({
      ...{ output_format: "png", usage: { input_tokens: 3, output_tokens: 0, total_tokens: 3 } },
      created: expect.any(Number),
    });
    const data = made.data!.map((each) => ({ ...each, revised_prompt: JSON.parse(each.revised_prompt!) }));
    expect(data).toEqual(Array(2).fill({ b64_json: PIXEL, revised_prompt }));
    expect((await generate("one")).data).toEqual([{ b64_json: PIXEL }]);
    const none = { n: null, size: null, response_format: null, output_format: null, stream: null };
    const [alone] = (await generate("a dot", none)).data!;
    expect(JSON.parse(alone!.revised_prompt!)).toEqual({ prompt: "a dot", more: {} });
    const large = (await generate("large")).data![0]!.b64_json!;
    expect(Buffer.from(large, "base64").length).toBe(Buffer.from(PIXEL, "base64").length + 300_000);
  });

  it.each([
    ["n", { n: 11 }, 400, "n is 11; expected 10 at most"],
    ["size", { size: "big" }, 400, 'size is "big"; expected WIDTHxHEIGHT'],
    ["response_format", { response_format: "url" }, 400, "the server keeps no pictures"],
    ["stream", { stream: true }, 400, "stream is true; expected false"],
    [null, { prompt: "one", n: 2 }, 500, "The hook generateImage gave 1 pictures; expected 2."],
    [null, { prompt: "text" }, 500, "bytes that are no image"],
    [null, { prompt: "netpbm" }, 500, "a picture in PNM; expected a PNG, JPEG or WebP"],
    [null, { prompt: "gif" }, 500, "a picture in GIF; expected a PNG, JPEG or WebP"],
  ])("is refused for a wrong %s", async (param, wrong, status, message) => {
    const refused = await generate("a dot", wrong).catch(fails);
    expect(refused).toMatchObject({ status, param, message: expect.stringContaining(message) });
  });
});
