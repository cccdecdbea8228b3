import { expect, test } from "vitest";
import { OpenStreams } from "../../src/pipeline/bound-stage.ts";
import { type RemoteCall, remoteHandle } from "../../src/pipeline/remote.ts";

test("a hook says by what it is known elsewhere, and its client's Authorization goes nowhere", async () => {
  const calls: RemoteCall[] = [];
  const client = {
    predict: async (_: string, call: RemoteCall) => {
      calls.push(call);
      return {};
    },
    stream: async function* (_: string, call: RemoteCall) {
      calls.push(call);
      yield {};
    },
    close: async () => {},
  };
  const caller = { id: "1", metadata: { authorization: "Bearer client" }, signal: new AbortController().signal };
  const remote = remoteHandle(client, "models:9000", { caller, streams: new OpenStreams() });
  await remote.predict({});
  await remote.predict({}, { authorization: "Bearer hook" });
  for await (const _ of remote.stream({}));
  for await (const _ of remote.stream({}, { authorization: "Bearer hook" }));
  const given = calls.map(({ call }) => call.metadata.authorization);
  expect(given).toEqual([undefined, "Bearer hook", undefined, "Bearer hook"]);
});
