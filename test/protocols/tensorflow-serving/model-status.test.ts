import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { RepositorySource } from "../../../src/server/repository-source.ts";
import { openServer, type Server } from "../../../src/server/server.ts";
import { withDefaults } from "../../../src/server/server-options.ts";
import { modelConfig } from "../../../src/serving/repository/config/model-config.ts";
import type { Plain } from "../../grpc/oracle.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { logFiles, readLogs } from "../../observability/request-log/recorded-files.ts";
import { connectService } from "./connect-service.ts";

const OK = { error_code: "OK", error_message: "" };

/** A model with versions 1, 2 and 10, the last of which cannot be loaded, and a broken model. */
async function start() {
  const broken = "export const nothing = 1;";
  const path = tempFolder({ "1/hooks.ts": HOOKS, "2/hooks.ts": HOOKS, "10/hooks.ts": broken });
  const server = await startServer({
    models: { m: { path, driver: "null", versions: "all", labels: { stable: 1 } } },
    workers: 0,
    loadRetries: 0,
  });
  return { server, get: (rest: string) => get(server, rest), call: connect(server) };
}

const HOOKS = "export const preprocess = (inputs) => inputs;";

const errorText = (error: string) => JSON.stringify({ error }, null, 4);

async function get({ httpUrl }: Server, rest: string) {
  const response = await fetch(`${httpUrl}/v1/models/${rest}`);
  return [response.status, await response.text()] as const;
}

function connect(server: Server) {
  const call = connectService(server, "ModelService");
  return (model_spec?: Plain) => call("GetModelStatus", { model_spec });
}

describe("the status of a model", () => {
  it("lists its versions, highest first, with the reason why one is not available", async () => {
    const { get, call } = await start();
    const error_message = expect.stringMatching(/^hooks\.ts .*preprocess/);
    const failed = { version: "10", state: "END", status: { error_code: "FAILED_PRECONDITION", error_message } };
    const others = ["2", "1"].map((version) => ({ version, state: "AVAILABLE", status: OK }));
    const [status, text] = await get("m");
    expect([status, JSON.parse(text)]).toEqual([200, { model_version_status: [failed, ...others] }]);
    expect(await call({ name: "m" })).toEqual({ model_version_status: [failed, ...others] });
  });

  it("is that of one version where it is asked for, and of all where a label is", async () => {
    const { get, call } = await start();
    const one = { model_version_status: [{ version: "2", state: "AVAILABLE", status: OK }] };
    expect(await call({ name: "m", version: { value: "2" } })).toEqual(one);
    expect(await get("m/versions/2")).toEqual([200, `${JSON.stringify(one, null, 1)}\n`]);
    expect(JSON.parse((await get("m/labels/stable"))[1]).model_version_status).toHaveLength(3);
  });

  it("is that of all where version 0 is asked for, which OpenVINO's client sends for none, unless there is one", async () => {
    const { server, get, call } = await start();
    expect((await call({ name: "m", version: { value: "0" } })).model_version_status).toHaveLength(3);
    expect(JSON.parse((await get("m/versions/0"))[1]).model_version_status).toHaveLength(3);
    const path = tempFolder({ "0/hooks.ts": HOOKS, "1/hooks.ts": HOOKS });
    await server.load("zero", { path, driver: "null", versions: "all" });
    const one = { model_version_status: [{ version: "0", state: "AVAILABLE", status: OK }] };
    expect(await call({ name: "zero", version: { value: "0" } })).toEqual(one);
  });

  it("is found whatever the case of the path, but for the names in it, as its metadata is", async () => {
    const { server } = await start();
    const statusOf = async (path: string) => (await fetch(server.httpUrl + path)).status;
    const paths = ["/V1/Models/m", "/v1/MODELS/m/Versions/2", "/V1/models/m/METADATA", "/V1/MODELS", "/v1/models/M"];
    expect(await Promise.all(paths.map(statusOf))).toEqual([200, 200, 200, 200, 404]);
  });

  it("follows what becomes of the model", async () => {
    const { server, get } = await start();
    const states = async () =>
      JSON.parse((await get("m"))[1]).model_version_status.map(({ state }: { state: string }) => state);
    await server.unload("m");
    expect(await states()).toEqual(["END", "END", "END"]);
    await expect(server.load("m")).rejects.toThrow("hooks.ts");
    await expect.poll(states).toEqual(["END", "AVAILABLE", "AVAILABLE"]);
  });

  it("is refused in TensorFlow Serving's words where there is none", async () => {
    const { get, call } = await start();
    expect(await get("no")).toEqual([404, errorText("Could not find any versions of model no")]);
    expect(await get("m/versions/3")).toEqual([404, errorText("Could not find version 3 of model m")]);
    expect((await get("m/versions/9223372036854775808"))[0]).toBe(400);
    expect((await get("m/versions/x"))[1]).toContain("Malformed request: GET /v1/models/m/versions/x.");
    await expect(call({ name: "no" })).rejects.toMatchObject({ details: "Could not find any versions of model no" });
    await expect(call()).rejects.toMatchObject({ code: 3, details: "Missing ModelSpec" });
  });

  it("is that of a name with any characters", async () => {
    const { server } = await start();
    const hooks = defineHooks({ preprocess: (inputs) => inputs });
    await server.load("a b/ü", { driver: "null", hooks });
    expect((await get(server, "a%20b%2F%C3%BC"))[0]).toBe(200);
  });
});

