import { describe, expect, test } from "vitest";
import { oneAtATime } from "../../../src/models/hosted-model.ts";
import type { ModelCall } from "../../../src/models/model-handle.ts";
import { BatchPolicy } from "../../../src/models/queue/batch-policy.ts";
import type { Batching } from "../../../src/models/queue/batching.ts";
import { type RunPolicy, RunQueue } from "../../../src/models/queue/run-queue.ts";
import { ThreadTurns } from "../../../src/models/threads/thread-turns.ts";
import { type CancelSignal, CancelSource } from "../../../src/platform/async/cancel-source.ts";
import { toNested } from "../../../src/tensor/elements.ts";
import { toTensors, type Values } from "../../../src/tensor/plain-value.ts";
import { createTensors, type Tensors } from "../../../src/tensor/tensor.ts";
import { countListeners } from "../../helpers/count-listeners.ts";

const never = new CancelSource();
const call = (signal: CancelSignal = never) => ({ signature: "serving_default", signal });

/** A model that returns its inputs and notes the rows of each run; a run ends when `release` is called. */
function heldModel() {
  const runs: unknown[] = [];
  const held: (() => void)[] = [];
  const predict = async (inputs: Tensors): Promise<Tensors> => {
    runs.push(inputs.x && toNested(inputs.x, (element) => (element instanceof Uint8Array ? String(element) : element)));
    await new Promise<void>((resolve) => held.push(resolve));
    return createTensors(Object.entries(inputs));
  };
  const release = () => held.shift()?.();
  return { runs, predict, release };
}

const BATCHING: Batching = {
  maxRows: 4,
  lingerMs: 0,
  allowedRows: [],
  maxWaiting: 0,
  padVariableLength: false,
};

/** Lets everything happen that needs no release: a turn of the event loop that the queue may take, and one more. */
const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
const plain = (tensors: Tensors) => tensors.x && toNested(tensors.x, (element) => element);

describe("one at a time", () => {
  test("no more runs overlap than the concurrency, in the order they came", async () => {
    const { runs, predict, release } = heldModel();
    const queue = new RunQueue(oneAtATime(predict), 2);
    const answers = [1, 2, 3, 4].map((x) => queue.push(toTensors({ x }), call()));
    await settled();
    expect(runs).toEqual([1, 2]);
    release();
    await answers[0];
    await settled();
    expect(runs).toEqual([1, 2, 3]);
    for (let rest = 0; rest < 3; rest++) {
      release();
      await settled();
    }
    expect((await Promise.all(answers)).map(plain)).toEqual([1, 2, 3, 4]);
  });

  test("priority 1 overtakes all that wait, priority 2 all but it", async () => {
    const { runs, predict, release } = heldModel();
    const queue = new RunQueue(oneAtATime(predict), 1);
    const pushed = [
      [1, 0],
      [2, 0],
      [3, 2],
      [4, 1],
      [5, 2],
    ].map(([x, priority]) =>
      queue.push(toTensors({ x: x as number }), { ...call(), limits: { priority: priority as number } }),
    );
    for (let run = 0; run < 5; run++) {
      await settled();
      release();
    }
    await Promise.all(pushed);
    expect(runs).toEqual([1, 4, 3, 5, 2]);
  });

  test("a run whose signal aborts leaves the queue, and the next one still runs", async () => {
    const { runs, predict, release } = heldModel();
    const queue = new RunQueue(oneAtATime(predict), 1);
    const abort = new AbortController();
    const first = queue.push(toTensors({ x: 1 }), call());
    const second = queue.push(toTensors({ x: 2 }), call(abort.signal));
    const third = queue.push(toTensors({ x: 3 }), call());
    abort.abort(new Error("gone"));
    await expect(second).rejects.toThrow("gone");
    release();
    await first;
    await settled();
    release();
    await third;
    expect(runs).toEqual([1, 3]);
  });

  test("a run that waits longer than it may leaves the queue", async () => {
    const { predict, release } = heldModel();
    const queue = new RunQueue(oneAtATime(predict), 1);
    const first = queue.push(toTensors({ x: 1 }), call());
    const second = queue.push(toTensors({ x: 2 }), { ...call(), limits: { queueTimeoutMs: 10 } });
    await expect(second).rejects.toMatchObject({ code: "unavailable", message: expect.stringMatching(/waited 10 ms/) });
    release();
    await first;
  });

  test("a driver that never waits lets the event loop turn, so that cancelled runs are not run", async () => {
    let runs = 0;
    const blocking = async (inputs: Tensors) => {
      runs++;
      for (const end = performance.now() + 5; performance.now() < end; );
      return inputs;
    };
    const queue = new RunQueue(oneAtATime(blocking), 1);
    const abort = new CancelSource();
    setImmediate(() => abort.abort());
    const pushed = Array.from({ length: 20 }, (_, x) => queue.push(toTensors({ x }), call(abort)));
    const outcomes = await Promise.allSettled(pushed);
    expect(runs).toBeLessThan(5);
    expect(outcomes.filter(({ status }) => status === "rejected").length).toBe(20 - runs);
  });

  test("idle is told when the last waiting run leaves by its signal", async () => {
    const batching = { ...BATCHING, lingerMs: 60_000 };
    const queue = new RunQueue(new BatchPolicy(batching, { predict: async (inputs) => inputs }), 1);
    const abort = new AbortController();
    const lingering = queue.push(toTensors({ x: [1] }), call(abort.signal));
    const idle = queue.idle();
    abort.abort(new Error("gone"));
    await expect(lingering).rejects.toThrow("gone");
    await idle;
  });

  test("a run that fails gives its place to the next, and idle waits for the last", async () => {
    const failing = async (inputs: Tensors) => {
      if (inputs.x?.data[0] === 1) throw new Error("broken");
      return inputs;
    };
    const queue = new RunQueue(oneAtATime(failing), 1);
    await queue.idle();
    const first = queue.push(toTensors({ x: 1 }), call());
    const second = queue.push(toTensors({ x: 2 }), call());
    let done = false;
    const noted = second.then(() => {
      done = true;
    });
    await expect(first).rejects.toThrow("broken");
    await queue.idle();
    expect(done).toBe(true);
    await noted;
  });
});

