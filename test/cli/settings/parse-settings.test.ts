import { describe, expect, test } from "vitest";
import { parseSettings } from "../../../src/cli/settings/parse-settings.ts";
import { envOf, flagOf, SETTINGS, type SettingName, settingsOf } from "../../../src/cli/settings/settings.ts";
import type { Setting } from "../../../src/platform/limits/settings/setting.ts";

const serve = (argv: readonly string[], env: NodeJS.ProcessEnv = {}) => parseSettings("serve", argv, { env });
const proxy = (argv: readonly string[], env: NodeJS.ProcessEnv = {}) => parseSettings("proxy", argv, { env });

describe("without flags", () => {
  test("every setting of serve has its default", () => {
    expect(serve([]).settings).toEqual({
      driver: [],
      modelPath: [],
      option: [],
      hooks: undefined,
      name: "default",
      host: "0.0.0.0",
      port: 9000,
      httpEnable: false,
      httpPort: 9001,
      httpServerCommand: undefined,
      maxMessageBytes: 268435456,
      tensorContent: false,
      requireModelSpec: false,
      checkMethodNames: false,
      ignoreUnknownOutputs: false,
      allowClientShm: false,
      adminHost: "127.0.0.1",
      metricsHost: "0.0.0.0",
      ui: true,
      allowControl: "off",
      corsOrigins: [],
      grpcChannelArguments: [],
      grpcSocketPath: undefined,
      grpcSocketTakeover: false,
      grpcSocketOnly: false,
      tlsScope: "ports",
      tensorflowMetricsPath: "/monitoring/prometheus/metrics",
      simpleTensorflowServing: false,
      kserveRoutes: false,
      mcp: false,
      openvinoMetadata: false,
      workers: 1,
      hookTimeoutMs: 60_000,
      hookEnv: [],
      archiveHooks: "own",
      debuggable: false,
      hookStallMs: 10_000,
      hookMemoryMb: 2048,
      idleUnloadMs: 0,
      inspectHooks: false,
      watch: false,
      instances: 1,
      isolate: false,
      threads: undefined,
      warmup: [],
      modelStallMs: 60_000,
      savedModelWarmup: 1,
      versionBatching: false,
      shareThreads: true,
      supervisor: true,
      model: [],
      modelRepository: [],
      config: [],
      memoryCheck: true,
      modelCacheBytes: 20 * 2 ** 30,
      storagePollMs: 30_000,
      modelMemoryBytes: 0,
      modelControl: "poll",
      loadModel: [],
      pollIntervalMs: 1_000,
      loadThreads: 4,
      loadTimeoutMs: 600_000,
      loadRetries: 5,
      loadRetryMs: 60_000,
      strictReadiness: false,
      failFast: false,
      allowLabelsForUnavailable: false,
      maxConnections: 16384,
      listeners: 1,
      clientKey: "address",
      clientRate: 0,
      clientBurst: undefined,
      clientMaxInFlight: 0,
      trustedProxies: [],
      maxQueue: 1024,
      poisonRequests: 64,
      maxQueueBytes: 536870912,
      requestLog: undefined,
      requestLogFiles: 8,
      requestLogMaxSize: 128 * 1024 * 1024,
      requestLogRate: 1,
      requestTimeoutMs: 0,
      firstPartTimeoutMs: 0,
      partTimeoutMs: 0,
      sendTimeoutMs: 60_000,
      minClientRate: 1024,
      maxRss: 0,
      shutdownDelayMs: 5_000,
      drainTimeoutMs: 20_000,
      fetchMedia: [],
      logLevel: "info",
      accessLog: false,
      servedProtocols: "all",
      serverTiming: false,
      logFormat: "auto",
      logPath: undefined,
    });
  });

  test("the proxy sends int32 versions to the usual port of this machine, and lets no client choose another", () => {
    expect(proxy([]).settings).toMatchObject({
      grpcAddress: "127.0.0.1:9000",
      versionEncoding: "int32",
      allowProxyHeaders: false,
    });
  });
});

const WITH_ZERO = settingsOf("serve").filter(([, { help }]) => /\b0 (?:disables|=)/.test(help));

test.each(WITH_ZERO.map(([name]) => flagOf(name)))("%s takes the 0 that its help gives a meaning", (flag) => {
  expect(WITH_ZERO.length).toBeGreaterThan(10);
  expect(() => serve([flag, "0"])).not.toThrow();
});