describe("a configuration that a client sends", () => {
  const folderOf = (...versions: number[]) => {
    const folder = tempFolder();
    for (const version of versions) {
      mkdirSync(join(folder, String(version)));
      cpSync(HALF, join(folder, String(version), "model.onnx"));
    }
    return folder;
  };
  const HALF = "test/fixtures/models/half-plus-two.onnx";

  async function startOne() {
    const server = await startServer({ models: { old: { path: HALF } }, allowControl: "local", loadRetries: 0 });
    const call = connectService(server, "ModelService");
    const reload = (...config: Plain[]) =>
      call("HandleReloadConfigRequest", { config: { model_config_list: { config } } });
    const served = () => server.models().map(({ name, version, state }) => `${name} ${version} ${state}`);
    return { server, call, reload, served };
  }

  it("replaces what is served, with its versions and labels, and is answered once that is so", async () => {
    const { reload, served, server } = await startOne();
    const base_path = folderOf(1, 2, 3);
    const model_version_policy = { specific: { versions: [1, 2] } };
    const config = { name: "m", base_path, model_platform: "tensorflow", model_version_policy };
    expect(await reload({ ...config, version_labels: { stable: 1 } })).toEqual({ status: OK, metric: [] });
    expect(served().filter((one) => one.endsWith("AVAILABLE"))).toEqual(["m 2 AVAILABLE", "m 1 AVAILABLE"]);
    expect(server.models().find(({ version }) => version === 1n)?.labels).toEqual(["stable"]);
    await reload({ name: "m", base_path });
    await expect.poll(served).toContain("m 3 AVAILABLE");
    await reload();
    await expect.poll(served).toEqual([]);
  });

  it("keeps the options of a model that stays, and its versions are looked for as before", async () => {
    const base_path = folderOf(1);
    const { log, events, find } = createEventLog();
    const models = [modelConfig({ name: "m", path: base_path, driver: "onnx" })];
    const sources = { models, options: { max_batch_size: "4" } };
    const source = new RepositorySource(sources, { pollMs: 50, log });
    const server = await openServer(
      withDefaults({ host: "127.0.0.1", port: 0, http: {}, allowControl: "local", log }),
      source,
    );
    onTestFinished(() => server.close());
    await find({ msg: "model state", model: "m", version: "1", state: "AVAILABLE" });
    const reload = (...config: Plain[]) =>
      connectService(server, "ModelService")("HandleReloadConfigRequest", {
        config: { model_config_list: { config } },
      });
    await reload({ name: "m", base_path });
    mkdirSync(join(base_path, "2"));
    cpSync(HALF, join(base_path, "2", "model.onnx"));
    await find({ msg: "model state", model: "m", version: "2", state: "AVAILABLE" });
    expect(events.filter(({ version, state }) => version === "1" && state === "LOADING")).toHaveLength(1);
    const config = await (await fetch(`${server.httpUrl}/v2/models/m/config`)).json();
    expect(config).toMatchObject({ max_batch_size: 4 });
  });

  it("is not answered with failures of versions that nothing asks for any more", async () => {
    const { reload, served } = await startOne();
    const base_path = folderOf(1, 2);
    writeFileSync(join(base_path, "2", "model.onnx"), "broken");
    const specific = (...versions: number[]) => ({
      name: "m",
      base_path,
      model_version_policy: { specific: { versions } },
    });
    await expect(reload(specific(2))).rejects.toThrow(/version 2|m/);
    expect(await reload(specific(1))).toEqual({ status: OK, metric: [] });
    await expect.poll(served).toContain("m 1 AVAILABLE");
  });

  it("is answered with the increase of the counters that it names, each once", async () => {
    const { call, server } = await startOne();
    const base_path = folderOf(1);
    const count = `await (await fetch("${server.httpUrl}/v1/models/none")).text();`;
    writeFileSync(join(base_path, "1/hooks.ts"), `${HOOKS} export const init_hook = async () => { ${count} };`);
    const config = { model_config_list: { config: [{ name: "m", base_path }] } };
    const [requests, latency] = ["/tensorflow/serving/request_count", "/tensorflow/serving/request_latency"];
    const metric_names = [requests, latency, "/none", requests];
    expect((await call("HandleReloadConfigRequest", { config, metric_names })).metric).toEqual([
      { name: requests, int64_value_increase: "1" },
      { name: latency, int64_value_increase: "0" },
      { name: "/none", int64_value_increase: "0" },
    ]);
  });

  it("is refused in TensorFlow Serving's words, and then changes nothing or as far as it can", async () => {
    const { reload, served, call } = await startOne();
    const base_path = folderOf(1);
    await expect(call("HandleReloadConfigRequest", {})).rejects.toThrow(
      "ServerModelConfig type not supported by HandleReloadConfigRequest. Only ModelConfigList is currently supported",
    );
    await expect(reload({ name: "m", base_path: "models/m" })).rejects.toThrow(
      "Expected model m to have an absolute path or URI; got base_path()=models/m",
    );
    await expect(reload({ name: "m", base_path }, { name: "m", base_path })).rejects.toThrow(
      "Illegal to list model m multiple times in config list",
    );
    expect(served()).toEqual(["old 1 AVAILABLE"]);
    await expect(reload({ name: "m", base_path, version_labels: { stable: 7 } })).rejects.toThrow(
      'Request to assign label "stable" to version 7 of model m, which is not currently available for inference',
    );
    await expect(reload({ name: "m", base_path }, { name: "n", base_path: "/nowhere" })).rejects.toThrow(
      /1 model\(s\) did not become available: \{\{\{name: n version: 1\} due to error: [A-Z_]+: .*\}, \}$/,
    );
    expect(served()).toContain("m 1 AVAILABLE");
  });

  it("may name another storage as the original's, of those that are read here", async () => {
    const { reload, served } = await startOne();
    await expect(reload({ name: "m", base_path: "ftp://host/m" })).rejects.toThrow(
      "ftp://host/m is not on this machine, and nothing is read from ftp:// here; expected s3://, gs://",
    );
    expect(served()).toEqual(["old 1 AVAILABLE"]);
  });

  it("records requests where it has a logging_config, which the original refuses", async () => {
    const { reload, server } = await startOne();
    const folder = tempFolder();
    const [base_path, filename_prefix] = [folderOf(1), `${folder}/t`];
    const logging = (name: string, sampling_rate: number) => ({
      ...{ name, base_path },
      logging_config: { log_collector_config: { filename_prefix }, sampling_config: { sampling_rate } },
    });
    await expect(reload(logging("m", 1.5))).rejects.toThrow(
      "sampling_rate of model m is 1.5; expected a number from 0 to 1.",
    );
    await reload(logging("all", 1), logging("none", 0));
    const call = connectService(server, "PredictionService");
    const input = { example_list: { examples: [{ features: { feature: { x: { float_list: { value: [2] } } } } }] } };
    for (const name of ["all", "none"]) await call("Regress", { model_spec: { name }, input });
    await server.close();
    expect((await readLogs(...logFiles(folder))).map(({ kind }) => kind)).toEqual(["regress_log"]);
    expect(logFiles(folder)).toEqual([expect.stringMatching(/\/t-all-/)]);
  });
});