describe("a model that shares its thread", () => {
  /** Its queue, while another model works. */
  function sharing(policy: (predict: ReturnType<typeof heldModel>["predict"]) => RunPolicy) {
    const { predict, ...model } = heldModel();
    const turns = new ThreadTurns(new SharedArrayBuffer(4));
    const other = turns.of(2);
    void other.begin();
    return { ...model, queue: new RunQueue(policy(predict), 1, turns.of(1)), other };
  }

  test("runs after the others, and what has left its queue until then is not run", async () => {
    const { queue, runs, release, other } = sharing(oneAtATime);
    const late = queue.push(toTensors({ x: 1 }), { ...call(), limits: { queueTimeoutMs: 5 } });
    const pushed = [2, 3].map((x) => queue.push(toTensors({ x }), { ...call(), limits: { priority: 4 - x } }));
    await expect(late).rejects.toMatchObject({ code: "unavailable" });
    expect(runs).toEqual([]);
    other.end();
    for (let run = 0; run < 2; run++) {
      await settled();
      release();
    }
    await Promise.all(pushed);
    expect(runs).toEqual([3, 2]);
    await queue.idle();
  });

  test("puts together what comes until its turn, and counts that time as one of the queue", async () => {
    const { queue, runs, release, other } = sharing((predict) => new BatchPolicy(BATCHING, { predict }));
    const push = (x: number) => queue.push(toTensors({ x: [x] }), call());
    const pushed = [push(1)];
    await new Promise((resolve) => setTimeout(resolve, 20));
    pushed.push(push(2));
    other.end();
    await settled();
    expect(runs).toEqual([[1, 2]]);
    release();
    await Promise.all(pushed);
    const { queueMs, runMs } = queue.statistics();
    expect(queueMs).toBeGreaterThan(18);
    expect(runMs).toBeLessThan(queueMs);
  });

  test("lets the others work between the parts of a request", async () => {
    const turns = new ThreadTurns(new SharedArrayBuffer(4));
    const order: string[] = [];
    const work = (name: string) => async (inputs: Tensors) => {
      order.push(name);
      return inputs;
    };
    const queueOf = (name: string, model: number) => {
      const own = turns.of(model);
      return new RunQueue(new BatchPolicy(BATCHING, { predict: work(name) }, own.pause), 1, own);
    };
    const [large, small] = [queueOf("large", 1), queueOf("small", 2)];
    await Promise.all([
      large.push(toTensors({ x: [1, 2, 3, 4, 5, 6, 7, 8, 9] }), call()),
      small.push(toTensors({ x: [1] }), call()),
    ]);
    expect(order).toEqual(["large", "small", "large", "large"]);
  });
});

