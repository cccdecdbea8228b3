import { readFileSync } from "node:fs";
import { join } from "node:path";
import { status } from "@grpc/grpc-js";
import { beforeAll, describe, expect, it } from "vitest";
import type { LogLevel } from "../../../src/observability/log-filter.ts";
import { createLogger } from "../../../src/observability/logger.ts";
import { createServer } from "../../../src/server/server.ts";
import { type CallKserve, connectKserve } from "../../helpers/kserve-grpc.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const AT_INFO = { log_error: true, log_warning: true, log_info: true, log_verbose_level: 0, log_format: "default" };

/** Hooks that log at several levels, once for each request. */
const HOOKS = `
export function preprocess(inputs, { log }) {
  for (const level of ["debug", "info", "warn"]) log[level]("from a hook");
  return inputs;
}`;

async function start(level: LogLevel = "info") {
  const folder = tempFolder({ "hooks.ts": HOOKS });
  const path = join(folder, "log");
  const server = await startServer({
    stages: [{ driver: "null" }],
    hooks: join(folder, "hooks.ts"),
    allowControl: "local",
    log: createLogger({ path, level }),
  });
  const send = sendTo(server.httpUrl);
  let known = 0;
  /** Passes once a request's hooks were heard at these levels, and no others. */
  const hears = async (...levels: readonly LogLevel[]) => {
    await send("/v2/models/default/infer", '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}');
    const heard = () => readFileSync(path, "utf8").match(/.*"from a hook".*\n/g) ?? [];
    await expect.poll(() => heard().length, { interval: 10 }).toBe(known + levels.length);
    expect(heard().slice(known)).toEqual(levels.map((level) => expect.stringContaining(`"level":"${level}"`)));
    known += levels.length;
  };
  return { ...server, send, hears, call: connectKserve(server.grpcAddress) };
}

/** Asks a server, and gives the status and the JSON of its answer. */
function sendTo(httpUrl: string | undefined) {
  return async (url: string, body?: string) => {
    const response = await fetch(httpUrl + url, body === undefined ? {} : { method: "POST", body });
    const text = await response.text();
    return [response.status, text === "" ? undefined : JSON.parse(text)] as const;
  };
}

/** To a server whose settings no test changes. */
let sendUnchanging: ReturnType<typeof sendTo>;
beforeAll(async () => {
  const log = createLogger({ path: "/dev/null" });
  const server = await createServer({ stages: [{ driver: "null" }], http: {}, allowControl: "local", log });
  sendUnchanging = sendTo(server.httpUrl);
  return () => server.close();
});

/** The settings as the gRPC wire answers them. */
async function settings(call: CallKserve, changes: Record<string, object> = {}): Promise<object> {
  const { settings: answered } = await call("LogSettings", { settings: changes });
  const values = Object.entries(answered as Record<string, { parameter_choice: string } & Record<string, unknown>>);
  return Object.fromEntries(values.map(([name, value]) => [name, value[value.parameter_choice]]));
}

