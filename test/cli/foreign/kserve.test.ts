import { copyFileSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { KSERVE, waitForModelcar } from "../../../src/cli/foreign/kserve.ts";
import { runForeign } from "../../../src/cli/main.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { collectOutput, type Understood, understand } from "./run-in-process.ts";

function modelFolder(folder = tempFolder()): string {
  copyFileSync("test/fixtures/models/half-plus-two.onnx", join(folder, "model.onnx"));
  return folder;
}

async function understood(argv: readonly string[], env = {}): Promise<Understood> {
  return (await understand(KSERVE, argv, env)) as Understood;
}

async function run(argv: readonly string[], env = {}) {
  const printed = collectOutput();
  const code = await runForeign("kserve", argv, env);
  return { code, ...printed };
}

describe("the arguments of KServe's runtimes", () => {
  it("have the ports of its servers, and serve the model of the folder", async () => {
    const folder = modelFolder();
    const { settings, sources, warnings } = await understood(["--model_name=m", `--model_dir=${folder}`]);
    expect(settings).toMatchObject({
      ...{ httpEnable: true, httpPort: 8080, port: 8081, kserveRoutes: true, failFast: true, accessLog: false },
    });
    expect(sources.models).toMatchObject([{ name: "m", path: folder, options: {} }]);
    expect(warnings).toEqual([]);
  });

  it("say what they say there, and hooks beside", async () => {
    const { settings, sources } = await understood([
      ...[`--model_dir=${modelFolder()}`, "--http_port", "9080", "--grpc_port=9081", "--nthread=2"],
      ...["--grpc_max_receive_message_length=1048576", "--enable_latency_logging=1", "--hooks=/h/hooks.ts"],
    ]);
    expect(settings).toMatchObject({ httpPort: 9080, port: 9081, threads: 2, maxMessageBytes: 1048576 });
    expect(settings.accessLog).toBe(true);
    expect(sources.models).toMatchObject([{ name: "model", hooks: "/h/hooks.ts" }]);
  });

  it("are accepted with one warning where they are unknown, and with the reason where they change nothing", async () => {
    const { warnings } = await understood([`--model_dir=${modelFolder()}`, "--workers=2", "--mystery=1", "word"]);
    expect(warnings).toEqual([
      "--workers changes nothing here: its own threads answer, as many as the machine or container has processors.",
      "--mystery=1 word: kserving kserve takes no such argument; KSERVING_… variables set what else there is.",
    ]);
  });

  it("that make a transformer are refused with what takes its place", async () => {
    const { code, stderr } = await run([`--model_dir=${modelFolder()}`, "--predictor_host=p.ns"]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^kserving: --predictor_host is not taken: hooks run/)]);
  });

  it("end with the reason as the last line of stderr, which Kubernetes keeps", async () => {
    const { code, stderr } = await run([`--model_dir=${tempFolder({ "notes.md": "" })}`]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^kserving: The folder ".*" has no model; .*\n$/)]);
  });
});

describe("a modelcar's folder", () => {
  it("is waited for where KServe says that it comes late", async () => {
    const [folder, root] = [modelFolder(), tempFolder()];
    const path = join(root, "models");
    const waiting = understood([`--model_dir=${path}`], { MODEL_INIT_MODE: "async" });
    symlinkSync(folder, path);
    expect((await waiting).sources.models).toMatchObject([{ name: "model", path }]);
  });

  it("ends the start where it never comes, and at once where nothing says that it will", async () => {
    const path = join(tempFolder(), "models");
    await expect(waitForModelcar(path, 0)).rejects.toThrow(`${path} is not there after 0 seconds`);
    await expect(understood([`--model_dir=${path}`])).rejects.toThrow(/does not exist/);
  });

  it("may be there before it is asked for", async () => {
    const path = join(tempFolder(), "models");
    mkdirSync(path);
    await expect(waitForModelcar(path, 0)).resolves.toBeUndefined();
  });
});
