import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { startServer } from "../../helpers/start-server.ts";

const BUF = createRequire(import.meta.url).resolve("@bufbuild/buf/bin/buf");
const run = promisify(execFile);

it("the commands in docs/kserve.md work as they stand", async () => {
  const { grpcAddress, httpUrl } = await startServer({ stages: [{ driver: "null" }] });
  const page = readFileSync(new URL("../../../docs/kserve.md", import.meta.url), "utf8");
  const commands = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, command]) => command as string);
  const outputs: string[] = [];
  for (const command of commands) {
    const here = command
      .replace("npx @bufbuild/buf", `"${process.execPath}" "${BUF}"`)
      .replace("http://127.0.0.1:9001", httpUrl)
      .replace("127.0.0.1:9000", grpcAddress);
    outputs.push((await run("sh", ["-c", here])).stdout);
  }
  expect(outputs).toEqual([
    expect.stringContaining('"platform":"null"'),
    expect.stringContaining('"data":[1.0,2.5]'),
    expect.stringContaining('"rawOutputContents"'),
  ]);
});
