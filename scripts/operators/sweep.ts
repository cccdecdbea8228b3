import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Subject } from "./subject.ts";
import type { Task, TrialReport } from "./worker.ts";

/** The outcome of one trial. */
export interface Finding {
  readonly operator: string;
  readonly trial: string;
  /** `dies by SIGFPE`, `hangs`, `takes … MB`, an error's code and message, `answered`, … */
  readonly outcome: string;
}

/** Limits of each trial. */
const LIMITS = { ms: 8_000, mb: 4_096, deaths: 12 } as const;

/** Tries subjects in processes of their own; a process that ends is replaced and the rest of the subject tried. */
export async function sweep(
  subjects: Iterable<Subject>,
  workers: number,
  onFinding: (finding: Finding) => void,
): Promise<void> {
  const iterator = subjects[Symbol.iterator]();
  const work = async () => {
    const worker = new TryingProcess();
    for (let next = iterator.next(); !next.done; next = iterator.next())
      for (const finding of await worker.tryAll(next.value)) onFinding(finding);
    worker.end();
  };
  await Promise.all(Array.from({ length: workers }, work));
}

type Message = TrialReport | { readonly done: true } | { readonly failed: string };

/** A process that tries models, one after another; it starts with the first one, and again after each death. */
export class TryingProcess {
  #child: ChildProcess | undefined;

  /** The outcomes of the trials of a subject, in their order, and of each death. */
  async tryAll(subject: Subject): Promise<Finding[]> {
    const findings: Finding[] = [];
    let deaths = 0;
    for (let from = 0; from < subject.trials.length && deaths < LIMITS.deaths; deaths++) {
      const { reports, ended } = await this.#try({ subject, from });
      for (const { index, outcome } of reports)
        if (outcome !== undefined)
          findings.push({ operator: subject.operator, trial: subject.trials[index]!.what, outcome });
      if (ended === undefined) break;
      const last = reports.at(-1);
      const isDuring = last !== undefined && last.outcome === undefined;
      const trial = isDuring ? subject.trials[last.index]!.what : "load and good inputs";
      findings.push({ operator: subject.operator, trial, outcome: ended });
      from = isDuring ? last.index + 1 : subject.trials.length;
    }
    return findings;
  }

  /** Ends it, whatever it does. */
  end(): void {
    this.#child?.kill("SIGKILL");
  }

  async #try(task: Task): Promise<{ reports: TrialReport[]; ended: string | undefined }> {
    const child = this.#child?.connected ? this.#child : this.#start();
    const reports: TrialReport[] = [];
    let seen = Date.now();
    let reason: string | undefined;
    const watch = setInterval(() => {
      const mb = residentMb(child.pid);
      if (mb > LIMITS.mb) reason ??= `takes more than ${LIMITS.mb} MB`;
      if (Date.now() - seen > LIMITS.ms + (reports.length === 0 ? 20_000 : 0)) reason ??= "hangs";
      if (reason !== undefined) child.kill("SIGKILL");
    }, 100);
    const over = new Promise<string | undefined>((resolve) => {
      const onMessage = (message: Message) => {
        seen = Date.now();
        if ("index" in message) reports.push(message);
        else {
          child.off("message", onMessage);
          resolve("failed" in message ? `does not load: ${message.failed}` : undefined);
        }
      };
      child.on("message", onMessage);
      once(child, "exit").then(([code, signal]) => resolve(reason ?? `dies by ${signal ?? `exit ${code}`}`));
    });
    child.send(task);
    const ended = await over;
    clearInterval(watch);
    return { reports, ended };
  }

  #start(): ChildProcess {
    const child = fork(new URL("worker.ts", import.meta.url), {
      execArgv: ["--import", "tsx"],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    child.setMaxListeners(0);
    this.#child = child;
    return child;
  }
}

/** The memory that a process holds. */
function residentMb(pid: number | undefined): number {
  try {
    return (Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096) / 2 ** 20;
  } catch {
    return 0;
  }
}
