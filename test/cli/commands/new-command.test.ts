import { execFile, execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { COMMAND_NAMES } from "../../../src/cli/command-names.ts";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { startKserving } from "../start-kserving.ts";
import { runCommand } from "./run-command.ts";

test.each([["hooks"], ["hooks", "--stream"], ["driver"], ["project"]])(
  "new %s %s writes a folder whose README names its files and its start",
  async (kind, ...flags) => {
    const folder = join(tempFolder({}), "My Folder");
    const { code, stdout } = await runCommand(["new", kind, folder, ...flags, "--json"]);
    const { files } = JSON.parse(stdout);
    expect([code, files]).toEqual([0, expect.arrayContaining(["package.json", "tsconfig.json", "README.md"])]);
    expect(readdirSync(folder).sort()).toEqual([...files, "node_modules"].sort());
    expect(existsSync(join(folder, "node_modules/kserving/package.json"))).toBe(true);
    const { name, scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    expect(name).toBe("my-folder");
    const [readme, agents] = ["README.md", "AGENTS.md"].map((file) => readFileSync(join(folder, file), "utf8"));
    for (const text of [scripts.start, files.find((file: string) => file.endsWith(".test.mjs"))])
      for (const page of [readme, agents]) expect(page).toContain(text);
    const [, , pages = ""] = /documentation is in `(.+)`:\s+(.+)\.$/m.exec(agents ?? "") ?? [];
    expect(pages.split(", ").length).toBeGreaterThan(3);
    for (const page of pages.split(", ")) expect([page, existsSync(page)]).toEqual([page, true]);
    const commands = [...(agents ?? "").matchAll(/npx --no kserving ([a-z]+)/g)].map(([, command]) => command);
    for (const command of commands) expect(COMMAND_NAMES).toContain(command);
  },
);

test.each(["hooks", "driver", "project"])("the built program writes the same %s", async (kind) => {
  const [own, built] = [join(tempFolder({}), kind), join(tempFolder({}), kind)];
  const { stdout } = await runCommand(["new", kind, own, "--json"]);
  execFileSync(process.execPath, ["bin/kserving.cjs", "new", kind, built]);
  for (const file of JSON.parse(stdout).files)
    expect(readFileSync(join(built, file), "utf8")).toBe(readFileSync(join(own, file), "utf8"));
});

test("installing a folder that new has written builds nothing, since an installed package has no sources", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
  // npm runs it where the package is a folder, as it is for these.
  const outcome = execFileSync("sh", ["-c", `${scripts.prepare} && ls`], {
    cwd: tempFolder({ "dist/index.js": "" }),
    encoding: "utf8",
  });
  expect(outcome).toBe("dist\n");
});

test("the scripts of a folder find the program without one on the path", async () => {
  const folder = join(tempFolder({}), "mine");
  await runCommand(["new", "hooks", folder]);
  const { scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const [program, ...flags] = scripts.start.split(" ");
  const env = { PATH: [join(folder, "node_modules/.bin"), dirname(process.execPath), "/usr/bin", "/bin"].join(":") };
  // As npm runs them.
  const run = (...args: string[]) => execFileSync("sh", ["-c", args.join(" ")], { cwd: folder, env, encoding: "utf8" });
  expect(run("command", "-v", program)).toBe(`${join(folder, "node_modules/.bin/kserving")}\n`);
  expect(JSON.parse(run(program, "config", "show", "--json", ...flags)).settings).toContainEqual({
    ...{ setting: "name", value: "scale", origin: "--name" },
  });
});

test("new prints commands that work for a folder with a space", async () => {
  const folder = join(tempFolder({}), "it's mine");
  const { stdout } = await runCommand(["new", "hooks", folder]);
  const [, command = ""] = /^ {2}(cd .*)$/m.exec(stdout) ?? [];
  expect(execFileSync("sh", ["-c", `${command} && pwd`], { encoding: "utf8" })).toBe(`${folder}\n`);
});

test("new leaves a folder alone in which there is something, and refuses other kinds", async () => {
  const folder = tempFolder({ "mine.txt": "" });
  const { code, stderr } = await runCommand(["new", "hooks", folder]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("has mine.txt in it; expected one that is empty")]);
  expect(readdirSync(folder)).toEqual(["mine.txt"]);
  expect((await runCommand(["new", "hooks", join(folder, "mine.txt")])).code).toBe(2);
  expect((await runCommand(["new", "model"])).stderr).toContain("Expected one of hooks, driver, project");
});

describe("new client", () => {
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await startKserving(["new", "client", ...args]).ended();
    return { code, text: `${stdout}${stderr}` };
  };
  /** Prints of `npm start`, on this Node and with nothing installed. */
  const start = async (cwd: string) => {
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
    const { scripts } = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"));
    return (await promisify(execFile)("sh", ["-c", scripts.start], { cwd, env })).stdout;
  };

  test("the built program writes a program that runs, and its types", { timeout: 60_000 }, async () => {
    const half = { path: resolve("test/fixtures/models/half-plus-two.onnx") };
    const { httpUrl, grpcAddress } = await startServer({ models: { "half-2": half } });
    for (const address of [httpUrl, `grpc://${grpcAddress}`]) {
      const folder = join(tempFolder({}), "calls");
      expect(await run(folder, "--server", address)).toEqual({ code: 0, text: expect.stringContaining("npm start") });
      expect(await start(folder)).toBe("y [ 1 ] Float32Array(1) [ 2.5 ]\n");
      expect(readFileSync(join(folder, "README.md"), "utf8")).toContain("npm install kserving-client");
      symlinkSync(resolve("node_modules/@types"), join(folder, "node_modules/@types"));
      const node = promisify(execFile).bind(undefined, process.execPath);
      await node([resolve("node_modules/typescript/bin/tsc")], { cwd: folder });
      const program = readdirSync(folder).find((file) => file.startsWith("call.")) as string;
      const path = join(folder, program);
      writeFileSync(path, readFileSync(path, "utf8").replace('"x":', '"z":'));
      await expect(node([resolve("node_modules/typescript/bin/tsc")], { cwd: folder })).rejects.toMatchObject({
        stdout: expect.stringContaining('"z"'),
      });
    }
  });

  test("the program reads an answer in parts if its model gives one", { timeout: 60_000 }, async () => {
    const hooks: Hooks = {
      inputs: [{ name: "x", dtype: "int32", shape: [1] }],
      async *process() {
        yield { y: Int32Array.of(1) };
        yield { y: Int32Array.of(2) };
      },
    };
    const { httpUrl } = await startServer({ models: { parts: { driver: "null", hooks } } });
    const folder = join(tempFolder({}), "calls");
    expect((await run(folder, "--server", httpUrl)).code).toBe(0);
    expect(await start(folder)).toBe("y [ 1 ] Int32Array(1) [ 1 ]\ny [ 1 ] Int32Array(1) [ 2 ]\n");
  });

  test("a server that is not there leaves no folder", async () => {
    const folder = join(tempFolder({}), "calls");
    const outcome = await run(folder, "--server", "http://127.0.0.1:4");
    expect(outcome).toEqual({ code: 1, text: expect.stringContaining("http://127.0.0.1:4 cannot be reached") });
    expect(existsSync(folder)).toBe(false);
  });

  test.each([
    [["client", "--server", "localhost:9001"], "the address of a server is http://localhost:9001 where"],
    [["client", "--server", "model.onnx"], "expected http://HOST:PORT or grpc://HOST:PORT"],
    [["hooks", "--server", "http://localhost:9001"], "not for new hooks"],
    [["driver", "--stream"], "--stream is for kserving new hooks, not for new driver."],
  ])("new %j is refused", async (args, message) => {
    const [kind = "", ...flags] = args;
    const { code, stderr } = await runCommand(["new", kind, join(tempFolder({}), "calls"), ...flags]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
