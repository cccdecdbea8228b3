import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { FrameOutput, makeFrame, uint32s } from "../../src/http2/frame-output.ts";
import { FRAME } from "../../src/http2/protocol.ts";
import { listenOnFreePort } from "./listen-on-free-port.ts";

/** Both ends of a connection. */
async function openPair(): Promise<{ sender: Socket; receiver: Socket }> {
  const server = createServer();
  const receiver = connect(await listenOnFreePort(server), "127.0.0.1");
  const [sender] = (await once(server, "connection")) as [Socket];
  onTestFinished(() => {
    for (const end of [sender, receiver]) end.destroy();
    server.close();
  });
  return { sender, receiver };
}

async function readBytes(socket: Socket, length: number): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    bytes = Buffer.concat([bytes, piece as Buffer]);
    if (bytes.length >= length) break;
  }
  return bytes;
}

it("writes heads, small and large things in their order", async () => {
  const { sender, receiver } = await openPair();
  const output = new FrameOutput();
  const large = Buffer.alloc(100_000, "l");
  output.copy(makeFrame(FRAME.reset, 0, 5, uint32s(8)));
  output.head(3, FRAME.data, 1, 2 ** 31 - 1);
  output.borrow(Buffer.from("small"), 0, 3);
  output.head(90_000, FRAME.data, 0, 7);
  output.borrow(large, 10_000, 100_000);
  output.copy(Buffer.alloc(70_000, "c"));
  const expected = Buffer.concat([
    Buffer.from([0, 0, 4, 3, 0, 0, 0, 0, 5, 0, 0, 0, 8]),
    Buffer.from([0, 0, 3, 0, 1, 0x7f, 255, 255, 255]),
    Buffer.from("sma"),
    Buffer.from([1, 0x5f, 0x90, 0, 0, 0, 0, 0, 7]),
    large.subarray(10_000),
    Buffer.alloc(70_000, "c"),
  ]);
  expect(output.bytes).toBe(expected.length);
  const written = new Promise<void>((resolve) => output.writeTo(sender, resolve));
  expect((await readBytes(receiver, expected.length)).equals(expected)).toBe(true);
  await written;
  expect(output.bytes).toBe(0);
});

it("does not touch bytes that a socket has not sent", async () => {
  const { sender, receiver } = await openPair();
  const output = new FrameOutput();
  // The receiver reads nothing yet, so that the system takes only some of it.
  const texts = Array.from({ length: 2000 }, (_, index) => `${index}`.padEnd(6000, "."));
  const results = texts.map((text) => {
    for (let at = 0; at < text.length; at += 1000) output.copy(Buffer.from(text.slice(at, at + 1000)));
    return output.writeTo(sender, () => {});
  });
  expect(results[0]).toBe(true);
  expect(results.at(-1)).toBe(false);
  const expected = texts.join("");
  expect((await readBytes(receiver, expected.length)).toString()).toBe(expected);
});

it("keeps no more memory for a socket that is full than its bytes", async () => {
  const { sender } = await openPair();
  const output = new FrameOutput();
  const large = Buffer.alloc(1_000_000);
  while (sender.writableLength === 0) {
    output.borrow(large, 0, large.length);
    output.writeTo(sender, () => {});
  }
  const write = vi.spyOn(sender, "write");
  output.copy(Buffer.from("small"));
  output.writeTo(sender, () => {});
  const [piece] = write.mock.calls[0] as unknown as [Buffer];
  expect([piece.toString(), piece.buffer.byteLength]).toEqual(["small", 5]);
});
