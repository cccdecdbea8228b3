import { describe, expect, test } from "vitest";
import { MalformedMessage } from "../../../src/platform/threads/host-port.ts";
import { PartCredit, PartWindow } from "../../../src/platform/threads/part-window.ts";

/** Both ends of a window, and what is between them. */
function connect() {
  const window = new PartWindow();
  const messages: (readonly [parts: number, bytes: number])[] = [];
  const credit = new PartCredit((...taken) => {
    messages.push(taken);
    window.credit(taken);
  });
  const send = (bytes: number) => {
    credit.came(bytes);
    return window.sent(bytes);
  };
  return { window, credit, messages, send };
}

const isSettled = (promise: Promise<void>) =>
  Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);

describe("a window of parts", () => {
  test("has room for 15 unread parts, and is full with the 16th until half of them are taken", async () => {
    const { credit, messages, send } = connect();
    for (let count = 0; count < 15; count++) expect(await isSettled(send(10))).toBe(true);
    const last = send(10);
    expect(await isSettled(last)).toBe(false);
    for (let count = 0; count < 7; count++) credit.took(10);
    expect([await isSettled(last), messages]).toEqual([false, []]);
    credit.took(10);
    expect([await isSettled(last), messages]).toEqual([true, [[8, 80]]]);
  });

  test("is full with a megabyte, however few parts that are", async () => {
    const { credit, messages, send } = connect();
    expect(await isSettled(send(1024 * 1024 - 1))).toBe(true);
    const last = send(1);
    expect(await isSettled(last)).toBe(false);
    credit.took(1024 * 1024 - 1);
    expect([await isSettled(last), messages]).toEqual([true, [[1, 1024 * 1024 - 1]]]);
  });

  test("never stays full once all of its parts are taken", async () => {
    for (const bytes of [0, 1, 70_000, 524_287, 524_288, 3_000_000]) {
      const { credit, send } = connect();
      let [sent, count] = [send(bytes), 1];
      while (await isSettled(sent)) [sent, count] = [send(bytes), count + 1];
      for (let taken = 0; taken < count; taken++) credit.took(bytes);
      expect(await isSettled(sent)).toBe(true);
    }
  });

  test("takes no part beyond its room for a sender that keeps to the rules", () => {
    const many = connect();
    for (let count = 0; count < 16; count++) many.credit.came(0);
    expect(() => many.credit.came(0)).toThrow(MalformedMessage);
    const large = connect();
    large.credit.came(2_000_000);
    expect(() => large.credit.came(0)).toThrow(MalformedMessage);
  });

  test.each([undefined, [1], ["1", 0], [-1, 0], [Number.NaN, 0], [3, 0]])(
    "takes nothing back for %j where two parts were sent",
    async (credit) => {
      const { window, send } = connect();
      await send(5);
      await send(5);
      expect(() => window.credit(credit)).toThrow(MalformedMessage);
      window.credit([2, 1_000_000]);
      expect(await isSettled(send(1024 * 1024 - 1))).toBe(true);
    },
  );
});
