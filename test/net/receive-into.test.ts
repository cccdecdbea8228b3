import { once } from "node:events";
import { expect, it } from "vitest";
import { hasReceivePlace, receiveInto } from "../../src/net/receive-into.ts";
import { openStream } from "../grpc/open-stream.ts";

it("finds its place in the Node.js that runs", () => {
  expect(hasReceivePlace()).toBe(true);
});

it("lets Node write what a stream receives where it is wanted, up to its end", async () => {
  const sent = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));
  const received = Buffer.alloc(sent.length + 1);
  const { stream, request } = await openStream();
  let length = 0;
  const receiver = {
    // A different size each time, as any buffer may be smaller than what arrives.
    writeBuffer: () => received.subarray(length, length + 1 + (length % 7000)),
    commit: (bytes: number) => {
      length += bytes;
    },
  };
  expect(receiveInto(stream, receiver)).toBe(true);
  stream.resume();
  request.end(sent);
  await once(stream, "end");
  expect(length).toBe(sent.length);
  expect(sent.compare(received, 0, length)).toBe(0);
});

it("leaves a stream alone that is destroyed", async () => {
  const { stream } = await openStream();
  stream.destroy();
  await once(stream, "close");
  const receiver = { writeBuffer: () => expect.unreachable(), commit: () => expect.unreachable() };
  expect(receiveInto(stream, receiver)).toBe(false);
});
