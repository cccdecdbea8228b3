import { cpSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ControlAccess } from "../../src/access/control-access.ts";
import { RepositorySource } from "../../src/server/repository-source.ts";
import { openServer } from "../../src/server/server.ts";
import { withDefaults } from "../../src/server/server-options.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { connectKserve } from "../helpers/kserve-grpc.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const HALF = readFileSync("test/fixtures/models/half-plus-two.onnx");
const IDENTITY = readFileSync("test/fixtures/models/identity-float32.onnx");
const CONFIG = '{"backend": "onnxruntime", "versionPolicy": {"specific": {"versions": ["2"]}}}';

type Files = Readonly<Record<string, Uint8Array>>;

/** A server of a repository with the model `half` as version 1, and how its clients load. */
async function start(allowControl: ControlAccess = "local", explicit?: readonly string[]) {
  const folder = tempFolder({ "half/1/model.onnx": HALF });
  const { log } = createEventLog();
  const source = new RepositorySource({ folders: [folder] }, { pollMs: 0, log, ...(explicit && { explicit }) });
  const server = await openServer(withDefaults({ http: {}, allowControl, log }), source);
  onTestFinished(() => server.close());
  const call = connectKserve(server.grpcAddress);
  const post = async (path: string, body: object = {}) => {
    const response = await fetch(`${server.httpUrl}${path}`, { method: "POST", body: JSON.stringify(body) });
    return [response.status, await response.text()] as const;
  };
  const overHttp = (name: string, config: string | undefined, files: Files = {}) => {
    const encoded = Object.entries(files).map(([path, content]) => [path, Buffer.from(content).toString("base64")]);
    return post(`/v2/repository/models/${name}/load`, { parameters: { config, ...Object.fromEntries(encoded) } });
  };
  const overGrpc = (name: string, config: string, files: Files = {}) => {
    const bytes = Object.entries(files).map(([path, content]) => [path, { bytes_param: content }]);
    const parameters = { config: { string_param: config }, ...Object.fromEntries(bytes) };
    return call("RepositoryModelLoad", { model_name: name, parameters });
  };
  const versions = () =>
    server
      .models()
      .filter(({ state }) => state === "AVAILABLE")
      .map(({ name, version }) => `${name} ${version}`);
  const plain = (name: string) => post(`/v2/repository/models/${name}/load`);
  const config = async () => (await fetch(`${server.httpUrl}/v2/models/half/config`)).json();
  return { server, folder, post, overHttp, overGrpc, plain, versions, config };
}

/** Temporary folders of this process that hold files of clients. */
function overrideFolders(): string[] {
  const own = readdirSync(tmpdir()).filter((name) => name.startsWith(`kserving-${process.pid}-`));
  return own.filter((name) => readdirSync(join(tmpdir(), name)).some((entry) => /^\d+$/.test(entry)));
}

