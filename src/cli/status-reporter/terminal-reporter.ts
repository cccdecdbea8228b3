import type { InFlight } from "../../serving/admission.ts";
import { maskSecrets } from "../../text/mask-secrets.ts";
import type { LiveLine } from "../live-line.ts";
import { toModelTable } from "./model-table.ts";
import { toStartTable } from "./start-table.ts";
import type { ReadyFacts, StatusReporter } from "./status-reporter.ts";

/** Reports to a person at a terminal. */
export function createTerminalReporter(terminal: LiveLine): StatusReporter {
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

function toReadyText({ name, grpcAddress, httpUrl, pageUrl, stages, models }: ReadyFacts, columns: number): string {
  const runtimes = [...new Set(stages.flatMap(({ runtime }) => runtime ?? []))];
  const facts = {
    Name: models === undefined ? name : undefined,
    Runtime: runtimes.join(", ") || undefined,
    HTTP: httpUrl,
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
