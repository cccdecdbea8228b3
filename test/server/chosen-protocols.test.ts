import { describe, expect, it, onTestFinished } from "vitest";
import { createGrpcClient } from "../../src/client/remote/grpc-client.ts";
import { listRemoteModels } from "../../src/client/remote/remote-functions.ts";
import { OPTIONAL_PROTOCOLS } from "../../src/platform/limits/settings/protocol-settings.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import { connectKserve } from "../helpers/kserve-grpc.ts";
import { shareServer, startServer } from "../helpers/start-server.ts";

const POSTS = {
  openai: "/v1/chat/completions",
  ollama: "/api/chat",
  anthropic: "/v1/messages",
  kserve: "/v2/models/m/infer",
  "tensorflow-serving": "/v1/models/m:predict",
  kibernetika: "/predict/m",
  sagemaker: "/invocations",
} as const;

const models = { m: { driver: "null" } };

async function send(url: string, path: string, method = "POST") {
  const answer = await fetch(url + path, { method, ...(method === "POST" && { body: "{}" }) });
  return [answer.status, await answer.text()] as const;
}

const isOff = (name: string) => [404, expect.stringContaining(`The protocol ${name} is not served here (--protocols)`)];

it("has a name for each protocol that may be left out", () => {
  const names = PROTOCOLS.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([...OPTIONAL_PROTOCOLS]));
});

describe("protocols that a setting names", () => {
  const serve = shareServer(() => ({ models, servedProtocols: "openai,tensorflow-serving" }));

  it("are served, and all others say so", async () => {
    const { httpUrl } = await serve();
    for (const [name, path] of Object.entries(POSTS)) {
      const answer = await send(httpUrl, path);
      if (name === "openai" || name === "tensorflow-serving") expect(answer).not.toEqual(isOff(name));
      else expect(answer).toEqual(isOff(name));
    }
    expect(await send(httpUrl, "/api/tags", "GET")).toEqual(isOff("ollama"));
    expect(await send(httpUrl, "/v1/messages", "GET")).toEqual(isOff("anthropic"));
    expect((await send(httpUrl, "/v1/models/m", "GET"))[0]).toBe(200);
    expect((await send(httpUrl, "/health", "GET"))[0]).toBe(200);
  });

  it("have no methods over gRPC otherwise", async () => {
    const grpc = connectKserve((await serve()).grpcAddress as never);
    await expect(grpc("ServerLive", {})).rejects.toMatchObject({ code: 12 });
  });
});

it.each(["openai", "-tensorflow-serving"])(
  "tells any client of a model in OpenAI's form: %s",
  async (servedProtocols) => {
    const { httpUrl } = await startServer({ models, servedProtocols });
    const [status, text] = await send(httpUrl, "/v1/models/m", "GET");
    expect([status, JSON.parse(text)]).toMatchObject([200, { id: "m", object: "model" }]);
  },
);

it("leaves out those behind a -, in the form of their clients' errors", async () => {
  const { httpUrl } = await startServer({ models, servedProtocols: "-openai,-ollama" });
  const [status, text] = await send(httpUrl, "/v1/embeddings");
  expect([status, JSON.parse(text)]).toMatchObject([404, { error: { type: "not_found_error" } }]);
  expect(await send(httpUrl, "/api/chat")).toEqual(isOff("ollama"));
  expect(await send(httpUrl, "/v1/messages")).not.toEqual(isOff("anthropic"));
});

it("leaves out the functions, for proxies too", async () => {
  const list = async (servedProtocols: string) => {
    const { grpcAddress } = await startServer({ models, servedProtocols });
    const client = createGrpcClient(grpcAddress, { maxMessageBytes: 2 ** 20 });
    onTestFinished(() => client.close());
    return listRemoteModels(client, { id: "1", metadata: {}, signal: new AbortController().signal }, undefined);
  };
  expect(await list("-functions")).toBe(undefined);
  expect(await list("all")).toMatchObject([{ model: "m" }]);
});

it.each(["openai,-ollama", "grpc", "", "openai,"])("refuses %j", async (servedProtocols) => {
  await expect(startServer({ models, servedProtocols })).rejects.toThrow("expected all, or names separated by commas");
});
