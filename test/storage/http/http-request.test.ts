import { EventEmitter, once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { readBody } from "../../../src/storage/http/answers.ts";
import { httpRequest } from "../../../src/storage/http/http-request.ts";
import { startWeb } from "../start-web.ts";

const { signal } = new AbortController();

test("a connection that the server has ended between two requests is made again", async () => {
  const sockets = new Set<Socket>();
  const url = new URL(
    await startWeb(({ socket }, response) => {
      const isSecond = sockets.has(socket);
      sockets.add(socket);
      if (isSecond) socket.resetAndDestroy();
      else response.end("answer");
    }),
  );
  for (const _ of [1, 2, 3]) expect(await readBody(await httpRequest(url, { signal }))).toBe("answer");
  expect(sockets.size).toBe(3);
});

test("a connection that was used before and is reset amid an answer fails its body, and nothing is asked again", async () => {
  let requests = 0;
  const url = new URL(
    await startWeb((_, response) => {
      if (++requests === 1) return response.end("answer");
      response.writeHead(200, { "content-length": 10 });
      return response.write("cut", () => setTimeout(() => response.socket?.resetAndDestroy(), 20));
    }),
  );
  await readBody(await httpRequest(url, { signal }));
  const response = await httpRequest(url, { signal });
  await expect(readBody(response)).rejects.toThrow("the server's answer is not complete");
  await wait(50);
  expect(requests).toBe(2);
});

test("a server that never answers is given up after half a minute", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const asked = new EventEmitter();
  const url = new URL(await startWeb(() => asked.emit("request")));
  const came = once(asked, "request");
  const failed = expect(httpRequest(url, { signal })).rejects.toThrow(
    /127\.0\.0\.1:\d+ cannot be reached: no answer within 30 s\. Check the address and the network/,
  );
  await came;
  vi.advanceTimersByTime(30_000);
  await failed;
});

test("a body that comes a byte at a time is given up", async () => {
  const url = new URL(
    await startWeb((_, response) => {
      response.writeHead(200, { "content-length": 10_000 });
      const sending = setInterval(() => response.write("a"), 20);
      response.once("close", () => clearInterval(sending));
    }),
  );
  const response = await httpRequest(url, { signal, idleMs: 300 });
  await expect(readBody(response)).rejects.toThrow(
    /^the server's answer is not complete: less than 1024 bytes per second came for 0\.3 s/,
  );
});