describe("HTTP is on where its port is named", () => {
  test.each([
    ["by a flag", ["--http-port", "8080"], {}, { httpEnable: true, httpPort: 8080 }],
    ["by a variable", [], { KSERVING_HTTP_PORT: "8080" }, { httpEnable: true, httpPort: 8080 }],
    ["but not against a flag", ["--http-port", "8080", "--http-enable=false"], {}, { httpEnable: false }],
    ["but not against a variable", ["--http-port", "8080"], { KSERVING_HTTP_ENABLE: "no" }, { httpEnable: false }],
    ["and not by an empty variable", [], { KSERVING_HTTP_PORT: "" }, { httpEnable: false, httpPort: 9001 }],
  ])("%s", (_, argv, env, expected) => {
    expect(serve(argv, env).settings).toMatchObject(expected);
  });

  test("the setting that switches another one on exists, and the same commands take it", () => {
    for (const setting of Object.values<Setting>(SETTINGS)) {
      if (setting.type !== "boolean" || setting.onWith === undefined) continue;
      expect(SETTINGS[setting.onWith as SettingName].commands).toEqual(expect.arrayContaining([...setting.commands]));
    }
  });
});

describe("flags", () => {
  test("keep the order of drivers and model paths among each other", () => {
    const { listed } = serve(["--driver", "null", "--model-path=a.onnx", "-o", "k=v", "--driver=onnx"]);
    expect(listed).toEqual([
      { flag: "driver", value: "null" },
      { flag: "model-path", value: "a.onnx" },
      { flag: "option", value: "k=v" },
      { flag: "driver", value: "onnx" },
    ]);
  });

  test("are read by their types", () => {
    const { settings } = serve("--port 0 --http-enable --max-message-bytes 1GiB --drain-timeout 0.5".split(" "));
    expect(settings).toMatchObject({ port: 0, httpEnable: true, maxMessageBytes: 2 ** 30, drainTimeoutMs: 500 });
    expect(serve(["--model-memory", "1.5TB"]).settings).toMatchObject({ modelMemoryBytes: 1.5 * 2 ** 40 });
  });

  test("collect every -o, also in its joined and long forms", () => {
    expect(serve(["-o", "a=1", "-ob=2", "--option", "2:c=x=y", "--option=d="]).settings.option).toEqual([
      "a=1",
      "b=2",
      "2:c=x=y",
      "d=",
    ]);
  });

  test("take several of what has no comma in it, also where the flag is repeated", () => {
    const { settings } = serve([
      "--grpc-channel-arguments",
      "grpc.keepalive_time_ms=1000, grpc.keepalive_timeout_ms=1000",
      "--grpc-channel-arguments=grpc.max_concurrent_streams=7",
      "--cors-origin=https://a.example,https://b.example",
      "--trusted-proxies=10.0.0.0/8,::1",
      "--model-path=a,b.onnx",
    ]);
    expect(settings).toMatchObject({
      grpcChannelArguments: [
        "grpc.keepalive_time_ms=1000",
        "grpc.keepalive_timeout_ms=1000",
        "grpc.max_concurrent_streams=7",
      ],
      corsOrigins: ["https://a.example", "https://b.example"],
      trustedProxies: ["10.0.0.0/8", "::1"],
      modelPath: ["a,b.onnx"],
    });
  });

  test("take false for a boolean that the environment switched on", () => {
    expect(serve(["--http-enable=false"], { KSERVING_HTTP_ENABLE: "1" }).settings.httpEnable).toBe(false);
  });
});

describe("the environment", () => {
  test("gives what flags leave out", () => {
    const env = { KSERVING_PORT: "7000", KSERVING_NAME: "faces", KSERVING_HTTP_ENABLE: "true", LOG_PATH: "a.log" };
    expect(serve(["--port", "8000"], env).settings).toMatchObject({
      port: 8000,
      name: "faces",
      httpEnable: true,
      logPath: "a.log",
    });
  });

  test("splits lists of names and paths at commas, options at semicolons, both at line breaks", () => {
    const { settings, listed } = serve([], {
      KSERVING_DRIVER: "onnx, null",
      KSERVING_MODEL_PATH: "a.onnx\n",
      KSERVING_OPTION: "inputs=a:0,b:0;2:device=CPU\nx=y",
    });
    expect(settings.option).toEqual(["inputs=a:0,b:0", "2:device=CPU", "x=y"]);
    expect(listed.slice(0, 3)).toEqual([
      { flag: "model-path", value: "a.onnx" },
      { flag: "driver", value: "onnx" },
      { flag: "driver", value: "null" },
    ]);
  });

  test("gives way to flags, one list at a time", () => {
    const env = { KSERVING_DRIVER: "null,null", KSERVING_MODEL_PATH: "/mnt/models" };
    expect(serve(["--driver", "onnx"], env).listed).toEqual([
      { flag: "driver", value: "onnx" },
      { flag: "model-path", value: "/mnt/models" },
    ]);
  });

  test("prefers the program's own variable to the one that others use too", () => {
    expect(serve([], { LOG_LEVEL: "warn", KSERVING_LOG_LEVEL: "debug" }).settings.logLevel).toBe("debug");
    expect(serve([], { LOG_LEVEL: "warn" }).settings.logLevel).toBe("warn");
  });

  test("has no say where a variable is empty or set by Kubernetes for a service called kserving", () => {
    expect(serve([], { KSERVING_PORT: "tcp://10.0.0.7:9000", KSERVING_HTTP_PORT: "" }).settings).toMatchObject({
      port: 9000,
      httpPort: 9001,
    });
  });

  test("is named in the message when it cannot be read", () => {
    expect(() => serve([], { KSERVING_PORT: "abc" })).toThrow('KSERVING_PORT is "abc"; expected an integer from 0');
    expect(() => serve([], { LOG_LEVEL: "loud" })).toThrow('LOG_LEVEL is "loud"; expected one of trace, debug,');
  });

  test("is read in upper or lower case, as flags are", () => {
    const { settings } = serve(["--log-format", "JSON"], { LOG_LEVEL: "DEBUG", KSERVING_HTTP_ENABLE: "YES" });
    expect(settings).toMatchObject({ logFormat: "json", logLevel: "debug", httpEnable: true });
  });

  test("of the other command is not looked at", () => {
    expect(() => proxy([], { KSERVING_PORT: "abc" })).not.toThrow();
  });
});

