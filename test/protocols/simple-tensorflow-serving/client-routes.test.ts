import { connect } from "node:net";
import { describe, expect, it, test } from "vitest";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { plainJsonText } from "../../../src/protocols/simple-tensorflow-serving/simple-tensorflow-serving.ts";
import { PYTHON } from "../../helpers/missing-python.ts";
import { startServer } from "../../helpers/start-server.ts";
import { AWKWARD_ANSWER, AWKWARD_NAMES, clientUrl, runClient, startAwkwardServer } from "./awkward-names.ts";

const MODEL = (name: string) => `test/fixtures/models/${name}.onnx`;

async function read(url: string) {
  const answer = await fetch(url);
  return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
}

describe("GET /v1/models/NAME/gen_json", () => {
  it("has a value for each input: ones, true and empty texts, two of them in every open dimension", async () => {
    const { httpUrl } = await startAwkwardServer();
    for (const url of [`${httpUrl}/v1/models/default/gen_json`, clientUrl(httpUrl, "default", "json")]) {
      const { status, type, text } = await read(url);
      expect([status, type]).toEqual([200, "application/json"]);
      expect(JSON.stringify(JSON.parse(text).data)).toBe(AWKWARD_ANSWER);
    }
  });

  it("is refused for inputs that are not known, or too large, and for an unknown model", async () => {
    const inputs = [{ name: "x", dtype: "float32", shape: [1000, -1, 1000] }] as const;
    const models = {
      any: { driver: "null" },
      large: { stages: [{ driver: "null" }], hooks: defineHooks({ inputs, preprocess: (values) => values }) },
    };
    const { httpUrl } = await startServer({ models });
    const ask = async (name: string) => {
      const { status, text } = await read(`${httpUrl}/v1/models/${name}/gen_json`);
      return [status, JSON.parse(text).error];
    };
    expect(await ask("any")).toEqual([400, expect.stringContaining("does not say which inputs it takes")]);
    expect(await ask("large")).toEqual([400, expect.stringContaining("would have 2000000 values; at most 1000000")]);
    expect(await ask("none")).toEqual([404, expect.stringContaining("none")]);
  });
});

describe("GET /v1/models/NAME/gen_client", () => {
  it("is a program for bash unless another language is named, and refuses one that there is not", async () => {
    const { httpUrl } = await startServer({ models: { half: { driver: "onnx", path: MODEL("half-plus-two") } } });
    const url = `${httpUrl}/v1/models/half/gen_client`;
    const { type, text } = await read(url);
    expect([type, text]).toEqual(["text/plain; charset=utf-8", expect.stringMatching(/^#!\/bin\/bash\n/)]);
    expect(text).toContain(`'${httpUrl}/'`);
    expect(text).toContain('{"model_name": "half", "data": {"x": [1.0, 1.0]}}');
    const refused = await read(`${url}?language=perl`);
    expect([refused.status, JSON.parse(refused.text).error]).toEqual([
      400,
      'The language is "perl"; expected bash, python, golang, javascript, typescript, java, json.',
    ]);
  });

  it.each([
    ["models.example:8500", "http://models.example:8500/"],
    ["[::1]:8500", "http://[::1]:8500/"],
    ["x';touch${IFS}run;'", undefined],
    ["x\\", undefined],
    ['a"b', undefined],
  ])("has the address that the request was for: Host %s", async (host, expected) => {
    const { httpUrl } = await startServer({ models: { half: { driver: "onnx", path: MODEL("half-plus-two") } } });
    const { hostname, port } = new URL(httpUrl);
    const socket = connect(Number(port), hostname);
    socket.end(`GET /v1/models/half/gen_client HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    let text = "";
    for await (const chunk of socket.setEncoding("utf8")) text += chunk;
    // A Host that is none may be refused before.
    if (/^HTTP\/1.1 400/.test(text)) expect(expected).toBeUndefined();
    else expect(text).toContain(`--data-binary @- '${expected ?? `${httpUrl.replace("localhost", "127.0.0.1")}/`}'`);
  });
});

test.each([
  ["a proxy that is trusted", ["127.0.0.1", "::1"], "https"],
  ["anyone else", [], "http"],
  ["anyone else beside a trusted proxy", ["10.0.0.1"], "http"],
])("X-Forwarded-Proto of %s decides about a program's address: %j", async (_, trustedProxies, scheme) => {
  const models = { half: { driver: "onnx", path: MODEL("half-plus-two") } };
  const { httpUrl } = await startServer({ models, trustedProxies });
  const headers = { "x-forwarded-proto": "https" };
  const answer = await fetch(`${httpUrl}/v1/models/half/gen_client`, { headers });
  expect(await answer.text()).toContain(`'${scheme}://${new URL(httpUrl).host}/'`);
});

test("a plain JSON text is the text, of characters that have no meaning in any language", () => {
  const units = Array.from({ length: 0x500 }, (_, unit) => String.fromCharCode(unit)).join("");
  for (const text of [...AWKWARD_NAMES, units, "\ud800", "😀", "\u2028"]) {
    const json = plainJsonText(text);
    expect(JSON.parse(json)).toBe(text);
    expect(json).toMatch(/^"(?:[A-Za-z0-9 ._-]|\\u[0-9a-f]{4})*"$/);
  }
});

const TOOLS = {
  bash: ["client.sh", ["bash", "client.sh"]],
  javascript: ["client.js", [process.execPath, "client.js"]],
  python: ["client.py", [PYTHON, "client.py"]],
} as const;

test.each(Object.entries(TOOLS))(
  "a generated program in %s runs, whatever the names of models and inputs are",
  async (language, [file, command]) => {
    const { httpUrl } = await startAwkwardServer();
    for (const name of ["it's", "REQUEST\n$(touch run)\nREQUEST\n", "__proto__"]) {
      expect(await runClient(clientUrl(httpUrl, name, language), file, command)).toBe(AWKWARD_ANSWER);
    }
  },
);