describe("log settings", () => {
  it("change what is logged at once, what hook threads send included, over either wire", async () => {
    const { send, call, hears } = await start();
    await hears("info", "warn");
    expect(await send("/v2/logging", '{"log_info":false}')).toEqual([200, { ...AT_INFO, log_info: false }]);
    await hears("warn");
    const changed = { ...AT_INFO, log_warning: false };
    expect(await settings(call, { log_info: { bool_param: true }, log_warning: { bool_param: false } })).toEqual(
      changed,
    );
    await hears("info");
    expect(await settings(call)).toEqual(changed);
    expect(await send("/v2/logging")).toEqual([200, changed]);
  });

  it("reach below the level of the start, in threads too", async () => {
    const { send, hears } = await start("warn");
    expect(await send("/v2/logging", '{"log_info":true,"log_verbose_level":1}')).toEqual([
      200,
      { ...AT_INFO, log_verbose_level: 1 },
    ]);
    await hears("debug", "info", "warn");
  });

  it.each([
    [0, 0],
    [1, 1],
    [2, 2],
    [9, 2],
  ])("with log_verbose_level %i tell of %i", async (asked, told) => {
    const { send } = await start();
    const [, answer] = await send("/v2/logging", JSON.stringify({ log_verbose_level: asked }));
    expect(answer.log_verbose_level).toBe(told);
  });

  it("stay as they are where a client leaves them out, or sends null", async () => {
    for (const body of ["", "{}", '{"log_info":null}']) {
      expect(await sendUnchanging("/v2/logging", body)).toEqual([200, AT_INFO]);
    }
  });

  it.each([
    ['{"log_info":1}', 400, "expect boolean for 'log_info'"],
    ['{"log_warning":"yes"}', 400, "expect boolean for 'log_warning'"],
    ['{"log_verbose_level":-1}', 400, "expect int32 for 'log_verbose_level'"],
    ['{"log_verbose_level":1.5}', 400, "expect int32 for 'log_verbose_level'"],
    ['{"log_format":"xml"}', 400, "invalid argument for log_format, got: xml"],
    ['{"log_info":false,"log_inof":true}', 400, "There is no log setting 'log_inof'"],
    ['{"__proto__":true}', 400, "There is no log setting '__proto__'"],
    ['{"constructor":true}', 400, "There is no log setting 'constructor'"],
    ['{"log_info":{}}', 400, "Unable to parse"],
    ['{"log_file":"/tmp/x"}', 501, "log file location can not be updated through network protocol"],
    ["[]", 400, "expected an object"],
    ["{", 400, "failed to parse the request JSON buffer"],
  ])("refuse %s with %i and leave all as it was", async (body, code, message) => {
    expect(await sendUnchanging("/v2/logging", body)).toMatchObject([
      code,
      { error: expect.stringContaining(message) },
    ]);
    expect(await sendUnchanging("/v2/logging")).toEqual([200, AT_INFO]);
  });

  it("are refused over gRPC with the codes of the same errors", async () => {
    const { call } = await start();
    const refused = [
      [{ log_info: { uint32_param: 1 } }, status.INVALID_ARGUMENT, "expect boolean for 'log_info'"],
      [{ log_info: {} }, status.INVALID_ARGUMENT, "expect boolean for 'log_info'"],
      [{ log_verbose_level: { bool_param: true } }, status.INVALID_ARGUMENT, "expect int32"],
      [{ log_file: { string_param: "x" } }, status.UNIMPLEMENTED, "log file location can not be updated"],
    ] as const;
    for (const [changes, code, details] of refused) {
      await expect(settings(call, changes)).rejects.toMatchObject({ code, details: expect.stringContaining(details) });
    }
  });

  it("are refused where the log is another program's", async () => {
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }], allowControl: "local" });
    const response = await fetch(`${httpUrl}/v2/logging`, { method: "POST", body: '{"log_info":true}' });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("no log of its own")]);
  });
});

describe("trace settings", () => {
  const OFF = { trace_level: ["OFF"] };

  it.each([
    ["", 200, OFF],
    ['{"trace_level":["OFF"]}', 200, OFF],
    ['{"trace_level":"OFF","trace_rate":null,"trace_count":[]}', 200, OFF],
    [
      '{"trace_level":["TIMESTAMPS"]}',
      400,
      "the server does not support tracing without OTEL_EXPORTER_OTLP_ENDPOINT, so 'trace_level'",
    ],
    [
      '{"trace_rate":"1"}',
      400,
      "the server does not support tracing without OTEL_EXPORTER_OTLP_ENDPOINT, so 'trace_rate'",
    ],
    ['{"trace_level":5}', 400, "Unable to parse 'trace_level': expected a string"],
    ['{"trace_leve":"OFF"}', 400, "There is no trace setting 'trace_leve'"],
    ['{"trace_file":"x"}', 501, "trace file location can not be updated through network protocol"],
  ])("take %s with %i", async (body, code, answer) => {
    const expected = typeof answer === "string" ? { error: expect.stringContaining(answer) } : answer;
    expect(await sendUnchanging("/v2/trace/setting", body)).toMatchObject([code, expected]);
    expect(await sendUnchanging("/v2/models/default/trace/setting", body)).toMatchObject([code, expected]);
  });

  it("are those of a model that there is", async () => {
    const { send, call } = await start();
    const error = "Request for unknown model: 'no' is not found. This server has default.";
    expect(await send("/v2/models/no/trace/setting")).toMatchObject([404, { error }]);
    expect(await send("/v2/models/no/trace/setting", "{}")).toMatchObject([404, { error }]);
    const unknown = { code: status.NOT_FOUND, details: error };
    await expect(call("TraceSetting", { model_name: "no" })).rejects.toMatchObject(unknown);
    const off = { settings: { trace_level: { value: ["OFF"] } } };
    expect(
      await call("TraceSetting", { model_name: "default", settings: { trace_level: { value: ["OFF"] } } }),
    ).toEqual(off);
    const tracing = call("TraceSetting", { settings: { trace_level: { value: ["TIMESTAMPS"] } } });
    await expect(tracing).rejects.toMatchObject({ code: status.FAILED_PRECONDITION });
  });
});
