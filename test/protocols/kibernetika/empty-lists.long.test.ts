import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { createRemoteService } from "../../../src/client/remote/remote-service.ts";
import { createServer, type Server } from "../../../src/server/server.ts";

/** Three million lists, for which V8 once collected garbage for minutes. */
const LISTS = Buffer.from(`[${"[],".repeat(3_000_000)}[]]`);

const overHttp = async ({ httpUrl }: Server) => {
  const headers = { "content-encoding": "gzip" };
  const answer = await fetch(`${httpUrl}/serving-proxy`, { method: "POST", body: gzipSync(LISTS), headers });
  expect(answer.status).toBe(400);
};

const overGrpc = async ({ grpcAddress }: Server) => {
  const remote = createRemoteService(grpcAddress, {});
  onTestFinished(() => remote.close());
  const inputs = { kind: "json", json: LISTS } as const;
  const signal = new AbortController().signal;
  const answer = remote.infer({ ref: { model: "" }, signature: "", inputs, call: { id: "1", metadata: {}, signal } });
  await expect(answer).rejects.toMatchObject({ code: "invalid_argument" });
};

test.each([
  ["HTTP", overHttp],
  ["gRPC", overGrpc],
])("millions of empty lists over %s are refused, and others served meanwhile", async (_, sendLists) => {
  const server = await createServer({ stages: [{ driver: "null" }], port: 0, http: { port: 0 } });
  onTestFinished(() => server.close());
  const answered: string[] = [];
  const lists = sendLists(server).then(() => answered.push("lists"));
  for (let others = 0; others < 10; others++) {
    const url = `${server.httpUrl}/v1/models/default:predict`;
    expect((await fetch(url, { method: "POST", body: '{"instances":[1]}' })).status).toBe(200);
    answered.push("other");
  }
  await lists;
  expect(answered.at(-1)).toBe("lists");
});
