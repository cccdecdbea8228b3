import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { receiveDatagrams } from "../../platform/native/receive-datagrams.ts";
import { startKserving } from "../start-kserving.ts";

test.runIf(process.platform === "linux")(
  "systemd is told when the program is ready, reloads and stops, here since it takes more memory than --max-rss",
  async () => {
    const path = join(tempFolder(), "notify");
    const next = receiveDatagrams(path);
    const env = { NOTIFY_SOCKET: path, WATCHDOG_USEC: "100000000" };
    const program = startKserving(["--driver", "null", "--port", "0", "--max-rss", "1MB"], env);
    expect(await next()).toBe("STATUS=Loading a model");
    expect(await next()).toMatch(/^READY=1\nSTATUS=Serving gRPC at localhost:\d+$/);
    program.kill("SIGHUP");
    expect(await next()).toMatch(/^RELOADING=1\nMONOTONIC_USEC=\d+$/);
    expect(await next()).toBe("READY=1");
    expect(await next()).toBe("STOPPING=1\nSTATUS=Finishing 0 requests");
    const line = "the program takes more memory than --max-rss and stops";
    expect(await program.event(line)).toMatchObject({ level: "error", maxBytes: 2 ** 20 });
    expect(await program.ended()).toMatchObject({ code: 3, stderr: "" });
  },
);

test("the example of a unit waits for what the program reports, longer than it takes to stop", () => {
  const unit = readFileSync("examples/systemd/kserving.service", "utf8");
  expect(unit).toMatch(/^Type=notify$/m);
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(20);
});

test("the unit lets the server write where the documents have it write", () => {
  const unit = readFileSync("examples/systemd/kserving.service", "utf8");
  const docs = ["configuration", "operations"].map((name) => readFileSync(`docs/${name}.md`, "utf8")).join("\n");
  const folders = [...docs.matchAll(/\/var\/(log|cache)\/(\w+)\b(?!\.log)/g)].map(
    ([, kind, name]) => `${kind} ${name}`,
  );
  expect(folders).toContain("log kserving");
  for (const [kind, name] of folders.map((folder) => folder.split(" ")))
    expect(unit).toMatch(new RegExp(`^${kind === "log" ? "Logs" : "Cache"}Directory=${name}$`, "m"));
  expect(docs).not.toMatch(/\/var\/log\/\w+\.log/);
});
