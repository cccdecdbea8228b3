import { describe, expect, it } from "vitest";
import { readCompletionJob } from "../../../src/protocols/openai/text-request.ts";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { postForParts } from "../../proxy/read-parts.ts";

/** A function whose calls wait until there are as many as the client wants, so that none alone would end. */
const HOOKS = `
  let [calls, ended, waiting] = [0, 0, []];
  async function* talk(text, more, seed) {
    const own = calls++;
    if (more.brief) return yield "so";
    if (text === "seed") return yield seed + " ";
    if (text === "state") return yield JSON.stringify({ calls, ended });
    try {
      if (more.wait) await new Promise((resolve) => {
        waiting.push(resolve);
        if (waiting.length === more.wait) for (const each of waiting.splice(0)) each();
      });
      if (text === "fails" && own === 1) throw new Error("not this one");
      while (text === "fails" || text === "endless") {
        yield "word ";
        await new Promise(setImmediate);
      }
      for (const word of text.split(" ")) yield word + " ";
      yield { usage: { promptTokens: 3, completionTokens: 2 } };
    } finally {
      ended++;
    }
  }
  export const chat = ({ messages, more, seed }) => talk(messages.at(-1).text, more, seed);
  export const complete = ({ prompt, more, seed }) => talk(prompt, more, seed);
`;

const options = () => ({ stages: [{ driver: "null" }], hooks: `${tempFolder({ "hooks.mjs": HOOKS })}/hooks.mjs` });
const serve = shareServer(options);
const CHAT = "/v1/chat/completions";
const chat = (text: string, more: object = {}) => ({ messages: [{ role: "user", content: text }], ...more });

async function post(body: object, path = CHAT, url?: string) {
  const answer = await fetch((url ?? (await serve()).httpUrl) + path, { method: "POST", body: JSON.stringify(body) });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

const USAGE = { prompt_tokens: 3, completion_tokens: 6, total_tokens: 9 };

describe("several choices", () => {
  it("are made at the same time by a run each, with the tokens of all", async () => {
    const { body } = await post(chat("one two", { n: 3, wait: 3 }));
    expect(body.choices).toEqual(
      [0, 1, 2].map((index) => ({
        index,
        message: { role: "assistant", content: "one two ", refusal: null },
        logprobs: null,
        finish_reason: "stop",
      })),
    );
    expect(body.usage).toEqual(USAGE);
    const completed = await post({ prompt: "a", n: 2, best_of: 2, wait: 2, echo: true }, "/v1/completions");
    expect(completed.body.choices.map(({ index, text }: { index: number; text: string }) => [index, text])).toEqual([
      [0, "aa "],
      [1, "aa "],
    ]);
  });

  it("have a seed each, the client's and those behind it, and none without it", async () => {
    const seeds = async (more: object, path = CHAT) => {
      const { body } = await post({ ...chat("seed"), prompt: "seed", n: 3, ...more }, path);
      return body.choices.map(
        (choice: { message?: { content: string }; text: string }) => choice.message?.content ?? choice.text,
      );
    };
    expect(await seeds({ seed: 7 })).toEqual(["7 ", "8 ", "9 "]);
    expect(await seeds({ seed: 7 }, "/v1/completions")).toEqual(["7 ", "8 ", "9 "]);
    expect(await seeds({ seed: 0, n: 2 })).toEqual(["0 ", "1 "]);
    expect(await seeds({ seed: 7, n: 1 })).toEqual(["7 "]);
    // As JSON's reader gives them: the second one is the number next to it.
    expect(await seeds({ seed: 2 ** 53 + 2, n: 2 })).toEqual(["2 ", "3 "]);
    expect(await seeds({ seed: Number("18446744073709551615"), n: 1 })).toEqual(["0 "]);
    const wrong = await post(chat("seed", { seed: 1.5 }));
    expect([wrong.status, wrong.body.error.param]).toEqual([400, "seed"]);
    expect(await seeds({})).toEqual(["undefined ", "undefined ", "undefined "]);
  });

  it("come in one stream, each part with its choice, the usage and [DONE] once", async () => {
    const { httpUrl } = await serve();
    const body = chat("one two", { n: 3, wait: 3, stream: true, stream_options: { include_usage: true } });
    const events = await (await postForParts(httpUrl + CHAT, body)).rest();
    const parts = events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)));
    expect(events.filter((event) => event === "data: [DONE]")).toEqual([events.at(-1)]);
    expect(new Set(parts.map(({ id, created }) => `${id} ${created}`)).size).toBe(1);
    expect(parts.at(-1)).toMatchObject({ choices: [], usage: USAGE });
    const choices = parts.slice(0, -1).flatMap((part) => part.choices);
    for (const index of [0, 1, 2]) {
      const own = choices.filter((choice) => choice.index === index);
      expect(own.map(({ delta }) => delta.content)).toEqual(["", "one ", "two ", undefined]);
      expect(own.map(({ finish_reason }) => finish_reason)).toEqual([null, null, null, "stop"]);
    }
  });

  it("are one failure where one fails, which ends the others", async () => {
    const { httpUrl } = await startServer(options());
    const ask = async (body: object) => (await post(body, CHAT, httpUrl)).body;
    expect(await ask(chat("fails", { n: 3, wait: 3 }))).toMatchObject({
      error: { message: "The hook chat failed: not this one", type: "server_error" },
    });
    const ended = async () => JSON.parse((await ask(chat("state"))).choices[0].message.content).ended;
    await expect.poll(ended).toBe(3);
    const reader = await postForParts(httpUrl + CHAT, chat("endless", { n: 2, stream: true }));
    expect(await reader.next("word ")).toBeDefined();
    reader.leave();
    await expect.poll(ended).toBe(5);
  });

  it("are admitted as so many runs", async () => {
    const { httpUrl } = await startServer({ ...options(), maxQueue: 2 });
    expect((await post(chat("a", { n: 2, wait: 2 }), CHAT, httpUrl)).status).toBe(200);
    const { status, body } = await post(chat("a", { n: 3, wait: 3 }), CHAT, httpUrl);
    expect([status, body.error.type]).toEqual([503, "server_error"]);
  });
});

