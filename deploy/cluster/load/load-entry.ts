/** Sends requests from a process of its own, until its standard input ends; then it prints what became of them. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { LoadOptions, LoadResult } from "./load.ts";
import { SENDERS, type Send } from "./senders.ts";

const { target, subject, wires, clients, pauseMs }: LoadOptions = JSON.parse(process.argv[2] as string);
const started = performance.now();
const latencies: number[] = [];
const errors: Record<string, number> = {};
const perSecond: number[] = [];
let sent = 0;
let isOver = false;

const loads = wires.flatMap((wire) =>
  Array.from({ length: clients }, () => keepAsking(wire, SENDERS[wire](target, subject))),
);
process.stdin.resume();
await once(process.stdin, "end");
isOver = true;
await Promise.all(loads);
const result: LoadResult = { sent, latencies, errors, perSecond };
process.stdout.write(JSON.stringify(result), () => process.exit());

async function keepAsking(wire: string, send: Send): Promise<void> {
  while (!isOver) {
    const begun = performance.now();
    sent++;
    await send().then(
      () => count(begun),
      (reason: Error) => fail(`${wire}: ${reason.message}`),
    );
    await sleep(pauseMs);
  }
}

function count(begun: number): void {
  const now = performance.now();
  latencies.push(now - begun);
  const second = Math.floor((now - started) / 1000);
  perSecond[second] = (perSecond[second] ?? 0) + 1;
}

function fail(text: string): void {
  errors[text] = (errors[text] ?? 0) + 1;
}
