import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import type { ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect, Server, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, test } from "vitest";
import {
  hasReceivePlace,
  idleDescriptorOf,
  isPausedByHttp,
  onAccepted,
  readSwitchOf,
  receiveInto,
} from "../../../src/platform/net/node-members.ts";
import { openStream } from "../../grpc/open-stream.ts";

/** A socket without any member that Node does not document. */
const PLAIN = {} as Socket;

async function listen(): Promise<{ server: Server; dial: () => Socket }> {
  const server = new Server();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const dial = () => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return { server, dial };
}

test("no other file of src/ uses such members", () => {
  const members =
    /\b_handle\b|\b_parent(?:Wrap)?\b|\bonconnection\b|\buseUserBuffer\b|\bkHandle\b|\bkBuffer|\._paused\b|\b_(?:readable|writable)State\b/;
  const files = readdirSync("src", { recursive: true }).map((name) => join("src", String(name)));
  const users = files.filter((file) => /\.tsx?$/.test(file) && members.test(readFileSync(file, "utf8")));
  expect(users).toEqual([join("src", "platform", "net", "node-members.ts")]);
});

describe("the reading of a session's socket", () => {
  it("is stopped and started by its switch", async () => {
    const { stream, request } = await openStream();
    const { socket } = stream.session!;
    const reading = readSwitchOf(socket)!;
    reading.readStop();
    request.end(Buffer.alloc(1000));
    const ended = once(stream.resume(), "end");
    reading.readStart();
    await ended;
  });

  it("has no switch where Node has none", () => {
    expect(readSwitchOf(PLAIN)).toBeUndefined();
    expect(readSwitchOf({ _handle: null } as unknown as Socket)).toBeUndefined();
  });
});

describe("the descriptor of a connection", () => {
  it.skipIf(process.platform === "win32")("is known while nothing waits to be sent", async () => {
    const { stream } = await openStream();
    expect(idleDescriptorOf(stream.session!.socket)).toBeGreaterThan(2);
  });

  it("is not known where something does, nor where Node does not tell", () => {
    expect(idleDescriptorOf({ _handle: { fd: 20, writeQueueSize: 1 } } as unknown as Socket)).toBeUndefined();
    expect(idleDescriptorOf({ _handle: { fd: 20 } } as unknown as Socket)).toBeUndefined();
    expect(idleDescriptorOf(PLAIN)).toBeUndefined();
  });
});

describe("a connection that the system has accepted", () => {
  it("gets its socket when it is asked for, or is closed", async () => {
    const { server, dial } = await listen();
    const opened: Socket[] = [];
    server.on("connection", (socket) => opened.push(socket.unref()));
    let isRefused = true;
    const isReplaced = onAccepted(server, (connection) => {
      if (isRefused) connection.close();
      else connection.createSocket();
    });
    expect(isReplaced).toBe(true);
    await once(dial(), "close");
    expect(opened).toEqual([]);
    isRefused = false;
    dial();
    await expect.poll(() => opened.length).toBe(1);
  });

  it("gets its socket at once where Node leaves no choice", () => {
    expect(onAccepted(new Server(), () => expect.unreachable())).toBe(false);
    expect(onAccepted({ _handle: {} } as unknown as Server, () => expect.unreachable())).toBe(false);
  });
});

test("a socket that node:http has paused is known, and none is where Node does not tell", () => {
  expect(isPausedByHttp({ _paused: true } as unknown as Socket)).toBe(true);
  expect(isPausedByHttp(PLAIN)).toBe(false);
});

describe("what a stream receives", () => {
  it("has a place in the Node.js that runs", () => {
    expect(hasReceivePlace()).toBe(true);
  });

  it("is written where it is wanted, up to its end", async () => {
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

  it("is left to Node where the stream is destroyed, or has no place", async () => {
    const { stream } = await openStream();
    stream.destroy();
    await once(stream, "close");
    const receiver = { writeBuffer: () => expect.unreachable(), commit: () => expect.unreachable() };
    expect(receiveInto(stream, receiver)).toBe(false);
    expect(receiveInto({} as ServerHttp2Stream, receiver)).toBe(false);
  });
});