describe("a list of prompts", () => {
  const COMPLETIONS = "/v1/completions";
  const textsOf = (body: { choices: { index: number; text: string }[] }) =>
    body.choices.map(({ index, text }) => [index, text]);

  it("is answered at the same time, in its order, with the tokens of all", async () => {
    const { body } = await post({ prompt: ["one", "two"], wait: 2 }, COMPLETIONS);
    expect(textsOf(body)).toEqual([
      [0, "one "],
      [1, "two "],
    ]);
    expect(body.usage).toEqual({ prompt_tokens: 6, completion_tokens: 4, total_tokens: 10 });
    const one = await post({ prompt: ["one"] }, COMPLETIONS);
    expect(textsOf(one.body)).toEqual([[0, "one "]]);
  });

  it("has the choices of each prompt behind each other, with its own text and its seeds", async () => {
    const echoed = await post({ prompt: ["a", "b"], n: 2, wait: 4, echo: true }, COMPLETIONS);
    expect(textsOf(echoed.body).map(([, text]) => text)).toEqual(["aa ", "aa ", "bb ", "bb "]);
    expect(echoed.body.usage).toEqual({ prompt_tokens: 6, completion_tokens: 8, total_tokens: 14 });
    const { body } = await post({ prompt: ["seed", "seed"], n: 2, seed: 7 }, COMPLETIONS);
    expect(textsOf(body).map(([, text]) => text)).toEqual(["7 ", "8 ", "7 ", "8 "]);
  });

  it("may have a text before its answer that is longer than the answer may be", async () => {
    const prompt = ["a".repeat(40_000), ...Array(127).fill("a")];
    const { status, body } = await post({ prompt, echo: true, brief: true }, COMPLETIONS);
    expect([status, textsOf(body)]).toEqual([200, prompt.map((text, index) => [index, `${text}so`])]);
  });

  it("comes in one stream, each part with its choice", async () => {
    const { httpUrl } = await serve();
    const asked = { prompt: ["one", "two"], wait: 2, stream: true, stream_options: { include_usage: true } };
    const events = await (await postForParts(httpUrl + COMPLETIONS, asked)).rest();
    expect(events.at(-1)).toBe("data: [DONE]");
    const parts = events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)));
    const choices = parts.flatMap((part) => part.choices);
    const ofChoice = (index: number) => choices.filter((choice) => choice.index === index).map(({ text }) => text);
    expect([ofChoice(0), ofChoice(1)]).toEqual([
      ["one ", ""],
      ["two ", ""],
    ]);
    expect(parts.at(-1).usage).toMatchObject({ prompt_tokens: 6, completion_tokens: 4 });
  });

  it("keeps each text of a large body, also of those that wait while others are in the hooks' thread", async () => {
    const prompt = ["A".repeat(63_000), ...Array.from({ length: 40 }, (_, index) => String(index).padEnd(64, "b"))];
    const { status, body } = await post({ prompt }, COMPLETIONS);
    expect([status, textsOf(body)]).toEqual([200, prompt.map((text, index) => [index, `${text} `])]);
  });

  it("has its other members once, until memory is counted for each text", async () => {
    const own = Array(10_000).fill(1.5);
    const body = Buffer.from(JSON.stringify({ prompt: Array(128).fill(""), own }));
    const { requests, others = [], tail } = await readCompletionJob.run(body);
    const written = [...requests, ...others].reduce((sum, { request }) => sum + request.length, tail?.length ?? 0);
    expect(written).toBeLessThan(2 * body.length);
  });

  it.each([
    [
      "more texts than OpenAI makes choices",
      { prompt: Array(129).fill("a") },
      "prompt",
      "129 texts; expected 128 at most",
    ],
    ["more choices than OpenAI makes", { prompt: Array(65).fill("a"), n: 2 }, "prompt", "65 texts with 2 choices each"],
    ["no text", { prompt: ["a", 5] }, "prompt[1]", "expected a text"],
    ["none", { prompt: [] }, "prompt", "one text at least"],
    [
      "much beside it",
      { prompt: Array(100).fill("a"), own: "b".repeat(200_000) },
      "prompt",
      "each; expected 83 at most",
    ],
    ["large ones and choices", { prompt: Array(2).fill("a".repeat(150_000)), n: 64 }, "n", "64 for 2 prompts of 300"],
    ["large ones to be echoed", { prompt: Array(2).fill("a".repeat(600_000)), echo: true }, "echo", "1048576 at most"],
  ])("is refused with %s", async (_, asked, param, message) => {
    const { status, body } = await post(asked, COMPLETIONS);
    expect([status, body.error.param]).toEqual([400, param]);
    expect(body.error.message).toContain(message);
  });
});

it("refuses many choices of a large request, each of which would get its own copy", async () => {
  const { status, body } = await post(chat("a".repeat(200_000), { n: 128 }));
  expect([status, body.error.param]).toEqual([400, "n"]);
  expect(body.error.message).toMatch(/^n is 128 for a request of 200\d{3} bytes; expected 16777216 bytes in all/);
});

it("checks a text against its schema though the request, from whose memory that came, is in the hooks' thread", async () => {
  const text = JSON.stringify({ a: "你".repeat(12_000) });
  const asked = JSON.stringify(chat(text, { response_format: { type: "json_object" } }));
  // As Python writes it, each character in six bytes, of which a request has three.
  const body = asked.replaceAll("你", "\\u4f60");
  const answer = await fetch((await serve()).httpUrl + CHAT, { method: "POST", body });
  const { choices } = (await answer.json()) as { choices?: { message: { content: string } }[] };
  expect([answer.status, choices?.[0]?.message.content]).toEqual([200, `${text} `]);
});
