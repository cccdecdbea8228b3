import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, connect, Server, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { isPausedByHttp, onAccepted, receiveInto } from "../../../src/platform/net/node-members.ts";

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

describe("what a socket receives", () => {
  /** Both ends of a connection. */
  async function open() {
    const { server, dial } = await listen();
    const accepted = once(server, "connection");
    const client = dial();
    const [socket] = (await accepted) as [Socket];
    onTestFinished(() => void socket.destroy());
    return { socket, client };
  }

  it("is written where it is wanted, up to its end", async () => {
    const sent = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));
    const received = Buffer.alloc(sent.length + 1);
    const { socket, client } = await open();
    let length = 0;
    const receiver = {
      // A different size each time, as any buffer may be smaller than what arrives.
      writeBuffer: () => received.subarray(length, length + 1 + (length % 7000)),
      commit: (bytes: number) => {
        length += bytes;
      },
    };
    expect(receiveInto(socket, receiver)).toBe(true);
    socket.resume();
    client.end(sent);
    await once(socket, "end");
    expect(length).toBe(sent.length);
    expect(sent.compare(received, 0, length)).toBe(0);
  });

  it("is left to Node if the socket is destroyed, or has no place", async () => {
    const { socket } = await open();
    socket.destroy();
    await once(socket, "close");
    const receiver = { writeBuffer: () => expect.unreachable(), commit: () => expect.unreachable() };
    expect(receiveInto(socket, receiver)).toBe(false);
    expect(receiveInto(PLAIN, receiver)).toBe(false);
  });
});
