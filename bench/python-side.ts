import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { watchChild } from "../test/helpers/children.ts";
import { benchFile } from "./engine/servers.ts";

/** Measurements of a Python side; an answer has the members that its question asked for. */
export interface PythonTimes {
  readonly ms: number;
  readonly perSecond: number;
  readonly p50Ms: number;
}

/**
 * A Python program in a process of its own, which answers questions one by one; its
 * python_side.py says what it can be asked.
 */
export interface PythonSide<Answer = PythonTimes> {
  /** Rejects when the program ends. */
  ask(question: object): Promise<Answer>;
  stop(): void;
}

/** The interpreter that has the runtime to compare with. */
export const PYTHON = process.env.PYTHON ?? "python3";
const ANSWER = "ANSWER ";

/** Starts a program of this folder that answers questions line by line; `needs` is the package that it imports. */
export function startPythonSide<Answer = PythonTimes>(
  file: string,
  programArgs: readonly string[],
  needs: string,
): PythonSide<Answer> {
  const args = [benchFile(file), ...programArgs];
  const child = watchChild(spawn(PYTHON, args, { stdio: ["pipe", "pipe", "pipe"] }));
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-2000);
  });
  const ended = once(child, "exit").then(() => {
    throw new Error(`${PYTHON} ended; it needs ${needs} (PYTHON=... names another). It said: ${errors}`);
  });
  ended.catch(() => {});
  const lines = createInterface(child.stdout);
  return {
    ask: (question) => {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      return Promise.race([nextAnswer<Answer>(lines), ended]);
    },
    stop: () => void child.kill(),
  };
}

async function nextAnswer<Answer>(lines: ReturnType<typeof createInterface>): Promise<Answer> {
  for (;;) {
    const [line] = (await once(lines, "line")) as [string];
    if (line.startsWith(ANSWER)) return JSON.parse(line.slice(ANSWER.length));
  }
}
