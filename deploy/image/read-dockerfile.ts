/** A line of a Dockerfile, with its continuations. */
export interface DockerStep {
  readonly instruction: string;
  /** Flags such as `--from=packages`, by name. */
  readonly flags: Readonly<Record<string, string>>;
  readonly text: string;
}

/** A FROM with the steps behind it. */
interface DockerStage {
  /** An image, or the name of an earlier stage; arguments are not filled in. */
  readonly from: string;
  readonly name: string;
  readonly steps: readonly DockerStep[];
}

/** A Dockerfile as a build reads it. */
export interface Dockerfile {
  /** Defaults of the arguments before the first FROM. */
  readonly args: Readonly<Record<string, string>>;
  readonly stages: readonly DockerStage[];
}

/** Reads the text of a Dockerfile; throws for a stage without a name. */
export function readDockerfile(text: string): Dockerfile {
  const args: Record<string, string> = {};
  const stages: { from: string; name: string; steps: DockerStep[] }[] = [];
  for (const step of readSteps(text)) {
    const stage = stages.at(-1);
    if (step.instruction === "FROM") stages.push({ ...readFrom(step.text), steps: [] });
    else if (stage !== undefined) stage.steps.push(step);
    else Object.assign(args, readPairs(step.text));
  }
  return { args, stages };
}

/** Reads `NAME=value NAME="some words"`. */
export function readPairs(text: string): Readonly<Record<string, string>> {
  const pairs = text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S*))/g);
  return Object.fromEntries([...pairs].map(([, name, quoted, plain]) => [name, quoted ?? plain]));
}

/** Puts values in for `${NAME}`; throws for a name without one. */
export function fillIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    if (value === undefined)
      throw new Error(`${text} names ${name}, which has no value; expected an ARG or ENV before`);
    return value;
  });
}

function readSteps(text: string): readonly DockerStep[] {
  const lines = text.replace(/^#.*\n/gm, "").replace(/\\\n\s*/g, "");
  return lines
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map(readStep);
}

function readStep(line: string): DockerStep {
  const [, instruction, flags, text] = /^(\w+)\s+((?:--[\w-]+=\S+\s+)*)(.*)$/.exec(line) ?? [];
  if (instruction === undefined || text === undefined) throw new Error(`Not a line of a Dockerfile: ${line}`);
  const pairs = [...(flags ?? "").matchAll(/--([\w-]+)=(\S+)/g)].map(([, name, value]) => [name, value]);
  return { instruction, flags: instruction === "HEALTHCHECK" ? {} : Object.fromEntries(pairs), text };
}

function readFrom(text: string): { from: string; name: string } {
  const [, from, name] = /^(\S+) AS (\S+)$/.exec(text) ?? [];
  if (from === undefined || name === undefined) throw new Error(`FROM ${text}: expected IMAGE AS NAME`);
  return { from, name };
}
