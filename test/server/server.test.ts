import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startKserving } from "../cli/start-kserving.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const model = fileURLToPath(new URL("../fixtures/models/half-plus-two.onnx", import.meta.url));

test("an ONNX model leaves nothing in the home or temporary folder of the server's user", async () => {
  const [home, temp] = [tempFolder(), tempFolder()];
  const flags = ["--model-path", model, "--port", "0", "--http-enable", "--http-port", "0"];
  const env = { HOME: home, TMPDIR: temp, XDG_CACHE_HOME: join(home, "cache"), ORT_DISABLE_TELEMETRY: undefined };
  const program = startKserving(flags, env);
  const { http } = await program.event("ready");
  const body = JSON.stringify({ inputs: [1] });
  expect((await fetch(`${http}/v1/models/default:predict`, { method: "POST", body })).status).toBe(200);
  program.kill("SIGTERM");
  await program.ended();
  expect({ home: readdirSync(home), temp: readdirSync(temp) }).toEqual({ home: [], temp: [] });
});
