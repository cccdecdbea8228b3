import { shellWord } from "../../platform/text/terminal.ts";
import type { Candidate } from "./candidate.ts";

/** A model as the user gave it. */
export interface TunedModel {
  readonly name: string;
  readonly path: string;
  /** `-o` options that the user gave. */
  readonly options: Readonly<Record<string, string>>;
  readonly hooks?: string;
}

/** A candidate as lines of a configuration file. */
export function toConfig(model: TunedModel, { driver, instances, threads, options }: Candidate): string[] {
  const all = Object.entries({ ...model.options, ...options }).map(([key, value]) => `${plain(key)}: ${plain(value)}`);
  return [
    "models:",
    `  - name: ${plain(model.name)}`,
    `    path: ${plain(model.path)}`,
    `    driver: ${plain(driver)}`,
    ...(model.hooks === undefined ? [] : [`    hooks: ${plain(model.hooks)}`]),
    ...(instances === undefined ? [] : [`    instances: ${instances}`]),
    ...(threads === undefined ? [] : [`    threads: ${threads}`]),
    ...(all.length === 0 ? [] : [`    options: { ${all.join(", ")} }`]),
  ];
}

/** A candidate as a command line. */
export function toCommand(model: TunedModel, { driver, instances, threads, options }: Candidate): string {
  return [
    `kserving ${shellWord(model.path)} --driver ${shellWord(driver)}`,
    ...(model.hooks === undefined ? [] : [`--hooks ${shellWord(model.hooks)}`]),
    ...(instances === undefined ? [] : [`--instances ${instances}`]),
    ...(threads === undefined ? [] : [`--threads ${threads}`]),
    ...Object.entries({ ...model.options, ...options }).map(([key, value]) => `-o ${shellWord(`${key}=${value}`)}`),
  ].join(" ");
}

/** A scalar of YAML; JSON's strings are. What YAML would read as something else than this text is one too. */
function plain(text: string): string {
  const isWord = /^[A-Za-z./_][\w./-]*$/.test(text) && !/^(?:null|true|false|\.inf|\.nan|\.\d.*)$/i.test(text);
  return isWord || String(Number(text)) === text ? text : JSON.stringify(text);
}