test("a time that is longer than every timer is as long as the longest, in seconds", () => {
  expect(serve(["--request-timeout", "2592000"]).settings.requestTimeoutMs).toBe(2_147_483_000);
});

test.each([
  ["[::1]", "::1"],
  ["::", "::"],
  ["localhost", "localhost"],
])("--host %s is the host %s", (text, host) => {
  expect(serve(["--host", text]).settings.host).toBe(host);
});

describe("--grpc-address", () => {
  test.each(["models.internal:9000", "127.0.0.1:1", "[::1]:65535"])("takes %s", (address) => {
    expect(proxy(["--grpc-address", address]).settings.grpcAddress).toBe(address);
  });

  test.each(["nohost", "http://x:1", "x:99999", "x:0", "x:", ":9000", "::1:9000", "unix:/a", ""])(
    "refuses %j with the form that it expects",
    (address) => {
      expect(() => proxy([`--grpc-address=${address}`])).toThrow(
        expect.objectContaining({
          code: "invalid_argument",
          message: `--grpc-address is "${address}"; expected HOST:PORT, for example 127.0.0.1:9000, or grpcs://HOST:PORT for an encrypted connection.`,
        }),
      );
    },
  );
});

describe("what cannot be meant", () => {
  test.each([
    ["an unknown flag", ["--model-pth", "x"], "unknown option '--model-pth' (Did you mean --model-path?)"],
    ["a flag of the other command", ["--grpc-address", "x"], "kserving proxy --grpc-address HOST:PORT"],
    ["a flag without its value", ["--port"], "option '--port <PORT>' argument missing"],
    ["a port that is too large", ["--port", "65536"], '--port is "65536"; expected an integer from 0 to 65535'],
    ["a negative port", ["--port=-1"], '--port is "-1"'],
    ["a size without number", ["--max-message-bytes", "MB"], '--max-message-bytes is "MB"; expected a size'],
    ["a size beyond what gRPC counts", ["--max-message-bytes", "2GiB"], "expected a size from 1 to 2147483647 bytes"],
    ["a memory that is no size", ["--model-memory", "much"], '--model-memory is "much"; expected a size such as 512MB'],
    ["a duration with a foreign unit", ["--drain-timeout", "1m"], "expected a number of seconds"],
    ["a misspelt choice", ["--log-level", "wran"], 'Did you mean "warn"?'],
    ["a boolean that is none", ["--http-enable", "maybe"], '--http-enable is "maybe"; expected true or false.'],
    ["a host with a scheme", ["--host", "http://x"], '--host is "http://x"; expected an IP address or a name'],
    ["a host with a port", ["--host", "localhost:80"], '--host is "localhost:80"'],
    ["a name twice", ["--name", "a", "--name", "b"], '--name is given "a" and "b"; it takes one value, give it once.'],
    ["a port twice", ["--port", "1", "--port=1"], '--port is given "1" twice'],
    ["a boolean twice", ["--http-enable", "--http-enable=false"], '--http-enable is given "true" and "false"'],
    ["an empty text", ["--name="], '--name is ""; expected a text that is not empty.'],
    ["a misspelt command", ["srve"], 'There is no command "srve". Did you mean "serve"?'],
    ["a word behind flags", ["--driver", "null", "proxy"], 'Unexpected argument "proxy"'],
  ])("is refused: %s", (_, argv, message) => {
    expect(() => serve(argv)).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(message) }),
    );
  });
});

test("every flag and variable is named by one rule", () => {
  for (const name of Object.keys(SETTINGS) as SettingName[]) {
    expect(flagOf(name)).toMatch(/^--[a-z]+(-[a-z]+)*$/);
    expect(envOf(name)).toBe(`KSERVING_${flagOf(name).slice(2).toUpperCase().replaceAll("-", "_")}`);
  }
});
