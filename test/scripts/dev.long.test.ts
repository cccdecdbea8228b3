import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../helpers/temp-folder.ts";

const COPIED = ["src", "bin", "proto", "python", "schema", "scripts", "package.json"];
const CONFIGS = ["tsconfig.json", "tsconfig.build.json", "tsconfig.page.json"];

/** Starts `npm run dev` on a copy of the sources. */
function startDev(...args: readonly string[]) {
  const folder = tempFolder();
  for (const name of [...COPIED, ...CONFIGS]) cpSync(name, join(folder, name), { recursive: true });
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  const child = spawn(process.execPath, ["--import", "tsx", "scripts/dev.ts", ...args], { cwd: folder });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text) => said.push(text));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  /** The address of the server once it is ready, the next time. */
  const ready = async (): Promise<string> => {
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      const event = line.value.startsWith("{") ? JSON.parse(line.value) : {};
      if (event.msg === "ready") return event.http;
    }
    throw new Error(`it ended: ${said.join("")}`);
  };
  const edit = (file: string, from: string, to: string) => {
    const text = readFileSync(join(folder, file), "utf8");
    expect(text).toContain(from);
    writeFileSync(join(folder, file), text.replace(from, to));
  };
  return { child, ready, edit, said };
}

test("npm run dev serves the sources, and what is edited in them and in the page, but nothing that does not compile", {
  timeout: 180_000,
}, async () => {
  const { child, ready, edit, said } = startDev("--driver=null", "--port=0", "--http-enable", "--http-port=0");
  const first = await ready();
  const versionOf = async (http: string) => ((await (await fetch(`${http}/v2`)).json()) as { version: string }).version;
  const version = await versionOf(first);
  const pageOf = async (http: string) => (await fetch(http, { headers: { accept: "text/html" } })).text();
  expect(await pageOf(first)).toContain("<!doctype html>");

  edit("src/version.ts", ").version;", ').version.concat("-edited");');
  const second = await ready();
  expect(await versionOf(second)).toBe(`${version}-edited`);
  edit("src/page/index.html", "</title>", " edited</title>");
  const third = await ready();
  expect(await pageOf(third)).toContain(" edited</title>");

  edit("src/version.ts", "-edited", '-edited" "');
  await expect.poll(() => said.join("")).toContain("not compiled, as said above; the server goes on as it was");
  expect(said.join("")).toMatch(/src\/version\.ts:\d+:\d+/);
  expect(await versionOf(third)).toBe(`${version}-edited`);
  edit("src/version.ts", '-edited" "', "-mended");
  expect(await versionOf(await ready())).toBe(`${version}-mended`);

  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
});
