import { describe, expect, it } from "vitest";
import { startKserving } from "../../../cli/start-kserving.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { tensorflowModel } from "../tensorflow-cases.ts";
import { tensorflowRuntime } from "./tensorflow-runtime.ts";

const missing = await missingRuntime("A server with TensorFlow", tensorflowRuntime);

/** Starts the real program with a model of test/fixtures/tensorflow. */
async function serve(name: string, args: readonly string[] = []) {
  const local = ["--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"];
  const env = { KSERVING_TENSORFLOW_LIB: await tensorflowRuntime() };
  const program = startKserving(["--model-path", tensorflowModel(name), ...local, ...args], env);
  const { http } = await program.event("ready");
  const ask = (inputs: unknown, signal?: AbortSignal, signature_name?: string) =>
    fetch(`${http}/v1/models/default:predict`, {
      method: "POST",
      body: JSON.stringify({ inputs, signature_name }),
      ...(signal && { signal }),
    });
  return { program, ask };
}

describe.skipIf(missing !== undefined)("a server with TensorFlow", () => {
  it("says which engine serves the model and why, and serves it in two copies, whose variables are apart", async () => {
    const { program, ask } = await serve("counter", ["--instances", "2"]);
    expect(await program.event("the native engine serves the model")).toMatchObject({
      format: "saved-model",
      reason: "libtensorflow was found by KSERVING_TENSORFLOW_LIB",
    });
    expect(await program.event("TensorFlow is loaded")).toMatchObject({ version: expect.stringMatching(/^2\./) });
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask([1]).then((answer) => answer.json())));
    const first = answers.filter((answer) => (answer as { outputs: number }).outputs === 4);
    expect(first).toHaveLength(2);
  });

  it("goes on after inputs that are smaller than a window", async () => {
    const { ask } = await serve("windows");
    const flat = (size: number) => [Array(size).fill(Array(size).fill([1, 1]))];
    const solid = (size: number) => [Array(size).fill(flat(size)[0])];
    for (const [signature, input] of [
      ...["max_pool", "conv", "depthwise"].map((name) => [name, flat] as const),
      ...["max_pool_3d", "conv_3d"].map((name) => [name, solid] as const),
    ]) {
      const refusal = await ask(input(2), undefined, signature);
      expect(refusal.status).toBe(400);
      expect(await refusal.json()).toEqual({ error: expect.stringContaining("or more for its window, and this one") });
      expect((await ask(input(3), undefined, signature)).status).toBe(200);
    }
  });

  it("ends at SIGTERM although a run goes on whose client is gone", async () => {
    const { program, ask } = await serve("endless");
    const client = new AbortController();
    const endless = ask(1, client.signal);
    expect(await (await ask(2e9)).json()).toEqual({ outputs: 2e9 });
    client.abort();
    await expect(endless).rejects.toThrow();
    program.kill("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0, signal: null });
  });
});
