import { MessageChannel } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import { toHostPort } from "../../../src/platform/threads/host-port.ts";
import { Responder, type ResponderOptions } from "../../../src/platform/threads/responder.ts";
import { FIRST_REQUEST, RpcClient } from "../../../src/platform/threads/rpc-client.ts";
import { createTensor, createTensors } from "../../../src/tensor/tensor.ts";
import { NOTHING } from "./plain-record.ts";

const kind = FIRST_REQUEST;

/** An client whose requests `answer` answers. */
function ask(answer: ResponderOptions["answer"]) {
  const { port1, port2 } = new MessageChannel();
  const client = new RpcClient(toHostPort(port1), "the other side");
  const responder = new Responder(toHostPort(port2), { answer });
  onTestFinished(() => client.close());
  return { client, responder };
}

const number = (x: number) => createTensors([["x", createTensor("int32", [], Int32Array.of(x))]]);

describe("a request", () => {
  test("gets its own answer, whatever the order of the answers", async () => {
    const first = createDeferred<void>();
    const { client } = ask(async ({ meta, tensors = {} }) => {
      if (meta === 0) await first.promise;
      else first.resolve();
      return { meta, tensors };
    });
    const answers = await Promise.all(
      [0, 1].map((meta) => client.ask({ ...NOTHING, kind, meta, tensors: number(meta) })),
    );
    expect(answers).toEqual([0, 1].map((meta) => ({ meta, tensors: number(meta) })));
    expect(client.pending).toBe(0);
  });

  test("rejects with the code, message and cause of what the answerer threw", async () => {
    const { client } = ask(async () => {
      throw new ServingError("not_found", "no such face", { cause: new Error("list is empty") });
    });
    await expect(client.ask({ ...NOTHING, kind })).rejects.toMatchObject({
      code: "not_found",
      message: "no such face",
      cause: { message: "list is empty" },
    });
  });

  test("that takes no parts, and gets one, ends the connection", async () => {
    const { port1, port2 } = new MessageChannel();
    const client = new RpcClient(toHostPort(port1), "the other side");
    const responder: Responder = new Responder(toHostPort(port2), {
      answer: async ({ id }) => {
        await responder.openParts(id).write({ meta: undefined, tensors: number(1) }, 4);
        return NOTHING;
      },
    });
    const malformed = new Promise<Error>((resolve) => client.onMalformed(resolve));
    await expect(client.ask({ ...NOTHING, kind })).rejects.toMatchObject({ code: "unavailable" });
    expect((await malformed).message).toBe("it sends a part to request 1, which does not take any");
  });

  test("gets its parts before its answer, and none once it is cancelled", async () => {
    const room = createDeferred<void>();
    const { port1, port2 } = new MessageChannel();
    const client = new RpcClient(toHostPort(port1), "the other side");
    onTestFinished(() => client.close());
    const responder: Responder = new Responder(toHostPort(port2), {
      answer: async ({ id }) => {
        const { write, close } = responder.openParts(id);
        await write({ meta: 1, tensors: undefined }, 0);
        await write({ meta: 2, tensors: undefined }, 0);
        await room.promise;
        await write({ meta: 3, tensors: undefined }, 0);
        close();
        return { meta: "end", tensors: undefined };
      },
    });
    const seen: unknown[] = [];
    const later: unknown[] = [];
    const first = client.ask({ ...NOTHING, kind }, undefined, false, { take: ({ meta }) => void seen.push(meta) });
    const abort = new AbortController();
    const second = client.ask({ ...NOTHING, kind }, abort.signal, false, { take: ({ meta }) => void later.push(meta) });
    await expect.poll(() => later.length).toBe(2);
    abort.abort();
    await expect(second).rejects.toThrow();
    room.resolve();
    expect((await first).meta).toBe("end");
    expect([seen, later]).toEqual([
      [1, 2, 3],
      [1, 2],
    ]);
    await expect.poll(() => client.pending).toBe(0);
  });

  test("that cannot be written rejects, and nothing stays behind", async () => {
    const { client } = ask(async () => NOTHING);
    const tensors = createTensors([["x", createTensor("float32", [0, 2 ** 31], new Float32Array(0))]]);
    await expect(client.ask({ ...NOTHING, kind, tensors })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "x has a dimension of 2147483648; expected less than 2^31.",
    });
    expect(client.pending).toBe(0);
    await client.idle();
  });
});

describe("a cancelled request", () => {
  test("rejects with the signal's reason, aborts the answerer's signal and counts until that is done", async () => {
    const aborted = createDeferred<void>();
    const done = createDeferred<void>();
    const { client } = ask(async (_, signal) => {
      signal.addEventListener("abort", () => aborted.resolve());
      await done.promise;
      return NOTHING;
    });
    const freed = new Promise<void>((resolve) => client.onFreed(resolve));
    const abort = new AbortController();
    const asked = client.ask({ ...NOTHING, kind }, abort.signal);
    abort.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
    await aborted.promise;
    expect(client.pending).toBe(1);
    done.resolve();
    await freed;
    expect(client.pending).toBe(0);
  });

  test("is not even sent where its signal aborted before", async () => {
    let asked = 0;
    const { client } = ask(async () => ({ ...NOTHING, meta: ++asked }));
    await expect(client.ask({ ...NOTHING, kind }, AbortSignal.abort(new Error("early")))).rejects.toThrow("early");
    expect((await client.ask({ ...NOTHING, kind })).meta).toBe(1);
  });
});

describe("a line that ends", () => {
  const unavailable = (again: string) => ({
    code: "unavailable",
    message: `The request was lost: the other side has ended. Send it again${again}.`,
  });

  test.each([
    ["on this side", ({ client }: ReturnType<typeof ask>) => client.close()],
    ["on the other", ({ responder }: ReturnType<typeof ask>) => responder.close()],
  ])("%s fails what has no answer and what is asked later", async (_, end) => {
    const line = ask(() => new Promise(() => {}));
    const closed = new Promise<void>((resolve) => line.client.onClose(resolve));
    const asked = line.client.ask({ ...NOTHING, kind });
    end(line);
    await expect(asked).rejects.toMatchObject(unavailable(" if another request was the cause"));
    await closed;
    await expect(line.client.ask({ ...NOTHING, kind })).rejects.toMatchObject(unavailable(""));
    expect([line.client.isOpen, line.client.pending]).toEqual([false, 0]);
  });
});

test("an client is idle once each request has its answer", async () => {
  const go = createDeferred<void>();
  const { client } = ask(async () => {
    await go.promise;
    return NOTHING;
  });
  const order: string[] = [];
  const asked = client.ask({ ...NOTHING, kind }).then(() => order.push("answered"));
  const idle = client.idle().then(() => order.push("idle"));
  go.resolve();
  await Promise.all([asked, idle]);
  expect(order.sort()).toEqual(["answered", "idle"]);
  expect(client.pending).toBe(0);
});
