import { expect, onTestFinished, test } from "vitest";
import { createGrpcClient } from "../../../src/client/remote/grpc-client.ts";
import { listRemoteModels } from "../../../src/client/remote/remote-functions.ts";
import { begin, frame, startBackend } from "./hostile-backend.ts";

function list(address: string) {
  const client = createGrpcClient(address, { maxMessageBytes: 2 ** 28 });
  onTestFinished(() => client.close());
  return listRemoteModels(client, { id: "1", metadata: {}, signal: new AbortController().signal }, undefined);
}

test("more than a server can have to tell of its models is refused", async () => {
  // Models without a name: an empty message each.
  const { address } = await startBackend((stream) => {
    begin(stream);
    stream.end(frame(Buffer.from("0a00".repeat(2_500_000), "hex")));
  });
  await expect(list(address)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("5000000 bytes"),
  });
});
