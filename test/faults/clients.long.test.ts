import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { withGrpcPrefix } from "../../bench/load/grpc-connection.ts";
import { PREDICT_PATH } from "../../src/protocols/tensorflow-serving/grpc-service.ts";
import { ByteClient } from "../grpc/byte-client.ts";
import { type FaultServer, openGrpc, predictMessage, startCall, startFaultServer } from "./fault-server.ts";

const MEGABYTE = 1024 * 1024;
/** The default of --max-message-bytes. */
const LIMIT_BYTES = 256 * MEGABYTE;
const REST_PATH = "/v1/models/default:predict";

let server: FaultServer;
beforeAll(async () => {
  server = await startFaultServer();
});
afterAll(() => server.stop());

/** An HTTP connection on which any bytes may go; it is cut when the test ends. */
async function openHttp(text: string, port = server.httpPort): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

function postHead(length: number): string {
  return `POST ${REST_PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
}

describe("a client that disconnects", () => {
  test("in the middle of its body affects no other client", async () => {
    for (let time = 0; time < 20; time++) {
      const session = openGrpc(server.grpcPort);
      const call = startCall(session);
      await new Promise((resolve) => call.write(withGrpcPrefix(predictMessage(10_000)).subarray(0, 20_000), resolve));
      session.destroy();
      const socket = await openHttp(`${postHead(10_000)}{"instances":[1,`);
      socket.destroy();
    }
    await server.answersNext();
  });

  test("in the middle of its answer affects no other client", async () => {
    for (let time = 0; time < 5; time++) {
      const session = openGrpc(server.grpcPort);
      const call = startCall(session);
      call.end(withGrpcPrefix(predictMessage(2_000_000)));
      await once(call, "data");
      session.destroy();
      const body = JSON.stringify({ instances: Array.from({ length: 500_000 }, (_, index) => index + 0.5) });
      const socket = await openHttp(postHead(body.length) + body);
      await once(socket, "data");
      socket.destroy();
    }
    await server.answersNext();
  });
});

test("clients that connect and send nothing, or half a request, delay no others", async () => {
  await openHttp("", server.grpcPort);
  await openHttp("PRI * HTTP/2.0\r\n", server.grpcPort);
  await openHttp("");
  await openHttp("POST / HTTP/1.1\r\nhost");
  await openHttp(postHead(100));
  startCall(openGrpc(server.grpcPort)).write(withGrpcPrefix(predictMessage(100)).subarray(0, 50));
  await server.answersNext();
});

describe("2000 connections at once", () => {
  const COUNT = 2000;

  test.skipIf(openFilesLimit() < COUNT + 100)(
    "are taken on each wire, and given back when they close (needs a limit of open files above 2100)",
    async () => {
      const before = openFiles();
      for (const port of [server.grpcPort, server.httpPort]) {
        const sockets: Socket[] = [];
        while (sockets.length < COUNT) {
          // As many as wait at the door of a server that lets them in one by one; the system drops what is above.
          sockets.push(...(await Promise.all(Array.from({ length: 250 }, () => openHttp("", port)))));
          // Some of the files of earlier tests close meanwhile.
          await until(() => openFiles() >= before + sockets.length - 50);
        }
        await server.answersNext();
        for (const socket of sockets) socket.destroy();
        await until(() => openFiles() < before + 50);
      }
      await server.answersNext();
    },
  );

  /** Those of the process that serves, which a supervisor has started. */
  function openFiles(): number {
    const serving = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8").trim().split(" ")[0];
    return readdirSync(`/proc/${serving}/fd`).length;
  }
});

function openFilesLimit(): number {
  return Number(/^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]);
}

/** Waits for what another process does without a report. */
async function until(condition: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 30_000; !condition(); ) {
    if (Date.now() > deadline) throw new Error(`not within 30 s: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe("a message of 256 MB", () => {
  test("is answered over gRPC when it is just below the limit, and refused when it is just above", async () => {
    const client = new ByteClient(`127.0.0.1:${server.grpcPort}`);
    onTestFinished(() => client.close());
    const below = predictMessage(LIMIT_BYTES / 4 - 100);
    expect(below.length).toBeGreaterThan(LIMIT_BYTES - 1000);
    expect((await client.call(PREDICT_PATH, below)).bytes.length).toBeGreaterThan(LIMIT_BYTES - 1000);
    const above = predictMessage(LIMIT_BYTES / 4 + 1);
    await expect(client.call(PREDICT_PATH, above)).rejects.toMatchObject({ code: 8 });
    await server.answersNext();
  });

  test("is refused over HTTP when it is just above the limit, and judged by its content when it is just below", async () => {
    const url = `http://127.0.0.1:${server.httpPort}${REST_PATH}`;
    const post = (bytes: number) => fetch(url, { method: "POST", body: Buffer.alloc(bytes, "[") });
    expect((await post(LIMIT_BYTES + 1)).status).toBe(413);
    expect((await post(LIMIT_BYTES - 1)).status).toBe(400);
    await server.answersNext();
  });
});

describe("a client that never reads its answers", () => {
  const COUNT = 1000;
  const FLOATS = 150_528;

  test("over gRPC, with windows of no size, does not fill the server's memory", async () => {
    const tight = await startFaultServer(["--max-queue-bytes", "64MB"]);
    onTestFinished(() => tight.kill());
    const session = openGrpc(tight.grpcPort, { initialWindowSize: 0 });
    const message = withGrpcPrefix(predictMessage(FLOATS));
    const before = tight.memoryMb();
    await sendWhole(startCall(session), message);
    // More than that wait here, at the client.
    const open = Math.min(COUNT, session.remoteSettings.maxConcurrentStreams ?? COUNT);
    for (let sent = 1; sent < open && !session.destroyed; sent++) await sendWhole(startCall(session), message);
    expect(tight.memoryMb() - before).toBeLessThan(500);
    await tight.answersNext();
  });

  test("over HTTP, one request after the other, does not fill the server's memory", async () => {
    const tight = await startFaultServer(["--max-queue-bytes", "64MB"]);
    onTestFinished(() => tight.kill());
    const before = tight.memoryMb();
    const body = JSON.stringify({ instances: Array.from({ length: 60_000 }, (_, index) => index + 0.5) });
    const socket = await openHttp("", tight.httpPort);
    socket.pause();
    const request = Buffer.from(postHead(body.length) + body);
    for (let sent = 0; sent < COUNT; sent++) socket.write(request);
    await standsStill(() => socket.bytesWritten - socket.writableLength);
    expect(tight.memoryMb() - before).toBeLessThan(300);
    await tight.answersNext();
  });

  /** Resolves once the server has taken the message, or will not take more. */
  function sendWhole(call: ReturnType<typeof startCall>, message: Buffer): Promise<void> {
    return new Promise((resolve) => {
      call.end(message, () => resolve());
      call.once("close", () => resolve());
      call.once("response", () => resolve());
    });
  }

  /** Resolves once a number has not changed for a second. */
  async function standsStill(number: () => number): Promise<void> {
    for (let last = -1; last !== number(); ) {
      last = number();
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
});
