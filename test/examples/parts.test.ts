import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { startServer } from "../helpers/start-server.ts";
import { postForParts } from "../proxy/read-parts.ts";
import { readExample } from "./example-command.ts";

const start = async (name: string) => startServer((await readExample(name)).options);

/** The values of a stream of events of JSON. */
async function valuesOf(reader: Awaited<ReturnType<typeof postForParts>>): Promise<readonly unknown[]> {
  return (await reader.rest()).map((event) => JSON.parse(event.replace(/^data: /, "")));
}

describe("progress.ts", () => {
  it("tells how far it is, and then the results", async () => {
    const { httpUrl } = await start("progress");
    const reader = await postForParts(`${httpUrl}/jobs`, [1, 2]);
    expect(reader.answer.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    expect(await reader.rest()).toEqual([
      'event: begun\ndata: {"of":2}',
      'id: 1\nevent: progress\ndata: {"done":1,"of":2}',
      'id: 2\nevent: progress\ndata: {"done":2,"of":2}',
      'event: result\ndata: {"results":[2.5,3]}',
    ]);
  });

  it("refuses what is no list before it begins, and what is no number once it gets there", async () => {
    const { httpUrl } = await start("progress");
    const refused = await postForParts(`${httpUrl}/jobs`, "{}");
    expect(refused.answer.statusCode).toBe(400);
    const failed = await postForParts(`${httpUrl}/jobs`, ["a"]);
    expect((await failed.rest()).at(-1)).toMatch(/^data: \{"error":/);
  });
});

describe("until-it-rests.ts", () => {
  it("gives each state of the loop, and the last one where one answer is taken", async () => {
    const { httpUrl } = await start("until-it-rests");
    const states = await valuesOf(await postForParts(`${httpUrl}/v2/models/default/generate_stream`, { x: 6 }));
    expect(states.slice(0, 2)).toMatchObject([
      { step: 1, state: 5 },
      { step: 2, state: 4.5 },
    ]);
    const answer = await fetch(`${httpUrl}/v1/models/default:predict`, {
      method: "POST",
      body: '{"inputs": {"x": [6]}}',
    });
    const { step, state } = states.at(-1) as { readonly step: number; readonly state: number };
    expect(await answer.json()).toEqual({ outputs: { step: [step], state: [state] } });
    expect(state).toBeCloseTo(4, 1);
  });
});

describe("sound-windows.ts", () => {
  it("gives the loudness of each window, which rises", async () => {
    const { httpUrl } = await start("sound-windows");
    const wav = readFileSync("examples/sounds/rising.wav");
    const values = await valuesOf(await ask(httpUrl, wav));
    expect(values).toHaveLength(5);
    const loudness = values.map(
      (value) => (value as { readonly outputs: Record<string, number[]> }).outputs.loudness?.[0],
    );
    expect(loudness).toEqual([...loudness].sort((one, other) => Number(one) - Number(other)));
  });

  it.each([
    ["no sound", Buffer.from("hello, this is no sound at all, but text")],
    ["a file that ends too soon", readFileSync("examples/sounds/rising.wav").subarray(0, 20)],
    ["two channels", Buffer.from(readFileSync("examples/sounds/rising.wav")).fill(2, 22, 23)],
  ])("refuses %s", async (_, wav) => {
    const { httpUrl } = await start("sound-windows");
    expect((await ask(httpUrl, wav)).answer.statusCode).toBe(400);
  });
});

function ask(url: string, wav: Buffer) {
  const inputs = { wav: { b64: wav.toString("base64") } };
  return postForParts(`${url}/v1/models/default:predict`, { inputs }, { accept: "text/event-stream" });
}