describe("a load with a configuration and files", () => {
  it.each(["overHttp", "overGrpc"] as const)("serves those until the next load without, %s", async (wire) => {
    const server = await start();
    await server[wire]("half", CONFIG, { "file:2/model.onnx": IDENTITY });
    await expect.poll(server.versions, { timeout: 20_000 }).toEqual(["half 2"]);
    expect(overrideFolders()).toHaveLength(1);
    expect(await server.plain("half")).toEqual([200, ""]);
    await expect.poll(server.versions, { timeout: 20_000 }).toEqual(["half 1"]);
    expect(overrideFolders()).toEqual([]);
  });

  it("serves a model that the repository has not, whose files go when it is unloaded", async () => {
    const { overGrpc, overHttp, plain, post, versions } = await start();
    await overGrpc("new", "{}", { "file:1/model.onnx": HALF });
    expect(await plain("new")).toEqual([200, ""]);
    expect(versions()).toEqual(["half 1", "new 1"]);
    expect(await overHttp("new", "{}", { "file:3/model.onnx": IDENTITY })).toEqual([200, ""]);
    await expect.poll(versions, { timeout: 20_000 }).toEqual(["half 1", "new 3"]);
    expect(overrideFolders()).toHaveLength(1);
    expect(await post("/v2/repository/models/new/unload")).toEqual([200, ""]);
    expect(overrideFolders()).toEqual([]);
    expect(await plain("new")).toEqual([
      404,
      expect.stringContaining("failed to load 'new', failed to poll from model"),
    ]);
  });

  it("leaves what was served where it does not load", async () => {
    const { overHttp, versions } = await start();
    const refused = await overHttp("half", "{}", { "file:2/model.onnx": Buffer.from("no model") });
    expect(refused).toEqual([400, expect.stringContaining("is not an ONNX model")]);
    expect(versions()).toContain("half 1");
    expect(overrideFolders()).toEqual([]);
  });

  it("takes models as large as messages may be, over either wire", async () => {
    const { overHttp, overGrpc, versions } = await start();
    const files = { "file:1/model.onnx": HALF, "file:1/ballast": Buffer.alloc(20_000_000, 1) };
    expect(await overHttp("large", "{}", files)).toEqual([200, ""]);
    await overGrpc("larger", "{}", files);
    expect(versions()).toEqual(["half 1", "large 1", "larger 1"]);
  });

  it("refuses files in other places, twice, or of code", async () => {
    const { overHttp, overGrpc } = await start();
    const refused: readonly (readonly [what: string, files: Files, message: string])[] = [
      ["a path out of the folder", { "file:../x": HALF }, "'file:../x' must stay within model directory"],
      ["a way out within a path", { "file:1/a/../../../x": HALF }, "must stay within model directory"],
      ["a whole path", { "file:/x": HALF }, "must stay within model directory"],
      ["a path of Windows", { "file:C:\\x": HALF }, "must stay within model directory"],
      ["a NUL in it", { "file:1/a\0b": HALF }, "must stay within model directory"],
      ["no path", { "file:": HALF }, "names no file"],
      ["a file in a file", { "file:1": HALF, "file:1/model.onnx": HALF }, "directory has been created as a file"],
      ["a path twice", { "file:1/a": HALF, "file:1//a": HALF }, "the file is given twice"],
      ["hooks", { "file:1/hooks.ts": HALF }, "is code"],
      ["a Python file", { "file:1/model.py": HALF }, "is code"],
      ["a library", { "file:1/libops.so.1": HALF }, "is code"],
    ];
    for (const [what, files, message] of refused) {
      expect(await overHttp("half", "{}", files), what).toEqual([400, expect.stringContaining(message)]);
      await expect(overGrpc("half", "{}", files), what).rejects.toThrow(message);
      expect(overrideFolders(), what).toEqual([]);
    }
  });

  it("refuses what is no such parameter, in Triton's words", async () => {
    const { overHttp, overGrpc, post } = await start();
    const load = (parameters: object) => post("/v2/repository/models/half/load", { parameters });
    const without = "Load parameter 'config' must be specified for model file override";
    expect(await overHttp("half", undefined, { "file:1/a": HALF })).toEqual([400, expect.stringContaining(without)]);
    const other = "Unrecognized load parameter 'colour' with type 'STRING'";
    expect(await load({ colour: "blue" })).toEqual([400, expect.stringContaining(other)]);
    expect(await load({ config: 1 })).toEqual([400, expect.stringContaining("'config' with type 'DOUBLE'")]);
    expect(await load({ config: "{}", "file:1/a": "!" })).toEqual([400, expect.stringContaining("must have base64")]);
    const parameters = { "file:1/a": { string_param: "text" }, config: { string_param: "{}" } };
    const { server } = await start();
    await expect(
      connectKserve(server.grpcAddress)("RepositoryModelLoad", { model_name: "half", parameters }),
    ).rejects.toThrow("must have bytes type for its value");
    await expect(overGrpc("a/b", "{}", { "file:1/a": HALF })).rejects.toThrow("must not contain path traversal");
    const long = "The model's name has 100000 characters; expected 1024 at most. It begins \"aaa";
    await expect(overGrpc("a".repeat(100_000), "{}", { "file:1/a": HALF })).rejects.toThrow(long);
  });

  it("is only for clients that may control the server, and its files are private", async () => {
    const { overHttp, overGrpc } = await start("off");
    const files = { "file:1/model.onnx": Buffer.alloc(1_000_000) };
    expect((await overHttp("half", "{}", files))[0]).toBe(403);
    await expect(overGrpc("half", "{}", files)).rejects.toMatchObject({ code: 7 });
  });
});

describe("a load with a configuration alone", () => {
  it("describes the model's own files until the next load without it", async () => {
    const { overHttp, plain, config } = await start("local", []);
    const batching = {
      max_batch_size: 4,
      dynamic_batching: {},
      input: [{ name: "x", data_type: "TYPE_FP32", dims: [] }],
    };
    expect(await overHttp("half", JSON.stringify({ name: "half", ...batching }))).toEqual([200, ""]);
    expect(await config()).toMatchObject({ max_batch_size: 4 });
    expect(await plain("half")).toEqual([200, ""]);
    expect(await config()).toMatchObject({ max_batch_size: 0 });
  });

  it("warms the model up as it says", async () => {
    const { folder, overHttp } = await start();
    cpSync("test/fixtures/models/half-plus-two.onnx", join(folder, "half/warmup/x"));
    const inputs = (input_data_file: string) => ({ x: { data_type: "TYPE_FP32", dims: ["1"], input_data_file } });
    const warmed = (file: string) =>
      JSON.stringify({ model_warmup: [{ name: "a", batch_size: 1, inputs: inputs(file) }] });
    expect(await overHttp("half", warmed("x"))).toEqual([200, ""]);
    const outside = "does not lie in the model's folder warmup";
    expect(await overHttp("half", warmed("../1/model.onnx"))).toEqual([400, expect.stringContaining(outside)]);
  });

  it("is refused for what is no such configuration, names another place, or is too long", async () => {
    const { overHttp, versions } = await start();
    const refused: readonly (readonly [what: string, config: string, message: string])[] = [
      ["no JSON", "{", "Invalid config override: config:1:"],
      ["no object", "[]", "expected a JSON object of a ModelConfig"],
      ["a wrong value", '{"max_batch_size": "many"}', '"max_batch_size" is "many"; expected an integer of 0 or more'],
      ["another name", '{"name": "other"}', "is of a model called other"],
      ["a backend that is not there", '{"backend": "fil"}', "has the backend fil, for which there is no driver"],
      ["a file elsewhere", '{"default_model_filename": "../../x.onnx"}', "expected a name in the version's folder"],
      [
        "a library",
        '{"backend": "openvino", "parameters": {"CPU_EXTENSION_PATH": {"string_value": "/x.so"}}}',
        "a client may not name libraries",
      ],
      ["too much", `{"metric_tags": "${"x".repeat(300_000)}"}`, "expected 262144 at most"],
    ];
    for (const [what, config, message] of refused) {
      const said = expect.stringContaining(JSON.stringify(message).slice(1, -1));
      expect(await overHttp("half", config), what).toEqual([400, said]);
    }
    expect(versions()).toEqual(["half 1"]);
  });
});
