import { MessageChannel } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { createDeferred } from "../../src/async/deferred.ts";
import { ServingError } from "../../src/errors.ts";
import { createTensor, createTensors } from "../../src/tensor/tensor.ts";
import { Exchange, FIRST_QUESTION } from "../../src/threads/exchange.ts";
import { toHostPort } from "../../src/threads/host-port.ts";
import { Responder, type ResponderOptions } from "../../src/threads/responder.ts";
import { NOTHING, PLAIN } from "./plain-record.ts";

const kind = FIRST_QUESTION;

/** An exchange whose questions `answer` answers. */
function ask(answer: ResponderOptions["answer"]) {
  const { port1, port2 } = new MessageChannel();
  const exchange = new Exchange(toHostPort(port1), "the other side");
  const responder = new Responder(toHostPort(port2), { answer });
  onTestFinished(() => exchange.close());
  return { exchange, responder };
}

const number = (x: number) => createTensors([["x", createTensor("int32", [], Int32Array.of(x))]]);

describe("a question", () => {
  test("gets its own answer, whatever the order of the answers", async () => {
    const first = createDeferred<void>();
    const { exchange } = ask(async ({ meta, tensors = {} }) => {
      if (meta === 0) await first.promise;
      else first.resolve();
      return { meta, tensors };
    });
    const answers = await Promise.all(
      [0, 1].map((meta) => exchange.ask({ ...PLAIN, kind, meta, tensors: number(meta) })),
    );
    expect(answers).toEqual([0, 1].map((meta) => ({ meta, tensors: number(meta) })));
    expect(exchange.pending).toBe(0);
  });

  test("rejects with the code, message and cause of what the answerer threw", async () => {
    const { exchange } = ask(async () => {
      throw new ServingError("not_found", "no such face", { cause: new Error("list is empty") });
    });
    await expect(exchange.ask({ ...PLAIN, kind })).rejects.toMatchObject({
      code: "not_found",
      message: "no such face",
      cause: { message: "list is empty" },
    });
  });

  test("that cannot be written rejects, and nothing stays behind", async () => {
    const { exchange } = ask(async () => NOTHING);
    const tensors = createTensors([["x", createTensor("float32", [0, 2 ** 31], new Float32Array(0))]]);
    await expect(exchange.ask({ ...PLAIN, kind, tensors })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "x has a dimension of 2147483648; expected less than 2^31.",
    });
    expect(exchange.pending).toBe(0);
    await exchange.idle();
  });
});

describe("a cancelled question", () => {
  test("rejects with the signal's reason, aborts the answerer's signal and counts until that is done", async () => {
    const aborted = createDeferred<void>();
    const done = createDeferred<void>();
    const { exchange } = ask(async (_, signal) => {
      signal.addEventListener("abort", () => aborted.resolve());
      await done.promise;
      return NOTHING;
    });
    const freed = new Promise<void>((resolve) => exchange.onFreed(resolve));
    const abort = new AbortController();
    const asked = exchange.ask({ ...PLAIN, kind, signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
    await aborted.promise;
    expect(exchange.pending).toBe(1);
    done.resolve();
    await freed;
    expect(exchange.pending).toBe(0);
  });

  test("is not even sent where its signal aborted before", async () => {
    let asked = 0;
    const { exchange } = ask(async () => ({ ...NOTHING, meta: ++asked }));
    await expect(exchange.ask({ ...PLAIN, kind, signal: AbortSignal.abort(new Error("early")) })).rejects.toThrow(
      "early",
    );
    expect((await exchange.ask({ ...PLAIN, kind })).meta).toBe(1);
  });
});

describe("a line that ends", () => {
  const unavailable = {
    code: "unavailable",
    message: "The request was lost: the other side has ended. Send it again.",
  };

  test.each([
    ["on this side", ({ exchange }: ReturnType<typeof ask>) => exchange.close()],
    ["on the other", ({ responder }: ReturnType<typeof ask>) => responder.close()],
  ])("%s fails what has no answer and what is asked later", async (_, end) => {
    const line = ask(() => new Promise(() => {}));
    const closed = new Promise<void>((resolve) => line.exchange.onClose(resolve));
    const asked = line.exchange.ask({ ...PLAIN, kind });
    end(line);
    await expect(asked).rejects.toMatchObject(unavailable);
    await closed;
    await expect(line.exchange.ask({ ...PLAIN, kind })).rejects.toMatchObject(unavailable);
    expect([line.exchange.isOpen, line.exchange.pending]).toEqual([false, 0]);
  });
});

test("an exchange is idle once each question has its answer", async () => {
  const go = createDeferred<void>();
  const { exchange } = ask(async () => {
    await go.promise;
    return NOTHING;
  });
  const order: string[] = [];
  const asked = exchange.ask({ ...PLAIN, kind }).then(() => order.push("answered"));
  const idle = exchange.idle().then(() => order.push("idle"));
  go.resolve();
  await Promise.all([asked, idle]);
  expect(order.sort()).toEqual(["answered", "idle"]);
  expect(exchange.pending).toBe(0);
});
