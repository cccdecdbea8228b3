import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "../../grpc/byte-client.ts";
import { oracle } from "../../grpc/oracle.ts";
import { freePort } from "../../helpers/free-port.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { runKserving, startKserving } from "../start-kserving.ts";

const HALF_PLUS_TWO = new URL("../../fixtures/models/half-plus-two.onnx", import.meta.url).pathname;
const PREDICT = "/tensorflow.serving.PredictionService/Predict";
const RELOAD = "/tensorflow.serving.ModelService/HandleReloadConfigRequest";

/** Adds a version to a folder of versions. */
function addVersion(folder: string, version: number): void {
  const place = join(folder, String(version));
  mkdirSync(place, { recursive: true });
  copyFileSync(HALF_PLUS_TWO, join(place, "model.onnx"));
}

test("tensorflow_model_server waits for a version, prints its lines, answers on both ports, takes a new configuration", async () => {
  const folder = tempFolder();
  const [port, restPort] = [await freePort(), await freePort()];
  const flags = [`--port=${port}`, `--rest_api_port=${restPort}`, "--model_name=half", `--model_base_path=${folder}`];
  const socket = join(tempFolder(), "tf.sock");
  const program = startKserving(["tensorflow_model_server", ...flags, `--grpc_socket_path=${socket}`]);
  await program.output(/: W kserving\] No versions of servable half found under base path \S+\. Did you/, "stderr");
  addVersion(folder, 7);
  await program.output(/NET_LOG: Entering the event loop/, "stderr");

  const url = `http://127.0.0.1:${restPort}/v1/models/half:predict`;
  const answer = await fetch(url, { method: "POST", body: '{"instances": [1.0, 2.0, 5.0]}' });
  expect(await answer.json()).toEqual({ predictions: [2.5, 3, 4.5] });
  const client = connect(`127.0.0.1:${port}`);
  const nameless = client.call(PREDICT, oracle.encodeRequest({ inputs: {} }));
  await expect(nameless).rejects.toMatchObject({ code: 3, details: "Missing ModelSpec" });
  // ReloadConfigRequest { config { model_config_list {} } }
  await client.call(RELOAD, Buffer.from([0x0a, 2, 0x0a, 0]));
  await program.output(/Done unloading servable version \{name: half version: 7\}/, "stderr");

  program.kill("SIGTERM");
  const { code, stdout, stderr } = await program.ended();
  const lines = [...stderr.matchAll(/: I kserving\] (.*)/g)].map(([, line]) => line);
  expect(lines).toEqual([
    "Successfully loaded servable version {name: half version: 7}",
    `Running gRPC ModelServer at 0.0.0.0:${port} ...`,
    `Running gRPC ModelServer at UNIX socket ${socket} ...`,
    `Exporting HTTP/REST API at:localhost:${restPort} ...`,
    "Done unloading servable version {name: half version: 7}",
  ]);
  expect(stdout).toContain("programs on this machine may send HandleReloadConfigRequest");
  expect(code).toBe(0);
});

test("tensorflow_model_server is ended by Ctrl-C while it waits", async () => {
  const program = startKserving(["tensorflow-model-server", "--model_base_path=/no/such/folder"]);
  await program.output(/Could not find base path \/no\/such\/folder for servable default with error/, "stderr");
  program.kill("SIGINT");
  expect(await program.ended()).toMatchObject({ code: null, signal: "SIGINT" });
});

test("tensorflow_model_server ends where a model does not load, with its version and the reason", async () => {
  const folder = tempFolder({ "1/model.onnx": "no model" });
  const flags = [`--port=${await freePort()}`, "--model_name=m", `--model_base_path=${folder}`];
  const { code, stdout } = await runKserving(["tensorflow-model-server", ...flags]);
  const [, error] = /^Failed to start server\. Error: (.*)$/m.exec(stdout) ?? [];
  expect(error).toMatch(
    /^UNKNOWN: 1 servable\(s\) did not become available: \{\{\{name: m version: 1\} due to error: /,
  );
  expect(code).toBe(255);
});

test("ovms prints its lines, and looks at its models again for programs on this machine", async () => {
  const folder = tempFolder();
  addVersion(folder, 1);
  const restPort = await freePort();
  const flags = ["--model_name", "half", "--model_path", folder, "--rest_port", String(restPort)];
  const program = startKserving(["ovms", ...flags, "--file_system_poll_wait_seconds", "0"]);
  await program.output(/\[serving\]\[info\]\[kserving\] ServableManagerModule started/);
  addVersion(folder, 2);
  const reload = await fetch(`http://127.0.0.1:${restPort}/v1/config/reload`, { method: "POST" });
  expect(reload.status).toBe(201);
  await program.output(
    /Version 2 of model half status change. New status: \( "state": "AVAILABLE", "error_code": "OK" \)/,
  );
  program.kill("SIGTERM");
  const { code, stdout } = await program.ended();
  expect(stdout).toMatch(
    /STATUS CHANGE: Version 1 of model half .*"AVAILABLE"[\s\S]*Started REST server at 0\.0\.0\.0:\d+\n/,
  );
  expect(stdout).not.toContain("Started gRPC server");
  expect(code).toBe(0);
});

test("ie_serving says at level debug how long the parts of each inference took", async () => {
  const folder = tempFolder();
  addVersion(folder, 3);
  const [port, restPort] = [await freePort(), await freePort()];
  const flags = ["--model_name", "half", "--model_path", folder, "--port", `${port}`, "--rest_port", `${restPort}`];
  const program = startKserving(["ie_serving", "model", ...flags], { LOG_LEVEL: "debug" });
  await program.output(new RegExp(`REST server listens on port ${restPort} and will be serving models: \\['half'\\]`));
  const url = `http://127.0.0.1:${restPort}/v1/models/half:predict`;
  for (const body of ['{"instances": [1.0]}', '{"instances": ["a"]}']) await fetch(url, { method: "POST", body });
  await program.output(/serialization completed; half; 3;/);
  program.kill("SIGTERM");
  const { stdout } = await program.ended();
  const lines = [...stdout.matchAll(/\[serving\]\[debug\]\[kserving\] (.*; )[\d.]+ms$/gm)].map(([, line]) => line);
  expect(lines).toEqual([
    "PREDICT; input deserialization completed; half; 3; ",
    "PREDICT; inference execution completed; half; 3; ",
    "PREDICT; inference results serialization completed; half; 3; ",
  ]);
});

test("ie_serving waits on an empty folder with open ports, and serves the version that comes", async () => {
  const folder = tempFolder();
  const [port, rest] = [await freePort(), await freePort()];
  const flags = ["--model_name", "half", "--model_path", folder, "--port", `${port}`, "--rest_port", `${rest}`];
  const program = startKserving(["ie_serving", "model", ...flags]);
  await program.output(new RegExp(`listens on port ${port}`));
  const status = `http://127.0.0.1:${rest}/v1/models/half`;
  expect(await (await fetch(status)).text()).not.toContain("AVAILABLE");
  mkdirSync(join(folder, "2"));
  addVersion(folder, 1);
  await program.output(/"?version"?[=: "]+1.*AVAILABLE|AVAILABLE/);
  expect(await (await fetch(status)).json()).toMatchObject({
    model_version_status: [{ version: "1", state: "AVAILABLE" }],
  });
});
