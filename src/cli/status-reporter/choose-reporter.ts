import type { Logger } from "../../observability/logger.ts";
import { maskSecrets } from "../../platform/text/mask-secrets.ts";
import type { StageSummary } from "../../server/stage-summary.ts";
import type { InFlight } from "../../serving/admission.ts";
import type { LooseSpec } from "../../tensor/signature/signature.ts";
import type { LiveLine } from "../live-line.ts";
import type { ProgramLog } from "../program-log.ts";
import { type ModelSummary, toModelTable, toStartTable } from "./model-table.ts";
import type { ReadyFacts, StatusReporter } from "./status-reporter.ts";

/**
 * Reports to a person at a terminal, and to the file and the page; without a terminal, to the whole log; and to
 * `further`.
 */
export function chooseReporter(
  { log, fileLog, terminal }: ProgramLog,
  further: Partial<StatusReporter> = {},
): StatusReporter {
  if (terminal === undefined) return joinReporters([createLogReporter(log), further]);
  const person = createTerminalReporter(terminal);
  return joinReporters([person, createLogReporter(fileLog), further]);
}

/** Notifies each of them of the events for which it has a method. */
export function joinReporters(reporters: readonly Partial<StatusReporter>[]): StatusReporter {
  const each = (tell: (reporter: Partial<StatusReporter>) => void) => reporters.forEach(tell);
  return {
    loading: (models) => each((reporter) => reporter.loading?.(models)),
    ready: (facts) => each((reporter) => reporter.ready?.(facts)),
    ...(reporters.some(({ example }) => example !== undefined) && {
      example: (heading: string, line: string) => each((reporter) => reporter.example?.(heading, line)),
    }),
    changed: (version) => each((reporter) => reporter.changed?.(version)),
    retiring: (delayMs) => each((reporter) => reporter.retiring?.(delayMs)),
    draining: (count) => each((reporter) => reporter.draining?.(count)),
    stopped: () => each((reporter) => reporter.stopped?.()),
    cutOff: (requests, why) => each((reporter) => reporter.cutOff?.(requests, why)),
  };
}

/** Reports to a person at a terminal. */
function createTerminalReporter(terminal: LiveLine): StatusReporter {
  const print = (text: string) => terminal.write(`${maskSecrets(text)}\n`);
  let isStopping = false;
  return {
    loading: (models) => {
      const names = models.map(({ driver, path }) =>
        path === undefined ? driver : `${path}${driver ? ` (${driver})` : ""}`,
      );
      print(`Loading ${names.join(", ")} ...`);
    },
    ready: (facts) => print(toReadyText(facts, terminal.columns)),
    example: (heading, line) => {
      if (!isStopping) print(`${heading}\n\n  ${line}\n`);
    },
    retiring: (delayMs) => {
      isStopping = true;
      print(`\nStopping in ${delayMs / 1000} s, until then requests are answered; Ctrl-C stops at once ...`);
    },
    draining: (count) => {
      isStopping = true;
      const rest = count === 0 ? "Stopping" : `Draining ${requestCount(count)}; Ctrl-C again stops at once`;
      print(`\n${rest} ...`);
    },
    stopped: () => print("Stopped."),
    cutOff: (requests, why) => print(`${why}\n${requests.map(toCutOffLine).join("\n")}`),
  };
}

function toReadyText(ready: ReadyFacts, columns: number): string {
  const { name, grpcAddress, httpUrl, pageUrl, stages, models, decoupled = false } = ready;
  const runtimes = [...new Set(stages.flatMap(({ runtime }) => runtime ?? []))];
  const facts = {
    Name: models === undefined ? name : undefined,
    Runtime: runtimes.join(", ") || undefined,
    Answers: models === undefined && decoupled ? "in parts" : undefined,
    HTTP: httpUrl ?? "off; --http-enable turns it on",
    Page: pageUrl,
    gRPC: grpcAddress,
  };
  const lines = Object.entries(facts).flatMap(([label, fact]) => (fact === undefined ? [] : [`  ${label}  ${fact}`]));
  const stageTable = stages.length === 0 ? [] : [toStartTable(stages, columns), ""];
  const table = models === undefined ? stageTable : [toModelTable(models, columns), ""];
  return ["", ...table, ...lines, ""].join("\n");
}

function requestCount(count: number): string {
  return count === 1 ? "1 request" : `${count} requests`;
}

function toCutOffLine({ id, model, ageMs }: InFlight): string {
  return `  cut off: request ${id} of ${model}, after ${(ageMs / 1000).toFixed(1)} s`;
}

/** Writes one log event for each report. */
function createLogReporter(log: Logger): StatusReporter {
  return {
    loading: (models) => log.info("loading", { models: models.map(({ driver, path }) => ({ driver, path })) }),
    ready: ({ name, grpcAddress, httpUrl, stages, models, decoupled }) => {
      const addresses = { grpc: grpcAddress, http: httpUrl };
      if (models !== undefined) log.info("ready", { ...addresses, models: models.map(toModelFields) });
      else log.info("ready", { name, ...addresses, stages: stages.map(toFields), ...(decoupled && { decoupled }) });
    },
    retiring: (delayMs) => log.info("not ready any more; requests are answered for a while", { delayMs }),
    draining: (count) => log.info("draining", { requests: count }),
    stopped: () => log.info("stopped"),
    cutOff: (requests, why) => log.error("requests cut off", { why, requests: requests.map(withRoundAge) }),
  };
}

function toFields({ inputs, outputs, loadMs, ...stage }: StageSummary) {
  return {
    ...stage,
    inputs: inputs?.map(withoutDefault),
    outputs: outputs?.map(withoutDefault),
    loadMs: Math.round(loadMs),
  };
}

function toModelFields({ name, version, state, drivers, problem, decoupled }: ModelSummary) {
  return { name, version, state, drivers, ...(decoupled && { decoupled }), ...(problem !== "" && { problem }) };
}

function withRoundAge({ id, model, ageMs }: InFlight) {
  return { id, model, ageMs: Math.round(ageMs) };
}

/** A default may be a large tensor. */
function withoutDefault({ name, dtype, shape }: LooseSpec) {
  return { name, dtype, shape };
}
