import { Client, credentials } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { Heartbeat, SILENCE_TIMES } from "../../../src/client/remote/heartbeat.ts";

test("a client that was closed while a call of it goes on is asked no more, and ends nothing", () => {
  const client = new Client("127.0.0.1:1", credentials.createInsecure());
  const heartbeat = new Heartbeat(client, SILENCE_TIMES);
  client.close();
  // grpc-js throws here, which a timer would pass on to the process.
  expect(() => heartbeat.ask()).not.toThrow();
});
