import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createEventLog } from "../../helpers/event-log.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const HOOKS = 'import { text } from "greeting";\nexport const process = () => ({ text });\nexport const options = {};';
const GREETING = { "greeting/package.json": '{"name":"greeting","version":"1.0.0","type":"module","main":"index.js"}' };
const PACKAGE = '{"private":true,"dependencies":{"greeting":"file:./greeting"}}';

function serve(files: Readonly<Record<string, string>>, requirements: string, workers = 1) {
  const folder = tempFolder({
    "hooks.ts": HOOKS,
    ...GREETING,
    "greeting/index.js": "export const text = 'hello';",
    ...files,
  });
  const { log, events } = createEventLog();
  const stages = [{ driver: "null" }];
  const server = startServer({ stages, hooks: join(folder, "hooks.ts"), workers, options: { requirements }, log });
  return { folder, server, events };
}

it.each([1, 0])(
  "package.json beside a hook file is installed where the user asks for it, with %d workers",
  async (workers) => {
    const { server, folder } = serve({ "package.json": PACKAGE }, "true", workers);
    const { httpUrl } = await server;
    const answer = await fetch(`${httpUrl}/v1/models/default:predict`, {
      method: "POST",
      body: '{"inputs": {"x": 1}}',
    });
    expect(await answer.json()).toEqual({ outputs: "hello" });
    expect(existsSync(join(folder, "package-lock.json"))).toBe(false);
  },
);

it("without being asked nothing is installed, and the package is missed", async () => {
  await expect(serve({ "package.json": PACKAGE }, "false").server).rejects.toThrow('"greeting"');
});

it("npm's reason is told, and another value of the option refused", async () => {
  const broken = PACKAGE.replace("./greeting", "./no-such-package.tgz");
  await expect(serve({ "package.json": broken }, "true").server).rejects.toThrow(
    /hooks\.ts: its packages cannot be installed by npm: .*no-such-package/,
  );
  await expect(serve({}, "maybe").server).rejects.toThrow('The option requirements is "maybe"; expected true or false');
});

it("a folder without package.json is told once, and the hooks run", async () => {
  const { server, events } = serve({ "hooks.ts": "export const process = () => ({ text: 'own' });" }, "true");
  await server;
  const told = events.filter(({ msg }) => String(msg).includes("package.json"));
  expect(told.map(({ msg }) => msg)).toEqual([
    expect.stringMatching(/hooks\.ts has no package\.json beside it: nothing/),
  ]);
});
