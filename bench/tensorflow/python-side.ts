import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { watchChild } from "../children.ts";
import { benchFile } from "../engine/servers.ts";

/** Python TensorFlow in a process of its own; see python_side.py for what it can be asked. */
export interface PythonSide {
  ask(question: object): Promise<PythonAnswer>;
  stop(): void;
}

/** The members that the question has an answer for. */
interface PythonAnswer {
  readonly ms: number;
  readonly perSecond: number;
  readonly p50Ms: number;
}

/** The interpreter that has TensorFlow. */
const PYTHON = process.env.PYTHON ?? "python3";
const ANSWER = "ANSWER ";

/** Starts Python with threads within and across operators as TensorFlow's configuration takes them; 0 = as many as cores. */
export function startPython(threads: { readonly intra: number; readonly inter: number }): PythonSide {
  return startProgram("tensorflow/python_side.py", [String(threads.intra), String(threads.inter)], "tensorflow");
}

/** Starts a program of this folder that answers questions line by line; `needs` is the package that it imports. */
export function startProgram(file: string, programArgs: readonly string[], needs: string): PythonSide {
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