describe("batching", () => {
  test("that no option asks for leaves a request that runs alone any outputs, and refuses no joined ones", async () => {
    const runs: number[] = [];
    const predict = async ({ x }: Tensors): Promise<Tensors> => {
      runs.push(x?.shape[0] ?? 0);
      return toTensors({ x: x as never, layers: [1, 2, 3, 4, 5] });
    };
    const answersOf = (batching: Batching) => {
      const queue = new RunQueue(new BatchPolicy(batching, { predict }), 1);
      return Promise.all([[1], [2], [3]].map((x) => queue.push(toTensors({ x }), call()).then(plain)));
    };
    expect(await answersOf({ ...BATCHING, isImplied: true })).toEqual([[1], [2], [3]]);
    expect(runs.filter((rows) => rows === 1)).toHaveLength(runs.length - 1);
    await expect(answersOf(BATCHING)).rejects.toThrow("0th dimension does not equal");
  });

  const batched = (options: Partial<Batching> = {}) => {
    const model = heldModel();
    return {
      ...model,
      queue: new RunQueue(new BatchPolicy({ ...BATCHING, ...options }, { predict: model.predict }), 1),
    };
  };

  /** Pushes all at once. Returns the answers and the runs. */
  async function runAll(inputs: readonly Values[], options?: Partial<Batching>) {
    const { queue, runs, release } = batched(options);
    const answers = inputs.map((each) => queue.push(toTensors(each), call()));
    const all = Promise.allSettled(answers);
    for (let turn = 0; turn < 12; turn++) {
      await settled();
      release();
    }
    const outcomes = await all;
    return {
      runs,
      answers: outcomes.map((each) => (each.status === "fulfilled" ? plain(each.value) : String(each.reason.message))),
    };
  }

  test("what waits goes together, up to the largest batch, and each gets its own rows", async () => {
    const inputs = [[1], [2], [3], [4], [5], [6]].map((row) => ({ x: [row] }));
    const { runs, answers } = await runAll(inputs);
    expect(runs).toEqual([
      [[1], [2], [3], [4]],
      [[5], [6]],
    ]);
    expect(answers).toEqual([[[1]], [[2]], [[3]], [[4]], [[5]], [[6]]]);
  });

  test("requests of several rows keep them, and what does not fit waits", async () => {
    const { runs, answers } = await runAll([{ x: [1] }, { x: [2, 3] }, { x: [4, 5] }, { x: [6] }]);
    expect(runs).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect(answers).toEqual([[1], [2, 3], [4, 5], [6]]);
  });

  test("a request larger than a batch is split and put together again", async () => {
    const { runs, answers } = await runAll([{ x: [1, 2, 3, 4, 5, 6, 7, 8, 9] }]);
    expect(runs).toEqual([[1, 2, 3, 4], [5, 6, 7, 8], [9]]);
    expect(answers).toEqual([[1, 2, 3, 4, 5, 6, 7, 8, 9]]);
  });

  test("small batches are padded to an allowed size with a copy of a row, which no caller sees", async () => {
    const inputs = [1, 2, 3, 4, 5].map((x) => ({ x: [x] }));
    const { runs, answers } = await runAll(inputs, { allowedRows: [2, 4] });
    expect(runs).toEqual([
      [1, 2, 3, 4],
      [5, 5],
    ]);
    expect(answers).toEqual([[1], [2], [3], [4], [5]]);
    expect((await runAll(inputs.slice(0, 3), { allowedRows: [2, 4] })).runs).toEqual([[1, 2, 3, 1]]);
  });

  test("only equal dtypes and row shapes go together", async () => {
    const { runs } = await runAll([{ x: [0] }, { x: [1] }, { x: [0.5] }, { x: [[2]] }, { x: [3] }]);
    expect(runs).toEqual([[0, 1, 3], [0.5], [[2]]]);
  });

  test("others between those that go together do not end their batch, however large they are", async () => {
    const { runs } = await runAll([
      { x: [1] },
      { x: [0.5, 1.5, 2.5, 3.5] },
      { x: [2] },
      { y: [7], x: [8] },
      { x: [3] },
    ]);
    expect(runs).toEqual([[1, 2, 3], [0.5, 1.5, 2.5, 3.5], [8]]);
  });

  test("inputs of different lengths are padded with their own first element where that is wanted", async () => {
    const { runs } = await runAll([{ x: [[9]] }, { x: [[1, 2]] }, { x: [[3, 4, 5]] }], { padVariableLength: true });
    expect(runs).toEqual([
      [
        [9, 9, 9],
        [1, 2, 1],
        [3, 4, 5],
      ],
    ]);
  });

  test("rows of like lengths go together, the others keep their places, and priority goes first", async () => {
    const { runs, predict, release } = heldModel();
    const lengthOf = ({ x }: Tensors) => Number(x?.data[0]);
    const queue = new RunQueue(new BatchPolicy(BATCHING, { predict, lengthOf }), 1);
    const push = (x: number, priority = 0) => queue.push(toTensors({ x: [x] }), { ...call(), limits: { priority } });
    const answers = [push(20), push(800), push(40), push(90), push(890), push(10), push(3000), push(2000, 1)];
    for (let turn = 0; turn < 12; turn++) {
      await settled();
      release();
    }
    expect((await Promise.all(answers)).map(plain)).toEqual([[20], [800], [40], [90], [890], [10], [3000], [2000]]);
    expect(runs).toEqual([[2000], [20, 40, 10], [800, 890], [90], [3000]]);
  });

  test("of many short rows, whose padding adds up, the longer ones run first if the first is one of them", async () => {
    const { runs, predict, release } = heldModel();
    const lengthOf = ({ x }: Tensors) => Number(x?.data[0]);
    const queue = new RunQueue(new BatchPolicy({ ...BATCHING, maxRows: 16 }, { predict, lengthOf }), 1);
    const answers = [50, 12, 52, 14, 51, 11, 53, 10].map((x) => queue.push(toTensors({ x: [x] }), call()));
    for (let turn = 0; turn < 2; turn++) {
      await settled();
      release();
    }
    await Promise.all(answers);
    expect(runs).toEqual([
      [50, 52, 51, 53],
      [12, 14, 11, 10],
    ]);
  });

  test("no run rides past one of its client that has a higher priority", async () => {
    const { runs, predict, release } = heldModel();
    const lengthOf = ({ x }: Tensors) => Number(x?.data[0]);
    const queue = new RunQueue(new BatchPolicy(BATCHING, { predict, lengthOf }), 1);
    const push = (x: number, priority: number, client = 0) =>
      queue.push(toTensors({ x: [x] }), { ...call(), limits: { priority, client } });
    const answers = [push(20, 1), push(800, 1), push(21, 0), push(22, 2), push(23, 0, 1)];
    for (let turn = 0; turn < 12; turn++) {
      await settled();
      release();
    }
    await Promise.all(answers);
    expect(runs).toEqual([[20, 23], [800], [22, 21]]);
  });

  test("a length that is no number keeps a request alone", async () => {
    const { runs, predict, release } = heldModel();
    const queue = new RunQueue(new BatchPolicy(BATCHING, { predict, lengthOf: () => Number.NaN }), 1);
    const answers = [1, 2].map((x) => queue.push(toTensors({ x: [x] }), call()));
    for (let turn = 0; turn < 3; turn++) {
      await settled();
      release();
    }
    await Promise.all(answers);
    expect(runs).toEqual([[1], [2]]);
  });

  test("bytes are batched like numbers", async () => {
    const { queue, release } = batched();
    const pushed = ["a", "b", "c"].map((text) => queue.push(toTensors({ x: [text] }), call()));
    for (let turn = 0; turn < 3; turn++) {
      await settled();
      release();
    }
    const answers = await Promise.all(pushed);
    expect(answers.map(({ x }) => String(x?.data[0]))).toEqual(["97", "98", "99"]);
  });

  test("one request's bad values do not fail its neighbours", async () => {
    const predict = async (inputs: Tensors) => {
      if (plain(inputs)?.toString().split(",").includes("13")) throw new Error("unlucky");
      return inputs;
    };
    const queue = new RunQueue(new BatchPolicy({ ...BATCHING, maxRows: 8 }, { predict }), 1);
    const outcomes = await Promise.allSettled([1, 2, 13, 4].map((x) => queue.push(toTensors({ x: [x] }), call())));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  });

  test("each run of the model is counted, with the rows that it had", async () => {
    const predict = async (inputs: Tensors) => {
      if (inputs.x?.data.includes(13 as never)) throw new Error("unlucky");
      return inputs;
    };
    const queue = new RunQueue(new BatchPolicy({ ...BATCHING, allowedRows: [2, 4] }, { predict }), 1);
    const sizes = () => queue.statistics().runs.map(({ rows, count }) => [rows, count]);
    await Promise.allSettled([1, 13, 3].map((x) => queue.push(toTensors({ x: [x] }), call())));
    expect(sizes()).toEqual([
      [3, 1],
      [1, 3],
    ]);
    await queue.push(toTensors({ x: [1, 2, 3, 4, 5, 6, 7] }), call());
    expect(sizes()).toEqual([
      [3, 2],
      [1, 3],
      [4, 1],
    ]);
    expect(queue.statistics().requests).toBe(4);
  });

  test("a batch that is not full lingers for company, a full one does not", async () => {
    const { queue, runs, release } = batched({ lingerMs: 60_000 });
    const first = [1, 2, 3].map((x) => queue.push(toTensors({ x: [x] }), call()));
    await settled();
    expect(runs).toEqual([]);
    const last = queue.push(toTensors({ x: [4] }), call());
    await settled();
    expect(runs).toEqual([[1, 2, 3, 4]]);
    release();
    await Promise.all([...first, last]);
  });

  test("the time for company begins with the first request, while another batch runs", async () => {
    const { queue, runs, release } = batched({ lingerMs: 150 });
    const full = [1, 2, 3, 4].map((x) => queue.push(toTensors({ x: [x] }), call()));
    await settled();
    const late = queue.push(toTensors({ x: [5] }), call());
    await new Promise((resolve) => setTimeout(resolve, 200));
    release();
    await settled();
    expect(runs).toEqual([[1, 2, 3, 4], [5]]);
    release();
    await Promise.all([...full, late]);
  });

  test("the parts of a large request that is given up are not run any more", async () => {
    const { runs, predict, release } = heldModel();
    const queue = new RunQueue(new BatchPolicy(BATCHING, { predict }), 1);
    const client = new AbortController();
    const pushed = queue.push(toTensors({ x: [1, 2, 3, 4, 5, 6] }), call(client.signal));
    await settled();
    client.abort(new Error("gone"));
    release();
    await expect(pushed).rejects.toThrow("gone");
    await settled();
    expect(runs).toEqual([[1, 2, 3, 4]]);
    await queue.idle();
  });

  test.each([
    ["the parts of a large request are not run", [Array.from({ length: 200 }, (_, x) => x)], 4],
    ["the requests of a failed batch are not run one by one", Array.from({ length: 50 }, (_, x) => [x]), 64],
  ])("%s any more once the client has left, though the driver blocks the thread", async (_, requests, maxRows) => {
    let runs = 0;
    const blocking = async (inputs: Tensors) => {
      runs++;
      for (const end = performance.now() + 2; performance.now() < end; );
      if (inputs.x?.shape[0] === requests.length) throw new Error("unlucky");
      return inputs;
    };
    const queue = new RunQueue(new BatchPolicy({ ...BATCHING, maxRows }, { predict: blocking }), 1);
    const client = new CancelSource();
    setTimeout(() => client.abort(new Error("gone")), 10);
    const pushed = requests.map((x) => queue.push(toTensors({ x }), call(client)));
    const outcomes = await Promise.allSettled(pushed);
    expect(outcomes.at(-1)).toMatchObject({ status: "rejected", reason: { message: "gone" } });
    expect(runs).toBeLessThan(30);
    await queue.idle();
  });

  test("a batch that failed is not run again for requests that were given up meanwhile", async () => {
    const ran: unknown[] = [];
    const gone = new AbortController();
    const predict = async (inputs: Tensors) => {
      ran.push(plain(inputs));
      if (ran.length > 1) return inputs;
      gone.abort(new Error("gone"));
      throw new Error("unlucky");
    };
    const queue = new RunQueue(new BatchPolicy(BATCHING, { predict }), 1);
    const stays = queue.push(toTensors({ x: [1] }), call());
    const leaves = queue.push(toTensors({ x: [2] }), call(gone.signal));
    await expect(leaves).rejects.toThrow("gone");
    expect(plain(await stays)).toEqual([1]);
    expect(ran).toEqual([[1, 2], [1]]);
  });

  test("a batch is cancelled once all of its requests are, and not before", async () => {
    const clients = [new AbortController(), new AbortController()];
    const states: boolean[] = [];
    const predict = async (_: Tensors, { signal }: ModelCall): Promise<Tensors> => {
      for (const client of clients) {
        client.abort(new Error("gone"));
        states.push(signal.aborted);
      }
      throw signal.reason;
    };
    const queue = new RunQueue(new BatchPolicy(BATCHING, { predict }), 1);
    const answers = clients.map((client) => queue.push(toTensors({ x: [1] }), call(client.signal)));
    for (const { status } of await Promise.allSettled(answers)) expect(status).toBe("rejected");
    expect(states).toEqual([false, true]);
  });

  test("a batch leaves nothing at the signal of a stream, which outlives it", async () => {
    const stream = new CancelSource();
    const listeners = countListeners(stream);
    const queue = new RunQueue(new BatchPolicy(BATCHING, { predict: async (inputs) => inputs }), 1);
    await Promise.all([1, 2].map((x) => queue.push(toTensors({ x: [x] }), call(stream))));
    expect(listeners.size).toBe(0);
  });

  test("a full queue refuses further rows in TensorFlow Serving's words, until others have left it", async () => {
    const { queue, release } = batched({ maxWaiting: 2 });
    const push = (...x: number[]) => queue.push(toTensors({ x }), call());
    const running = push(0);
    await settled();
    const abort = new AbortController();
    const gone = queue.push(toTensors({ x: [1, 2] }), call(abort.signal));
    const waiting = [push(3, 4, 5), push(6, 7, 8)];
    await expect(push(9)).rejects.toMatchObject({
      code: "unavailable",
      message:
        "The batch scheduling queue to which this task was submitted is full; currently 2 batches enqueued and max_enqueued_batches is 2",
    });
    abort.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    waiting.push(push(10, 11));
    await expect(push(12)).rejects.toMatchObject({ code: "unavailable" });
    for (let turn = 0; turn < 4; turn++) {
      release();
      await settled();
    }
    await Promise.all([running, ...waiting]);
    const last = push(1, 2, 3, 4, 5, 6, 7, 8, 9);
    for (let turn = 0; turn < 4; turn++) {
      await settled();
      release();
    }
    expect(plain(await last)).toHaveLength(9);
  });

  test("a batch that waits does not inherit the wait of one whose runs have all left", async () => {
    const { queue, runs, release } = batched({ lingerMs: 200 });
    const abort = new AbortController();
    const gone = queue.push(toTensors({ x: [1] }), call(abort.signal));
    await new Promise((resolve) => setTimeout(resolve, 150));
    abort.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    const started = performance.now();
    const answer = queue.push(toTensors({ x: [2] }), call());
    while (runs.length === 0 && performance.now() - started < 5000) await settled();
    expect(performance.now() - started).toBeGreaterThan(150);
    release();
    await answer;
  });

  test("a batch that is not full runs once its time is up", async () => {
    const { queue, runs, release } = batched({ lingerMs: 5 });
    const answer = queue.push(toTensors({ x: [1] }), call());
    const started = performance.now();
    while (runs.length === 0 && performance.now() - started < 5000) await settled();
    release();
    expect(plain(await answer)).toEqual([1]);
  });
});
