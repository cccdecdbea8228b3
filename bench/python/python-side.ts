import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { watchChild } from "../children.ts";
import { benchFile } from "../engine/servers.ts";

/** Python PyTorch in a process of its own; see python_side.py for what it can be asked. */
export interface PythonSide {
  ask(question: object): Promise<PythonAnswer>;
  stop(): void;
}

/** The members that the question has an answer for. */
interface PythonAnswer {
  readonly p50Ms: number;
  readonly shapes: Readonly<Record<"tiny" | "large" | "conv", readonly number[]>>;
}

const ANSWER = "ANSWER ";

/** Starts the interpreter, which has to have torch. */
export function startPython(python: string): PythonSide {
  const child = watchChild(spawn(python, [benchFile("python/python_side.py")], { stdio: ["pipe", "pipe", "inherit"] }));
  const ended = once(child, "exit").then(() => {
    throw new Error(`${python} ended; it needs torch (PYTHON=... names another).`);
  });
  ended.catch(() => {});
  const lines = createInterface(child.stdout);
  return {
    ask: (question) => {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      return Promise.race([nextAnswer(lines), ended]);
    },
    stop: () => void child.kill(),
  };
}

async function nextAnswer(lines: ReturnType<typeof createInterface>): Promise<PythonAnswer> {
  for (;;) {
    const [line] = (await once(lines, "line")) as [string];
    if (line.startsWith(ANSWER)) return JSON.parse(line.slice(ANSWER.length));
  }
}
