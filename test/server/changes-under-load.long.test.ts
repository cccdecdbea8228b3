import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Server } from "../../src/server/server.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** A folder of versions whose hooks answer a number. */
class VersionFolder {
  readonly path = tempFolder();

  /** Writes a version that answers the number, or hooks as they are. */
  write(version: number, hooks: number | string): void {
    mkdirSync(join(this.path, String(version)), { recursive: true });
    const source = typeof hooks === "string" ? hooks : `export const process = () => ({ answer: ${hooks} });`;
    writeFileSync(join(this.path, String(version), "hooks.ts"), source);
  }

  remove(version: number): void {
    rmSync(join(this.path, String(version)), { recursive: true });
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Clients that ask one after the other until they are stopped. */
class Load {
  readonly #url: string;
  readonly #lanes: readonly Promise<void>[];
  readonly #waiting: { answer: number; seen: () => void }[] = [];
  readonly answers: Answer[] = [];
  #isOn = true;

  constructor(httpUrl: string, lanes: number) {
    this.#url = `${httpUrl}/v1/models/m:predict`;
    this.#lanes = Array.from({ length: lanes }, () => this.#run());
  }

  /** Resolves once an answer has come that is this one. */
  seen(answer: number): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push({ answer, seen: resolve }));
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await Promise.all(this.#lanes);
  }

  async #run(): Promise<void> {
    while (this.#isOn) {
      const response = await fetch(this.#url, { method: "POST", body: '{"inputs": [1]}' });
      const text = await response.text();
      this.answers.push({ status: response.status, text });
      for (const { answer, seen } of this.#waiting) if (text === answerText(answer)) seen();
    }
  }
}

const answerText = (answer: number) => `{\n    "outputs": ${answer}\n}`;

async function start(...versions: number[]) {
  const folder = new VersionFolder();
  for (const version of versions) folder.write(version, version);
  const server = await startServer({ models: { m: { path: folder.path, driver: "null" } } });
  const load = new Load(server.httpUrl, 4);
  return { folder, server, load };
}

const states = (server: Server) => server.models().map(({ version, state }) => `${version} ${state}`);

describe("requests that never pause", () => {
  it("are all answered while versions come, change, break, are mended and go", async () => {
    const { folder, server, load } = await start(1);
    await load.seen(1);
    folder.write(2, 2);
    await server.load("m");
    await load.seen(2);
    folder.write(2, 22);
    await server.load("m");
    await load.seen(22);
    folder.write(2, "export const process = 5;");
    await expect(server.load("m")).rejects.toThrow(/process/);
    folder.write(3, "export const proces = () => ({});");
    await expect(server.load("m")).rejects.toThrow(/proces/);
    await load.seen(22);
    folder.write(3, 3);
    await server.load("m");
    await load.seen(3);
    folder.remove(3);
    folder.write(2, 222);
    await server.load("m");
    await load.seen(222);
    await load.stop();
    expect(load.answers.filter(({ status }) => status !== 200)).toEqual([]);
    const order = load.answers.map(({ text }) => text);
    expect(new Set(order)).toEqual(new Set([1, 2, 22, 3, 222].map(answerText)));
    // Those that were under way at a change may come a little later than others.
    const blocks = order.filter((text, index) => index === 0 || text !== order[index - 1]);
    expect(blocks.length).toBeLessThan(5 + 4 * 2 * 4);
  });

  it("meet either the model or its absence while it is unloaded and loaded", async () => {
    const { server, load } = await start(1);
    for (let round = 0; round < 5; round++) {
      await load.seen(1);
      await server.unload("m");
      expect(states(server)).toEqual(["1 END"]);
      await server.load("m");
    }
    await load.stop();
    const failed = load.answers.filter(({ status }) => status !== 200);
    expect(new Set(failed.map(({ status }) => status))).toEqual(new Set([404]));
    expect(new Set(failed.map(({ text }) => text)).size).toBe(1);
  });

  it("go on through a pipeline while a model that is its stage changes, and meet nothing but its absence where both go", async () => {
    const folder = new VersionFolder();
    folder.write(1, 1);
    const models = {
      inner: { path: folder.path, driver: "null" },
      m: { stages: [{ model: "inner" }, { driver: "null" }] },
    };
    const server = await startServer({ models });
    const load = new Load(server.httpUrl, 4);
    await load.seen(1);
    for (const version of [2, 3, 4]) {
      folder.write(version, version);
      await server.load("inner");
      await load.seen(version);
    }
    expect(load.answers.filter(({ status }) => status !== 200)).toEqual([]);
    for (let round = 0; round < 3; round++) {
      await server.unload("inner", { dependents: true });
      await server.load("m");
      await load.seen(4);
    }
    await load.stop();
    const failed = load.answers.filter(({ status }) => status !== 200);
    expect(new Set(failed.map(({ status }) => status))).toEqual(new Set([404]));
  });
});
